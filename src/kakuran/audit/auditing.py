"""Would the promise survive its strongest attacker? Play him and see."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from kakuran.answers import MOST_POINTS, log_chance_of, points_of
from kakuran.audit.anonymity import Risk, risk_of
from kakuran.audit.attacker import ENUMERABLE, Attacker, Links, exact_posteriors
from kakuran.audit.likelihoods import IMPOSSIBLE
from kakuran.audit.people import PeopleAttacker, TruePeople, taken
from kakuran.charts import risk_chart
from kakuran.counts import Tally, distinct_rows, rows_of_each
from kakuran.design import Crowd, Plan
from kakuran.errors import ReleaseError, wrong_type
from kakuran.model import operator_of
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.release import Release, read_manifest, read_release
from kakuran.schema import open_source, read_table
from kakuran.typing import Array, Codes, Indices
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ALARM = 6.0
"""Standard deviations beyond which chance is no excuse: about one false alarm in 10⁹ audits of large tables."""
FALSE_ALARM = 1e-9
MOST_PAIRS = 3e9
"""Steps to compare records with people in: one a pair at most, and far fewer where columns have few values."""
_RANDOM_ORDERS = 64
_FEWEST_TO_COMPARE = 30
_CROWD_CAP = 10
_LAST_DIGITS = 1e-6


@dataclass(frozen=True, eq=False)
class Audit:
    """The outcome of an audit; `kakuran.audit` makes one.

    Attributes
    ----------
    bound : float
        What was promised, 1/k.
    certified : float
        What is proved for this very table and these parameters (at most this): by the swap bound in every draw, or
        with the certainty that the plan has.
    worst_posterior : float
        How sure the attacker is of his surest link.
    expected_matches : float
        Share of links the attacker himself expects to be right.
    linked : float
        Share of links that were right, record by record; counted on the release itself where its order is known, else
        on a rehearsal: a second draw that nobody else sees.
    linked_one_to_one : float | None
        The same, all matched at once.
    weakness : float | None
        How much likelier the released records are than an honest draw, in standard deviations; None for tables too
        small to tell.
    closeness : float
        How many more of them coincide with originals than of an honest draw, above 1 by chance once in 10⁹.
    misfit : float
        How far what the records tell, tell by tell and column by column, lies from what is to be expected of the
        originals, above 1 by chance once in 10⁹.
    alignment : float
        How well records fit the person in the same row, in standard deviations of a random order.
    before : Risk
        The risk of the originals as they are.
    links : Links | None
        Of every person, Pr[the likeliest record is the person's | the release, the whole true table], over all ways to
        match people and records; None where that is not cheap to find: whole records of several columns, PRAM, noise,
        several rows per person, very wide windows.
    problems : tuple[str, ...]
        Why the release fails, in words; empty if it passes.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import census, census_schema
    >>> people = census(200)
    >>> audit = kk.audit(people, kk.perturb(people, kk.calibrate(census_schema(), n=200, k=5)))
    >>> audit.bound, audit.problems, audit.worst_posterior <= audit.bound
    (0.2, (), True)

    Pairs of columns have windows, so that k is measured in the draw itself:

    >>> plan = kk.calibrate(census_schema(), n=200, k=5, tell=2)
    >>> audit = kk.audit(people, kk.perturb(people, plan))
    >>> audit.k_in_draw >= 5, audit.share_above
    (True, 0.0)
    """

    n: int
    k: float
    attacked: int
    certified: float
    worst_posterior: float
    is_exact: bool
    expected_matches: float
    linked: float
    linked_one_to_one: float | None
    weakness: float | None
    closeness: float
    misfit: float
    alignment: float
    impossible: int
    before: Risk
    problems: tuple[str, ...]
    posteriors: Array = field(repr=False)
    links: Links | None = field(repr=False)

    @property
    def k_in_draw(self) -> float | None:
        """The smallest k that anybody has in this draw: an attacker who names a record for a person is right at most
        once in so many times, given the release and the whole true table."""
        return None if self.links is None else 1 / float(self.links.best.max())

    @property
    def share_above(self) -> float | None:
        """The share of people whose best link in this draw exceeds 1/k."""
        return None if self.links is None else float((self.links.best > self.bound * (1 + _LAST_DIGITS)).mean())

    @property
    def bound(self) -> float:
        """1/k."""
        return 1 / self.k

    @property
    def passed(self) -> bool:
        """Whether the release keeps its promise."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain values."""
        fields = asdict(self) | {"bound": self.bound, "passed": self.passed, "problems": list(self.problems)}
        del fields["posteriors"], fields["links"]
        is_exact = None if self.links is None else self.links.is_exact
        in_draw = {"k_in_draw": self.k_in_draw, "share_above": self.share_above, "k_in_draw_is_exact": is_exact}
        return fields | in_draw

    def plot(self, translate: Translate = str, *, narrow: bool = False) -> Figure:
        """How sure the attacker is of each link, against the promise and the risk before.

        Parameters
        ----------
        translate : callable, optional
            Says the picture's words in another language.
        narrow : bool, optional
            Whether it is for a narrow screen.
        """
        average, worst = self.before.prosecutor, self.before.worst
        after = {
            Phrase("promised: 1/k = {risk:.3g}", risk=self.bound): self.bound,
            Phrase("proved for this table: {risk:.3g}", risk=self.certified): self.certified,
        }
        before = {
            Phrase("before, on average: {risk:.3g}", risk=average): average,
            Phrase("before, at worst: {risk:.3g}", risk=worst): worst,
        }
        verdict = Phrase("passed") if self.passed else Phrase("FAILED")
        title = Phrase("Linkage audit {verdict}: n = {n:,}, k = {k:g}", verdict=verdict, n=self.n, k=self.k)
        return risk_chart(self.posteriors, 1 / self.n, after, before, title, translate, narrow=narrow)


MOST_RECORDS = 1_000_000
"""Records up to which a quick audit plays the attacker, who needs the whole table in memory."""
FEW_PAIRS = 1e8
"""What he may compare in it."""


def quick_audit(original: Any, release: str | Path, progress: Callable[[int], object] = int) -> Audit | None:
    """The audit of random records, as a report shows it; None where the table is too large for one.

    Parameters
    ----------
    original : frame, path or source
        The true table.
    release : str or Path
        The release that was made from it.
    progress : callable
        Told how many records were attacked.
    """
    if read_manifest(Path(release)).records > MOST_RECORDS:
        return None
    released = read_release(release)
    truth = read_table(open_source(original), released.plan.schema)
    return audit(truth, released, most_pairs=FEW_PAIRS, progress=progress)


def audit(
    original: Any, release: Release, *, most_pairs: float = MOST_PAIRS, progress: Callable[[int], object] = int
) -> Audit:
    """Attack a release with everything: the whole true table and all its parameters.

    Parameters
    ----------
    original : Any
        The true table, as any frame.
    release : Release
        What was or will be published.
    most_pairs : float
        Of a record and a person to compare, or steps if fewer do; where more are needed, random records are attacked,
        as many as make so many pairs.
    progress : Callable[[int], object]
        Called with the number of records attacked; twice as many in all as the release holds.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"job": ["clerk", "nurse", "smith", "clerk"] * 50})
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse", "smith"])])
    >>> release = kk.perturb(table, kk.calibrate(schema, n=200, k=10))
    >>> kk.audit(table, release).passed
    True
    """
    if not isinstance(release, Release):
        raise wrong_type(release, Release, "kakuran.perturb makes one, kakuran.read_release opens one")
    plan = release.plan
    people = TruePeople.of(plan.schema, original)
    n = people.records
    release.manifest.check_original(n)
    if not n:
        raise ReleaseError(Phrase("an empty release has nobody to link"))
    dice = Randomness.secure()
    attacker = _attacker(plan, people)
    released = release.codes()
    count = n if attacker.steps(released) <= most_pairs else min(n, max(1, int(most_pairs / n)))
    is_aligned = release.manifest.order == "kept"
    chosen = np.arange(n) if count == n else dice.permutation(n)[:count]
    attack = attacker.attack(taken(released, chosen), chosen if is_aligned else None, dice.generator(), progress)
    used = people.draw(dice)
    rows = used[dice.permutation(n)[:count]]
    rehearsed = Kernel(plan).sample(taken(people.codes, rows), dice)
    rehearsal = attacker.attack(rehearsed, people.person[rows], dice.generator(), progress)
    played = attack if is_aligned else rehearsal
    assert played.linked is not None  # noqa: S101

    is_exact = n <= ENUMERABLE and n == attacker.people
    posteriors = _exact(attacker, released) if is_exact else attack.posteriors
    in_every_draw = 1 / _smallest_crowd(plan, people)
    outcome = Audit(
        n=n,
        k=plan.k,
        attacked=count,
        certified=_proved(plan, people, in_every_draw),
        worst_posterior=float(posteriors.max()),
        is_exact=is_exact,
        expected_matches=float(posteriors.mean()),
        linked=played.linked,
        linked_one_to_one=played.linked_one_to_one,
        weakness=_weakness(attack.densities, rehearsal.densities),
        closeness=_closeness(plan, people, released, Kernel(plan).sample(taken(people.codes, used), dice)),
        misfit=_misfit(plan, people, released),
        alignment=_alignment(attacker, released, dice),
        impossible=int((attack.densities < IMPOSSIBLE / 10).sum()),
        before=risk_of(taken(people.codes, used)),
        problems=(),
        posteriors=posteriors,
        links=_links(attacker, released, in_every_draw, most_pairs),
    )
    return _judged(outcome, release)


def _attacker(plan: Plan, people: TruePeople) -> Attacker:
    tellings = [tell.telling for tell in plan.tells]
    if plan.schema.person is None:
        return Attacker(people.codes, tellings, *plan.layout.telling)
    return PeopleAttacker(people, tellings, *plan.layout.telling)


def _exact(attacker: Attacker, released: dict[str, Codes]) -> Array:
    return exact_posteriors(attacker.log_likelihoods(released)).max(axis=1)


def _proved(plan: Plan, people: TruePeople, in_every_draw: float) -> float:
    """What links are at most, in every draw or, where that is less, with the plan's certainty."""
    if plan.certainty is None:
        return in_every_draw
    first = np.unique(people.person, return_index=True)[1]
    kept = [people.codes[attribute.name][first] for attribute in plan.schema.kept]
    groups = distinct_rows(kept).counts if kept else [len(first)]
    return min(in_every_draw, 1 / plan.k) if plan.excess_risk(groups) <= 0 else in_every_draw


def _links(attacker: Attacker, released: dict[str, Codes], certified: float, most_pairs: float) -> Links | None:
    """The best link of everybody in this draw; what is proved for every draw bounds it."""
    links = attacker.links(released, most_pairs)
    return None if links is None else replace(links, best=np.minimum(links.best, certified))


def _smallest_crowd(plan: Plan, people: TruePeople) -> float:
    """Of those whose rows are drawn, whatever is drawn: of all who share what is kept."""
    if plan.schema.person is not None:
        kept = Tally.of_columns(plan.schema.kept)
        first = np.unique(people.person, return_index=True)[1]
        kept.update(taken(people.codes, first), len(first))
        return plan.k_for(kept.fewest)
    tally = Tally.of_columns(plan.schema.released)
    tally.update(people.codes)
    return Crowd(tally).smallest([tell.telling for tell in plan.tells], cap=min(_CROWD_CAP * plan.k, people.records))


def _weakness(released: Array, rehearsed: Array) -> float | None:
    """How far the records of the release lie nearer to the originals than those of an honest draw.

    Records are drawn independently, so the mean density has at most the pooled variance over their number; where
    the promise is kept the difference is a standard normal, or narrower.
    """
    released = released[released > IMPOSSIBLE / 10]
    if min(len(released), len(rehearsed)) < _FEWEST_TO_COMPARE:
        return None
    spread = math.sqrt(released.var() / len(released) + rehearsed.var() / len(rehearsed))
    difference = float(released.mean() - rehearsed.mean())
    return difference / spread if spread > 1e-12 else 0.0


def _closeness(plan: Plan, people: TruePeople, released: dict[str, Codes], rehearsed: dict[str, Codes]) -> float:
    """Coincidences beyond an honest draw's, as a multiple of what chance exceeds once in 10⁹.

    Changing one record moves an overlap by at most one, so the difference of two is bounded by McDiarmid's inequality
    whatever the distribution. It sees copies of originals where likelihoods cannot, as when all records are alike.
    """
    excess = _overlap(plan, people, released) - _overlap(plan, people, rehearsed)
    return excess / math.sqrt(people.records * math.log(1 / FALSE_ALARM))


def _overlap(plan: Plan, people: TruePeople, released: dict[str, Codes]) -> float:
    """How many released records can be paired with an equal original, if all originals tell what they do on average."""
    truth, n, overlap = people.codes, len(people.person), 0.0
    for tell, rows in zip(plan.tells, _rows_by_tell(plan, released), strict=True):
        names = [name for name in truth if name in tell.columns or plan.schema[name].role == "keep"]
        found = distinct_rows([np.concatenate([truth[name], released[name][rows]]) for name in names])
        originals, records = np.split(found.place, [n])
        expected = tell.share * np.bincount(originals, people.weights, len(found))
        overlap += float(np.minimum(expected, np.bincount(records, minlength=len(found))).sum())
    return overlap


def _rows_by_tell(plan: Plan, released: dict[str, Codes]) -> list[Indices]:
    count = len(next(iter(released.values())))
    told = released[plan.layout.telling[0]] if plan.layout.told else np.zeros(count, np.int32)
    return rows_of_each(told, len(plan.tells))


def _misfit(plan: Plan, people: TruePeople, released: dict[str, Codes]) -> float:
    """The largest divergence of what was told from what was to be expected, over all that chance would excuse.

    Values of a column are compared tell by tell and over all tells of it. So a tell that was not drawn at random, but
    by looking at a value, shows: people with that value are too many among those who tell it, or too few.
    """
    n, rows = people.records, _rows_by_tell(plan, released)
    tells = np.array([tell.share for tell in plan.tells])
    logs = [log_chance_of(np.array(list(map(len, rows)), float), n * tells)]
    for attribute in plan.schema.perturbed:
        axis = points_of(plan.schema, attribute.name)
        if axis.size <= MOST_POINTS:
            true = people.counts([axis])
            holding = plan.holding([attribute.name])
            counts, expected = np.zeros((2, len(holding) + 1, axis.size + 1))
            for place, tell in enumerate(holding):
                drawn = plan.layout.settled(attribute.name, released[attribute.name][rows[tell]])
                counts[place, :-1] = np.bincount(axis.place(drawn), minlength=axis.size)
                expected[place, :-1] = plan.tells[tell].share * operator_of(plan, [axis], {}, [tell]).forward(true)
            for table in (counts, expected):
                table[-1] = table.sum(axis=0)
                table[:, -1] = np.maximum(n - table.sum(axis=1), 0)
            logs += map(log_chance_of, counts, expected)
    return max(0.0, -(min(logs) + math.log(len(logs))) / -math.log(FALSE_ALARM))


def _alignment(attacker: Attacker, released: dict[str, Codes], dice: Randomness) -> float:
    """How much better each record fits the person in its own row than in a random order."""
    n = attacker.people
    if len(next(iter(released.values()))) != n:
        return 0.0  # who has several records has no place of their own

    def fit(owners: NDArray[np.intp]) -> float:
        return float(attacker.log_likelihoods_of(released, owners).sum())

    others = [fit(dice.permutation(n)) for _ in range(_RANDOM_ORDERS)]
    spread = float(np.std(others))
    return (fit(np.arange(n)) - float(np.mean(others))) / spread if spread > 1e-9 * n else 0.0


def _most_by_luck(tries: int, chance: float) -> int:
    """How many hits are no false alarm; `scipy.stats.binom.isf` would take longer to load than many an audit takes."""
    return bisect_left(range(tries), True, key=lambda hits: bool(bdtrc(hits, tries, chance) <= FALSE_ALARM))


def _judged(outcome: Audit, release: Release) -> Audit:
    bound, order = outcome.bound, release.manifest.order
    chance = _most_by_luck(outcome.attacked, bound) / outcome.attacked
    certified, worst, weakness = outcome.certified, outcome.worst_posterior, outcome.weakness or 0.0
    ways = ((Phrase("one by one"), outcome.linked), (Phrase("one to one"), outcome.linked_one_to_one or 0.0))
    checks = [
        (
            certified > bound * (1 + _LAST_DIGITS),
            Phrase(
                "its parameters are too weak: they prove only {proved:.3g} for this table, not {bound:.3g}",
                proved=certified,
                bound=bound,
            ),
        ),
        (
            worst > bound * (1 + _LAST_DIGITS),
            Phrase("a record can be linked with probability {risk:.3g}, above {bound:.3g}", risk=worst, bound=bound),
        ),
        (
            (outcome.share_above or 0.0) > 0,
            Phrase(
                "in this draw the best links of {share:.2%} of the people exceed {bound:.3g}: somebody has k = {k:.3g}",
                share=outcome.share_above or 0.0,
                bound=bound,
                k=outcome.k_in_draw or 1.0,
            ),
        ),
        (
            outcome.impossible > 0,
            Phrase("{count:,} of its records cannot come from this original", count=outcome.impossible),
        ),
        (outcome.closeness > 1, Phrase("more of its records equal an original than its parameters allow")),
        (outcome.misfit > 1, Phrase("what its records tell is not what its parameters make of the originals")),
        (
            outcome.alignment > ALARM and order == "shuffled",
            Phrase("its records are in their original order although it says shuffled"),
        ),
        (
            weakness > ALARM,
            Phrase(
                "its records lie closer to the originals than its parameters say ({by:.1f} standard deviations)",
                by=weakness,
            ),
        ),
        *(
            (
                share > chance,
                Phrase(
                    "linking {how} was right for {share:.3g} of the records, above {bound:.3g}",
                    how=how,
                    share=share,
                    bound=bound,
                ),
            )
            for how, share in ways
        ),
        (
            order == "kept",
            Phrase("its records are in their original order: whoever knows that order can link them all"),
        ),
        (release.manifest.seeded, Phrase("it was drawn from a known seed: whoever knows the seed can undo it")),
    ]
    return replace(outcome, problems=tuple(problem for is_broken, problem in checks if is_broken))
