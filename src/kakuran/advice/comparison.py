"""Which method for which table, and why: all are tried at the k that is wanted, the best also at others beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.advice.helping import WORTH_DOING, bands_first, bands_for, in_bands, noise_on_tables, what_would_help
from kakuran.advice.methods import (
    FLAT_GUESS,
    PK_ANONYMITY,
    Errors,
    Outlook,
    Trial,
    designs_to_try,
    factorised,
    microaggregated,
    perturbed,
    perturbed_for_the_data,
)
from kakuran.audit import TruePeople, taken
from kakuran.charts import BLUE, ESTIMATE, INK, Curve, error_chart
from kakuran.counts import Cells, Tally, cells_of
from kakuran.design import CENTRAL_CEILING, CERTAINTY, Purpose, TellChoice, calibrate, group_sizes
from kakuran.errors import CalibrationError, DataError, SchemaError
from kakuran.model import one_thread
from kakuran.randomness import Randomness
from kakuran.schema import (
    Categorical,
    Schema,
    Source,
    columns_of,
    numbers_of,
    open_source,
    read_all,
    read_table,
)
from kakuran.typing import Codes
from kakuran.wide import binary_matrix
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = {
    "perturb": (ESTIMATE, "-o"),
    "perturb-data-dependent": ("#8c3a1f", "--s"),
    "microaggregate": (INK, "-^"),
    "factorise": (BLUE, "-D"),
}
_OTHERS = ("#9a958a", "X"), ("#8a6d00", "P"), ("#5f7a3a", "v"), ("#7a4f8a", "d"), ("#2f7f86", "h")
"""For designs that are tried at one k only."""
_USELESS = 0.8
_TABLES = {1: Phrase("one-way tables"), 2: Phrase("two-way tables"), 3: Phrase("three-way tables")}


def reasons(
    trial: Trial,
    outlooks: Sequence[Outlook],
    usual: Outlook,
    perturbation: Outlook,
    guess: float,
    bands: Iterable[Phrase],
    beside: Iterable[Phrase],
    helpful: Iterable[Phrase],
) -> Iterator[Phrase]:
    """What can be told, what to do, what it costs and promises, what would help or do instead, what else to know."""
    yield from _verdict(trial, perturbation)
    yield from bands
    yield from beside
    best = perturbation if outlooks[0].promise == PK_ANONYMITY else outlooks[0]
    yield _use(best, trial.ways)
    yield _promised(best)
    if best is not perturbation:
        yield Phrase(
            "Where the values themselves must be hidden, and not only whose they are, use {method}, with {command}: "
            "{share:.1%} are in the wrong cell of {tables} ({note}).",
            **_said_of(perturbation, trial.ways),
        )
    yield from _unlike(usual, perturbation, trial.ways)
    if perturbation.method == "perturb-data-dependent":
        yield Phrase(
            "The parameters of data-dependent noise are computed from the data and published, so they tell a little "
            "about them; the worst case does not."
        )
    yield from helpful
    yield from noise_on_tables(trial, perturbation)
    if best.errors is not None and best.errors.of(trial.ways) > _USELESS * guess:
        yield Phrase(
            "Beware: guessing without any release would put {guess:.1%} in the wrong cell. At this k the release "
            "tells next to nothing; lower k, or release fewer columns.",
            guess=guess,
        )
    for outlook in outlooks:
        if outlook.errors is None and (trial.is_wide or outlook.method != "factorise"):
            yield Phrase("With {method}, the error is not known ({note}).", method=outlook.name, note=outlook.note)
    yield (
        Phrase(
            "No data were looked at: these are the errors of typical tables, and where columns hardly go together, "
            "margins alone are better than they say."
        )
        if trial.is_assumed
        else Phrase(
            "These errors were found on the data, once, while calibrate expects its own from n, k and the schema "
            "alone: keep this advice inside."
        )
    )


def _use(best: Outlook, ways: int) -> Phrase:
    """What to use; or what loses least where nothing tells what was hoped for."""
    said = _said_of(best, ways)
    if best.errors is not None and best.promise == PK_ANONYMITY and best.errors.is_by_margins:
        return Phrase(
            "What loses least all the same is {method}, with {command}: {share:.1%} are in the wrong cell of {tables} "
            "({note}).",
            **said,
        )
    return Phrase("Use {method}, with {command}: {share:.1%} are in the wrong cell of {tables} ({note}).", **said)


def _unlike(usual: Outlook, perturbation: Outlook, ways: int) -> Iterator[Phrase]:
    """That the same command without --tell does something else, which loses more."""
    if perturbation.tell != usual.tell:
        ways = _ways_told(perturbation, usual, ways)
        yield Phrase(
            "Do not leave out --tell: without it the command takes {method}, as typical tables lose least so, but here "
            "that puts {share:.1%} in the wrong cell of {tables}.",
            method=usual.name,
            share=_error(usual, ways),
            tables=_TABLES[ways],
        )


def _ways_told(perturbation: Outlook, usual: Outlook, ways: int) -> int:
    """How many columns the tables have that speak for it: one where pairs cannot be told and were not asked for."""
    is_told = perturbation.errors is not None and perturbation.errors.tells_pairs
    return ways if is_told or usual.about is not None else 1


def _verdict(trial: Trial, perturbation: Outlook) -> Iterator[Phrase]:
    """What a perturbed release can tell: margins, pairs, what follows from them, or nothing."""
    errors = perturbation.errors
    assert errors is not None  # noqa: S101
    yield Phrase(
        "At k = {k:g}, a perturbed release of {n:,} people can tell {what}.",
        k=perturbation.k,
        n=trial.n,
        what=errors.verdict_about(trial.about),
    )
    if errors.two_way is None:
        return
    if not errors.tells_pairs:
        yield Phrase(
            "Pairs cannot be told at this n and k: whatever records tell, two-way tables come out hardly better than "
            "the product of margins."
        )
    elif errors.three_way is not None and errors.three_by_margins is not None:
        yield Phrase(
            "Three-way tables have {three:.1%} in the wrong cell (by margins alone {margins:.1%}){resting}.",
            three=errors.three_way,
            margins=errors.three_by_margins,
            resting=Phrase("; no record tells them, so they rest on the joint model") if perturbation.tell == 2 else "",
        )
    if errors.tells_pairs and perturbation.about is not None and perturbation.tell == 2:
        yield Phrase(
            "A regression on several columns needs records that tell those together, too: take --tell 3 for it, or "
            "leave out --about."
        )


def _promised(outlook: Outlook) -> Phrase:
    if outlook.certainty is not None and outlook.promise == PK_ANONYMITY:
        return Phrase(
            "It promises Pk-anonymity with certainty {certainty:.10g}: with that probability over the draw, whoever "
            "names a record for a person is right at most once in {k:g}, given the release and the whole true table; "
            "and every value is random.",
            certainty=outlook.certainty,
            k=outlook.k,
        )
    if outlook.promise == PK_ANONYMITY:
        return Phrase(
            "It promises Pk-anonymity: no released record can be linked to a person with probability above 1/{k:g}, "
            "and every value is random.",
            k=outlook.k,
        )
    return Phrase(
        "It promises k-anonymity: at least {k:g} records share their values, so nobody can tell whose is whose; but "
        "there is no ε: what stands for a group is computed from its members, and what all of them share is in plain "
        "sight.",
        k=outlook.k,
    )


def _said_of(outlook: Outlook, ways: int) -> dict[str, object]:
    """For single columns the error of what they tell."""
    assert outlook.errors is not None  # noqa: S101
    ways = 1 if outlook.tell == 1 else ways
    told = {"share": outlook.errors.of(ways), "tables": _TABLES[ways]}
    return {"method": outlook.name, "command": outlook.command, "note": outlook.note, **told}


OTHER_KS = (2, 5, 10, 20, 50)
MADE_UP = 2_000
"""Records made up where there are no data, or more for twenty groups of k."""
OTHERS = (microaggregated, factorised)


@dataclass(frozen=True, eq=False)
class Advice:
    """What every method would cost, and which to use; `kakuran.advise` makes one.

    Attributes
    ----------
    n : int
        People.
    k : float
        The promise.
    from_data : bool
        Whether methods were tried on the data; the advice then depends on them and is internal.
    ways : int
        How many columns the tables have by which methods are ranked: two, unless the schema's purpose is another.
    outlooks : tuple[Outlook, ...]
        Every method, and perturbation by several designs, at k; the least error first, those that could not be assessed
        last.
    perturbation : Outlook
        The perturbation to use: where pairs can be told, that which tells them best, else that which tells most of
        columns one by one.
    beside : Outlook | None
        Perturbation at the same k with certainty, or, where certainty was asked for, in every draw; None where people
        have several records, or only the smallest group of those who share what is kept is known.
    curves : tuple[Outlook, ...]
        Every method at other k as well; of the designs the one to use.
    guess : float
        The share of people somebody would put in the wrong cell who never saw a release.
    sentences : tuple[str, ...]
        What can be told, which method to use, and why.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse", "smith"])])
    >>> advice = kk.advise(schema, n=10_000, k=5)
    >>> advice.from_data, advice.to_dict()["best"] == advice.best.method
    (False, True)
    """

    n: int
    k: float
    from_data: bool
    ways: int
    outlooks: tuple[Outlook, ...]
    perturbation: Outlook
    beside: Outlook | None
    curves: tuple[Outlook, ...]
    guess: float
    sentences: tuple[str, ...]

    @property
    def best(self) -> Outlook:
        """The method with the least expected error."""
        return self.outlooks[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {
            "n": self.n,
            "k": self.k,
            "from_data": self.from_data,
            "ways": self.ways,
            "best": self.best.method,
            "perturbation": _described(self.perturbation, self.ways),
            "beside": None if self.beside is None else _described(self.beside, self.ways),
            "guess": self.guess,
            "advice": list(self.sentences),
            "methods": [_described(outlook, self.ways) for outlook in self.outlooks],
            "curves": [_described(outlook, self.ways) for outlook in self.curves],
        }

    def plot(self, translate: Translate = str, *, narrow: bool = False) -> Figure:
        """Expected error against k, a line a method; the k that is wanted, and what guessing would get wrong.

        Parameters
        ----------
        translate : callable, optional
            Says the picture's words in another language.
        narrow : bool, optional
            Whether it is for a narrow screen.
        """
        lines: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for one in self.curves:
            if one.errors is not None:
                lines.setdefault((one.method, translate(one.name)), []).append((one.k, one.errors.of(self.ways)))
        others, curves = iter(_OTHERS), []
        for (method, name), points in lines.items():
            colour, style = _STYLES[method] if len(points) > 1 or method != "perturb" else next(others)
            ks, errors = zip(*sorted(points), strict=True)
            curves.append(Curve(name, ks, errors, colour, style))
        title = Phrase("Expected error of {tables}, n = {n:,}", tables=_TABLES[self.ways], n=self.n)
        return error_chart(curves, self.k, self.guess, title, translate, narrow=narrow)

    def __str__(self) -> str:
        return " ".join(self.sentences)


@one_thread()  # its tables are small: threads of BLAS would wait for each other
def advise(
    schema: Schema | None,
    *,
    k: float,
    n: int | Sequence[int] | None = None,
    data: Any = None,
    certainty: float | None = None,
    tell: TellChoice | None = None,
    about: str | None = None,
    purpose: Purpose | None = None,
    progress: Callable[[str], object] = str,
) -> Advice:
    """Compare perturbation, microaggregation and factorisation by the error to expect, and say which to use.

    The yardstick is the share of people that one-, two- and three-way tables of a release count in the wrong cell,
    after reconstruction where there is one. Perturbation is tried by several designs: whole records, single columns,
    and what `kakuran.designs` expects to lose least. Promises differ too: see `Advice.sentences`.

    Parameters
    ----------
    schema : Schema | None
        What the columns may hold; None for a wide table of zeros and ones, given as `data`.
    k : float
        The promise.
    n : int | Sequence[int] | None
        People in the table, where the data must not be looked at; with kept columns, in the smallest group, or in all.
    data : Any
        The table itself, as a frame, a path or a source; methods are then tried on it, and the advice depends on it.
    certainty : float | None
        The probability over the draw with which k is to hold, as for `kakuran.calibrate`; without it perturbation is
        for every draw, and what certainty 0.999999 would gain is said beside it. As the schema says by default.
    tell : TellChoice | None
        What records are wished to tell, as for `kakuran.calibrate`: it is tried, too, and taken unless something else
        loses clearly less. As the schema says by default, or else what `kakuran.calibrate` would take.
    about : str | None
        A column that questions will be about, as for `kakuran.calibrate`.
    purpose : Purpose | None
        The tables that should lose least, as for `kakuran.calibrate`.
    progress : Callable[[str], object]
        Told in a word what is being tried.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse", "smith"]), kk.Numeric("age", 0, 99, step=1)])
    >>> advice = kk.advise(schema, n=10_000, k=5)
    >>> advice.best.method
    'microaggregate'
    >>> [outlook.method for outlook in advice.outlooks if outlook.errors is None]
    ['perturb-data-dependent', 'factorise']
    """
    trial = trial_of(schema, n, data, k).wishing(tell=tell, about=about, purpose=purpose, certainty=certainty)
    if schema is not None and trial.certainty is not None:  # refuses what cannot be certain
        groups: Any = n if data is None else trial.groups
        calibrate(schema.confirmed(), k=k, n=groups, certainty=trial.certainty, tell="all")
    k = float(k)

    others = [float(other) for other in OTHER_KS if other <= trial.n // 2 and other != k]
    outlooks = list(_perturbed(trial, k, progress))
    usual, perturbation = outlooks[0], recommended(outlooks, trial.ways)
    curves = []
    for other in others:
        progress(Phrase("perturbing at k = {k:g}", k=other))
        worst_case = perturbed(trial, other, perturbation.tell)
        curves += [worst_case, perturbed_for_the_data(trial, worst_case)]
    for method in OTHERS:
        outlooks.append(method(trial, k))
        progress(outlooks[-1].name)
        curves += [method(trial, other) for other in others if outlooks[-1].errors is not None]
    curves += outlooks
    outlooks.sort(key=lambda outlook: _error(outlook, trial.ways))
    beside = _beside(trial, perturbation) if _can_be_certain(schema, trial, n) else None
    guess = FLAT_GUESS if trial.is_assumed else trial.yardstick.guess().of(trial.ways)
    progress(Phrase("looking for what would help"))
    proposals = bands_for(trial, k)
    banded = in_bands(trial, proposals) if proposals else None
    bands = () if banded is None else bands_first(banded, proposals, k)
    helpful = what_would_help(trial, perturbation, banded)
    every = next(one for one in curves if one.method == "perturb" and (one.tell, one.k) == (perturbation.tell, k))
    both = () if beside is None else _both(trial, every, beside, guess)
    said = tuple(reasons(trial, outlooks, usual, perturbation, guess, bands, both, helpful))
    found = tuple(outlooks), perturbation, beside, tuple(curves)
    return Advice(trial.n, k, not trial.is_assumed, min(trial.ways, len(trial.schema.perturbed)), *found, guess, said)


def _can_be_certain(schema: Schema | None, trial: Trial, n: int | Sequence[int] | None) -> bool:
    """Whether people have one record each, and all groups that share what is kept are known."""
    are_known = not trial.schema.kept or not isinstance(n, int)
    return are_known and (schema is None or schema.rows_a_person == 1)


def _beside(trial: Trial, perturbation: Outlook) -> Outlook:
    """Perturbation at the same k with certainty; where that was asked for, in every draw."""
    other = replace(trial, certainty=CERTAINTY if trial.certainty is None else None)
    usual = designs_to_try(other, perturbation.k)[0]
    tells = [usual] if usual == perturbation.tell else [usual, perturbation.tell]
    return recommended([perturbed(other, perturbation.k, tell) for tell in tells], trial.ways)


def _both(trial: Trial, perturbation: Outlook, beside: Outlook, guess: float) -> Iterator[Phrase]:
    """What k costs in every draw and with certainty; and what certainty would tell where little is told without."""
    every, certain = (perturbation, beside) if perturbation.certainty is None else (beside, perturbation)
    assert every.errors is not None  # noqa: S101
    assert certain.errors is not None  # noqa: S101
    yield Phrase(
        "k = {k:g} in every draw: {every:.1%} in the wrong cell of {tables}; with certainty {certainty:.10g}: "
        "{certain:.1%}.",
        k=every.k,
        every=_error(every, trial.ways),
        tables=_TABLES[trial.ways],
        certainty=certain.certainty,
        certain=_error(certain, trial.ways),
    )
    tells_little = every.errors.is_by_margins or _error(every, trial.ways) > _USELESS * guess
    if perturbation is every and tells_little:
        yield Phrase(
            "With certainty, with {command}, a release could tell {what}.",
            command=certain.command,
            what=certain.errors.verdict_about(trial.about),
        )
    plan = replace(trial, certainty=certain.certainty).plan(certain.k, certain.tell)
    if plan.k_for(trial.n) > certain.k:
        yield Phrase(
            "Certainty takes more noise here: it keeps the central ε at or below {ceiling:g}, which k in every draw "
            "does not need.",
            ceiling=CENTRAL_CEILING,
        )


def _perturbed(trial: Trial, k: float, progress: Callable[[str], object]) -> Iterator[Outlook]:
    """Perturbation by every design that is worth trying; and those that might be used, with noise for these data."""
    found = []
    for tell in designs_to_try(trial, k):
        progress(Phrase("perturbing, each record telling {tell}", tell=tell))
        found.append(perturbed(trial, k, tell))
    yield from found
    progress(Phrase("perturbing with the noise that these data need"))
    best, chosen = best_of(found, trial.ways), recommended(found, trial.ways)
    for one in [best] if best is chosen else [best, chosen]:
        yield perturbed_for_the_data(trial, one)


def best_of(outlooks: Sequence[Outlook], ways: int) -> Outlook:
    """That with the least error of tables of so many columns."""
    return min(outlooks, key=lambda outlook: _error(outlook, ways))


def recommended(outlooks: Sequence[Outlook], ways: int) -> Outlook:
    """What loses least of what can be told: of tables of so many columns, or else of columns one by one.

    The first is what is done where nobody asks for anything else; to depart from it has to be worth it, as one draw
    says no more. So has noise for the data, which tells a little of them.
    """
    worth = [
        one
        for one in outlooks
        if one.method == "perturb" or _is_worth_it(one, next(each for each in outlooks if each.tell == one.tell), ways)
    ]
    best = best_of(worth, ways)
    ways = _ways_told(best, outlooks[0], ways)
    best = best_of(worth, ways)
    return best if _is_worth_it(best, outlooks[0], ways) else outlooks[0]


def _is_worth_it(one: Outlook, usual: Outlook, ways: int) -> bool:
    return _error(one, ways) < (1 - WORTH_DOING) * _error(usual, ways)


def trial_of(schema: Schema | None, n: int | Sequence[int] | None, data: Any, k: float) -> Trial:
    """The table to try methods on: the data, or records made up in their stead."""
    if (n is None) == (data is None):
        raise CalibrationError(Phrase("give either n or the data, not both and not neither"))
    schema = None if schema is None else schema.confirmed()  # a draft, too, can be tried: nothing is published here
    if isinstance(data, str | Path | Source):
        source = open_source(data)
        data = read_all(source) if schema is None else read_table(source, schema)
    if schema is None:
        schema, codes = _matrix(data)
    elif data is not None:
        truth = replace(TruePeople.of(schema, data), most=1)
        codes = taken(truth.codes, truth.draw(Randomness.secure()))
    else:
        people = calibrate(Schema(list(schema)), k=k, n=n).n  # refuses what cannot be promised
        made_up = _made_up(schema, min(people, max(MADE_UP, math.ceil(20 * k))))
        return Trial.of(schema, made_up, n if isinstance(n, Sequence) else [people], is_assumed=True)
    if not schema.perturbed:
        raise CalibrationError(Phrase("the schema has no column to perturb"))
    tally = Tally.of_columns(schema.kept)
    records = len(codes[schema.perturbed[0].name])
    tally.update(codes, records)
    return Trial.of(schema, codes, group_sizes(schema, tally), is_assumed=False)


def _matrix(data: Any) -> tuple[Schema, dict[str, Codes]]:
    """The schema and the codes of a wide table of zeros and ones."""
    if data is None:
        raise SchemaError(Phrase("without a schema, give a wide table of zeros and ones as data"))
    if hasattr(data, "shape") and not hasattr(data, "columns"):
        matrix = binary_matrix(data).toarray()
        names = [str(place) for place in range(matrix.shape[1])]
    else:
        columns = columns_of(data)
        try:
            numbers = [numbers_of(name, column) for name, column in columns.items()]
        except DataError as error:
            raise DataError(
                error.column,
                error.problem,
                Phrase(
                    "Give the schema (-s): `kakuran schema infer` drafts one. Without, the data are a wide "
                    "table of zeros and ones."
                ),
            ) from None
        matrix = binary_matrix(np.column_stack(numbers)).toarray()
        names = list(columns)
    schema = Schema([Categorical(name, [0, 1]) for name in names])
    return schema, {name: column.astype(np.int32) for name, column in zip(names, matrix.T, strict=True)}


def _made_up(schema: Schema, records: int) -> dict[str, Codes]:
    """Records of independent columns, every distribution of a column over its cells being equally likely."""
    dice = Randomness.seeded(0).generator()
    return {one.name: _made_up_column(cells_of(schema, one.name, None), records, dice) for one in schema.released}


def _made_up_column(cells: Cells, records: int, dice: np.random.Generator) -> Codes:
    chosen = dice.choice(cells.size, records, p=dice.dirichlet(np.ones(cells.size)))
    first, width = cells.edges[:-1][chosen], np.diff(cells.edges)[chosen]
    return (first + dice.random(records) * width).astype(np.int32)


def _error(outlook: Outlook, ways: int) -> float:
    return math.inf if outlook.errors is None else outlook.errors.of(ways)


def _described(outlook: Outlook, ways: int) -> dict[str, Any]:
    errors = outlook.errors
    names = [field.name for field in fields(Errors)]
    return {
        "method": outlook.method,
        "tell": outlook.tell,
        "k": outlook.k,
        "certainty": outlook.certainty,
        "promise": outlook.promise,
        "error": None if errors is None else errors.of(ways),
        **{name: None if errors is None else getattr(errors, name) for name in names},
        "note": outlook.note,
    }
