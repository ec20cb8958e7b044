"""The account of a ledger: what releases of the same people have spent, what is left, and which one is refused.

Two questions are answered of all releases that count.

- *What k is left, and how surely?* Releases that are shuffled apart leave each its own, so the smallest is left. Where
  records of several can be joined, swap costs add up: k = 1 + (n − 1) e^(−ΣB). An order that is kept and known leaves
  nobody hidden. Probabilities that a draw fails its k add up.
- *What ε is spent, at the δ that was promised?* Central promises compose (`composition`), however releases are
  compared. Joined ones, planned before the first, are one release of longer records, whose ε₀ add up. Where the order
  is kept nobody hides anybody, and ε is ε₀.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from kakuran.design.central import DELTA, check_delta
from kakuran.design.composition import Accounting, CentralPart, composed_epsilon, summed_losses, without_domains
from kakuran.design.plan import LAST_DIGITS, Plan, check_certainty
from kakuran.errors import CalibrationError, is_real
from kakuran.mechanism import k_for
from kakuran.words import Phrase

_STEPS = 16
_ADDED_UP = 1e-9
"""What rounding may add to probabilities that were written as 1 − δ."""

EntryState: TypeAlias = Literal["begun", "made", "withdrawn"]
"""``"begun"``: not known to be finished. It counts, as does one that was made."""


@dataclass(frozen=True)
class Spending:
    """What a release promises the people in it, and so spends.

    Attributes
    ----------
    release : str
        What it is called.
    kind : str
        How it was made.
    n : int
        Among how many people everybody in it is hidden.
    k : float
        Nobody can be linked to a record of it above 1/k.
    local : float
        ε₀ of a record; infinite where no such promise is made.
    levels : float | None
        How many times as many outputs there are as near a value, where likelihoods have two levels only.
    swap_cost : float
        Of the two most different people; infinite where k does not compose.
    failure : float
        The probability that the draw does not keep k; 0 where every draw does.
    shuffled : bool
        Whether the order of the records says nothing.
    joined : bool
        Whether a record of it can be joined with that of the same person in other releases that can be joined.
    kept : tuple[str, ...]
        Columns that it shows as they are.
    source : str
        What a release grows from, such as a survey; of one source only the smallest step counts.
    repeats : str
        What releases have in common that may show the same draws again.
    delta : float
        δ of what is (ε₀, δ)-private by itself, as domains that were found privately are.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.design import Spending
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=1000, k=10)
    >>> spending = Spending.of(plan, "jobs.parquet")
    >>> spending.n, spending.k, round(spending.local, 3)
    (1000, 10.0, 2.355)
    """

    release: str
    kind: str
    n: int
    k: float
    local: float = math.inf
    levels: float | None = None
    swap_cost: float = math.inf
    failure: float = 0.0
    shuffled: bool = True
    joined: bool = False
    kept: tuple[str, ...] = ()
    source: str = ""
    repeats: str = ""
    delta: float = 0.0

    @classmethod
    def of_domains(cls, schema: str, epsilon: float, delta: float) -> Spending:
        """What domains spend that are found privately: ε and δ; no record is released to which anybody is linked.

        Examples
        --------
        >>> from kakuran.design import Spending
        >>> Spending.of_domains("people.toml", 0.1, 1e-7).k
        inf
        """
        return cls(schema, "domains", 1, math.inf, epsilon, delta=delta)

    @classmethod
    def of(cls, plan: Plan, release: str, kind: str = "perturbed", **facts: Any) -> Spending:
        """What a release by a plan spends; where it is not central, it promises k and nothing else."""
        return cls(
            release,
            kind,
            plan.n,
            plan.k,
            plan.epsilon if plan.is_central else math.inf,
            plan.part().levels if plan.is_central else None,
            plan.largest_swap_cost if plan.is_central else math.inf,
            0.0 if plan.certainty is None else 1 - plan.certainty,
            kept=tuple(attribute.name for attribute in plan.schema.kept),
            **facts,
        )

    @property
    def promises_epsilon(self) -> bool:
        """Whether it is differentially private at all."""
        return math.isfinite(self.local)

    @property
    def alone(self) -> CentralPart:
        """What it spends in the central sense, if it is not joined with others."""
        return CentralPart(self.n if self.shuffled else 1, self.local, self.levels, self.delta)

    def with_local(self, local: float) -> Spending:
        """The same with more noise or less, by whatever design: of two levels, those of two values hide least."""
        levels = None if self.levels is None else 2.0
        k = k_for(self.n, 2 * local)
        return replace(self, local=local, levels=levels, swap_cost=2 * local, failure=0.0, k=k)


@dataclass(frozen=True)
class LedgerEntry:
    """A release in a ledger.

    Attributes
    ----------
    number : int
        Its place, from 1.
    at : str
        When it was entered by the clock of the machine, which may be wrong.
    state : EntryState
        What is known of it.
    spending : Spending
        What it spends.
    """

    number: int
    at: str
    state: EntryState
    spending: Spending

    @property
    def counts(self) -> bool:
        """Whether it has to be reckoned with."""
        return self.state != "withdrawn"

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain values."""
        spent = asdict(self.spending)
        plain = {name: str(one) if isinstance(one, float) and math.isinf(one) else one for name, one in spent.items()}
        return {"number": self.number, "at": self.at, "state": self.state} | plain | {"kept": list(self.spending.kept)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> LedgerEntry:
        """The inverse of `to_dict`."""
        told = {"failure": 0.0, "delta": 0.0} | {
            one.name: given[one.name] for one in fields(Spending) if one.name in given
        }
        numbers = {name: float(told[name]) for name in ("k", "local", "swap_cost", "failure", "delta")}
        spending = Spending(**told | numbers | {"kept": tuple(given["kept"])})
        if given["state"] not in get_args(EntryState) or type(spending.n) is not int or spending.n < 1:
            raise ValueError("an entry is not one")
        is_probable = all(0 <= chance < 1 for chance in (spending.failure, spending.delta))
        if not spending.k >= 1 or not min(spending.local, spending.swap_cost) >= 0 or not is_probable:
            raise ValueError("an entry spends less than nothing")
        return cls(given["number"], given["at"], given["state"], spending)


@dataclass(frozen=True)
class Account:
    """What a ledger says: what was promised, what was spent, and what is left.

    Attributes
    ----------
    people : str
        Who they are.
    promised_k : float | None
        Over all releases, nobody is linked above 1/k; if that was promised.
    promised_epsilon : float | None
        All releases together are (ε, δ)-differentially private; if that was promised.
    delta : float
        δ.
    entries : tuple[LedgerEntry, ...]
        All releases, in the order in which they were entered.
    certainty : float | None
        The probability over all draws with which k is promised; None for every draw.

    Examples
    --------
    >>> from kakuran.design import Account
    >>> account = Account("survey 2026", promised_k=10, promised_epsilon=1.0)
    >>> account.k, account.epsilon
    (inf, 0.0)
    """

    people: str
    promised_k: float | None = None
    promised_epsilon: float | None = None
    delta: float = DELTA
    entries: tuple[LedgerEntry, ...] = field(default=())
    certainty: float | None = None

    def __post_init__(self) -> None:
        if self.certainty is not None:
            check_certainty(self.certainty)
            if self.promised_k is None:
                raise CalibrationError(Phrase("certainty says how surely k holds: give k, too"))
        if self.promised_k is None and self.promised_epsilon is None:
            raise CalibrationError(Phrase("a ledger keeps a promise: give k, epsilon, or both"))
        if self.promised_k is not None and not (is_real(self.promised_k) and 1 < self.promised_k < math.inf):
            raise CalibrationError(Phrase("k must be above 1 (k=1 promises nothing), got {k!r}", k=self.promised_k))
        if self.promised_epsilon is not None and not (
            is_real(self.promised_epsilon) and 0 < self.promised_epsilon < math.inf
        ):
            raise CalibrationError(Phrase("epsilon must lie above 0, got {epsilon!r}", epsilon=self.promised_epsilon))
        check_delta(self.delta)

    @cached_property
    def spent(self) -> list[Spending]:
        """What counts: of a source that grows its smallest step, once."""
        return _by_source([entry.spending for entry in self.entries if entry.counts])

    @property
    def k(self) -> float:
        """Over all releases, nobody is linked to a record above 1/k; infinite while there are none."""
        return _k_left(self.spent)

    @property
    def failure(self) -> float:
        """The probability, at most, that the draw of some release does not keep its k."""
        return _failure(self.spent)

    @property
    def epsilon(self) -> float:
        """All releases together are (ε, δ)-differentially private."""
        return self._composed[0]

    @property
    def accounting(self) -> Accounting:
        """Which way of composing says so."""
        return self._composed[1]

    @cached_property
    def _composed(self) -> tuple[float, Accounting]:
        return composed_epsilon(_parts(self.spent), self.delta)

    @property
    def local(self) -> float:
        """ε against somebody who knows which records are whose: it just adds up."""
        return sum(spending.local for spending in self.spent)

    @cached_property
    def running(self) -> list[float]:
        """ε of all releases up to each entry."""
        return [self._up_to(number) for number in range(1, len(self.entries) + 1)]

    def _up_to(self, number: int) -> float:
        spent = [entry.spending for entry in self.entries[:number] if entry.counts]
        domains, parts, left = without_domains(_parts(_by_source(spent)), self.delta)
        if not parts or math.isinf(domains):
            return domains
        of_releases = parts[0].epsilon(left) if len(parts) == 1 else summed_losses(tuple(parts)).epsilon(left)
        return domains + of_releases

    def with_entry(self, spending: Spending) -> Account:
        """The account with one more release, not finished yet; refused if that would break the promise."""
        self._check_joined(spending)
        self._check_repeats(spending)
        if (refusal := self._refusal(spending)) is not None:
            raise CalibrationError(refusal)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(self, entries=(*self.entries, LedgerEntry(len(self.entries) + 1, now, "begun", spending)))

    def with_state(self, number: int, state: EntryState) -> Account:
        """The account with something else known of an entry."""
        entries = list(self.entries)
        entries[number - 1] = replace(entries[number - 1], state=state)
        return replace(self, entries=tuple(entries))

    def _check_joined(self, spending: Spending) -> None:
        for other in self.spent if spending.joined else ():
            if other.joined and (other.n, other.kept) != (spending.n, spending.kept):
                raise CalibrationError(
                    Phrase(
                        "{release} would be joined with {other}, which has another number of people to hide "
                        "among ({before:,}, now {now:,}) or keeps other columns: among how many those are "
                        "hidden who are in both cannot be known. Join releases of the same people with the "
                        "same kept columns, or release this one shuffled and not joined",
                        release=spending.release,
                        other=other.release,
                        before=other.n,
                        now=spending.n,
                    )
                )

    def _check_repeats(self, spending: Spending) -> None:
        for other in self.spent if spending.repeats else ():
            if other.repeats == spending.repeats and other.source != spending.source:
                raise CalibrationError(
                    Phrase(
                        "{release} repeats draws of {other} ({repeats}) wherever somebody answered the same, "
                        "so that whoever did not stands out: of both together nothing can be promised. Publish "
                        "one of them",
                        release=spending.release,
                        other=other.release,
                        repeats=spending.repeats,
                    )
                )

    def _refusal(self, spending: Spending) -> str | None:
        after = _by_source([*self.spent, spending])
        if self.promised_k is not None and _k_left(after) < self.promised_k * (1 - LAST_DIGITS):
            return self._too_little_k(spending, _k_left(after), self.promised_k)
        if self.promised_k is not None and _failure(after) > self._allowed_failure * (1 + _ADDED_UP):
            return self._too_unsure(spending, _failure(after))
        if self.promised_epsilon is None:
            return None
        if not spending.promises_epsilon:
            return Phrase(
                "{release} promises k and no ε, and ε = {promised:g} over all releases was promised to {people}: "
                "perturb with worst-case parameters, or keep a ledger of k alone",
                release=spending.release,
                promised=self.promised_epsilon,
                people=self.people,
            )
        if (found := composed_epsilon(_parts(after), self.delta)[0]) > self.promised_epsilon:
            return self._too_much_epsilon(spending, found, self.promised_epsilon)
        return None

    def _too_little_k(self, spending: Spending, left: float, promised: float) -> str:
        said = Phrase(
            "with {release} k = {left:.4g} would be left over all releases, and {promised:g} was promised to {people}",
            release=spending.release,
            left=left,
            promised=promised,
            people=self.people,
        )
        if not spending.shuffled and not spending.joined:
            return Phrase(
                "{said}: records keep their order, by which whoever knows it can link every one. Shuffle them; or, if "
                "the order is a secret that was drawn at random, enter the release as joined",
                said=said,
            )
        if not spending.joined or not math.isfinite(spending.swap_cost):
            return Phrase(
                "{said}: release with k = {promised:g} or more, shuffled and not joined", said=said, promised=promised
            )
        enough = 1 + (promised - 1) * math.exp(sum(one.swap_cost for one in self.spent if one.joined))
        return Phrase(
            "{said}, as its records can be joined with earlier ones: take k = {enough} or more, or release it shuffled "
            "and not joined",
            said=said,
            enough=_up(enough, spending.n),
        )

    @property
    def _allowed_failure(self) -> float:
        return 0.0 if self.certainty is None else 1 - self.certainty

    def _too_unsure(self, spending: Spending, found: float) -> str:
        if self.certainty is None:
            return Phrase(
                "{release} keeps its k with a certainty and not in every draw, and k in every draw was promised to "
                "{people}: leave out certainty, or keep a ledger that was made with one",
                release=spending.release,
                people=self.people,
            )
        said = Phrase(
            "with {release} the draws of all releases would fail k with probability {found:.3g}, and at most "
            "{allowed:.3g} was promised to {people}",
            release=spending.release,
            found=found,
            allowed=self._allowed_failure,
            people=self.people,
        )
        enough = 1 - (self._allowed_failure - self.failure)
        if enough > 1 - _ADDED_UP:
            return Phrase("{said}: leave out certainty", said=said)
        return Phrase("{said}: release with certainty {enough:.10g} or more", said=said, enough=enough)

    def _too_much_epsilon(self, spending: Spending, found: float, promised: float) -> str:
        releases = len(self.spent)
        said = Phrase(
            "with {release} ε = {found:.3g} would be spent at δ = {delta:g}, and {promised:g} was promised to {people};"
            " {spent:.3g} is spent by {releases}",
            release=spending.release,
            found=found,
            delta=self.delta,
            promised=promised,
            people=self.people,
            spent=self.epsilon,
            releases=Phrase("1 release") if releases == 1 else Phrase("{count:,} releases", count=releases),
        )
        if spending.delta:
            return Phrase("{said}. Take a smaller epsilon, or declare domains from public knowledge", said=said)
        if (fits := self._weakest_that_fits(spending)) is None:
            return Phrase("{said}. Nothing more can be released of them: hand out an earlier release again", said=said)
        return Phrase(
            "{said}. A release of {n:,} of them fits with k = {enough} (ε = {local:.3g} a record)",
            said=said,
            n=fits.n,
            enough=_up(fits.k, fits.n),
            local=fits.local,
        )

    def _weakest_that_fits(self, spending: Spending) -> Spending | None:
        """The least noise with which the same release would still be kept within ε; None where none is enough."""
        low, high, found = 0.0, spending.local, None
        for _ in range(_STEPS):
            tried = spending.with_local((low + high) / 2)
            if tried.k > spending.n * (1 - LAST_DIGITS):
                break
            after = _by_source([*self.spent, tried])
            if composed_epsilon(_parts(after), self.delta)[0] <= (self.promised_epsilon or math.inf):
                low, found = tried.local, tried
            else:
                high = tried.local
        return found

    def to_dict(self) -> dict[str, Any]:
        """The account as plain values."""
        return {
            "people": self.people,
            "k": self.promised_k,
            "epsilon": self.promised_epsilon,
            "delta": self.delta,
            "certainty": self.certainty,
            "releases": [entry.to_dict() for entry in self.entries],
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Account:
        """The inverse of `to_dict`."""
        entries = tuple(LedgerEntry.from_dict(entry) for entry in given["releases"])
        if [entry.number for entry in entries] != list(range(1, len(entries) + 1)):
            raise ValueError("an entry is missing")
        return cls(given["people"], given["k"], given["epsilon"], given["delta"], entries, given.get("certainty"))


def _by_source(spent: Sequence[Spending]) -> list[Spending]:
    """Each release once; of a source that grows, the step that hides people worst."""
    found: dict[Any, Spending] = {}
    for place, one in enumerate(spent):
        key = one.source or place
        before = found.get(key, one)
        worst: dict[str, Any] = {
            name: worse(getattr(before, name), getattr(one, name))
            for worse, names in (
                (min, ("n", "k", "shuffled")),
                (max, ("local", "swap_cost", "failure", "delta", "joined")),
            )
            for name in names
        }
        found[key] = replace(one, levels=one.levels if one.levels == before.levels else None, **worst)
    return list(found.values())


def _k_left(spent: Sequence[Spending]) -> float:
    joined = [one for one in spent if one.joined]
    each = [one.k if one.shuffled or one.joined else 1.0 for one in spent]
    together = [k_for(min(one.n for one in joined), sum(one.swap_cost for one in joined))] if len(joined) > 1 else []
    return min([*each, *together], default=math.inf)


def _failure(spent: Sequence[Spending]) -> float:
    return math.fsum(one.failure for one in spent)


def _parts(spent: Sequence[Spending]) -> list[CentralPart]:
    """What is composed: releases shuffled apart each by itself, joined ones as one of longer records."""
    joined = [one for one in spent if one.joined]
    apart = [one.alone for one in spent if not one.joined]
    if not joined:
        return apart
    n = min(one.n for one in joined) if all(one.shuffled for one in joined) else 1
    return [*apart, CentralPart(n, sum(one.local for one in joined))]


def _up(k: float, n: int) -> str:
    """A k of n people, rounded up to three digits, so that it is enough as it is shown."""
    unit = 10.0 ** (math.floor(math.log10(k)) - 2)
    return f"{min(math.ceil(k / unit) * unit, n):.10g}"
