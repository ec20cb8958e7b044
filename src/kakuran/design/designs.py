"""Designs: which columns, or questions of a survey, are told together; which is best; in a line, what it can tell.

All from n, k and the schema alone: the share of people in the wrong cell. A table is wrong by its margins and by how
its columns hang together. What is not told of either is guessed, and guesses are wrong by what real tables typically
are: margins by `MARGIN` where all that is known is the domain, pairs by `PAIR` where all that is known are the margins,
triples by `TRIPLE` where all pairs are known. What is told is wrong by noise: n records that keep a value with
probability ρ leave L cells wrong by about .4·√((L−1)/n)/ρ (half the sum of L errors, each √(2/π) of its standard
deviation). Columns hang together in few ways, and in the same ways with many others: pairs have as many unknowns as
their margins, of which the joint model shares some among all pairs. Told and guessed are weighed as two measurements
are. docs/decisions/designs.md compares this with what was measured on real tables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from kakuran.design.central import DELTA, gaussian_spread
from kakuran.design.guarantee import CENTRAL_CEILING, Guarantee
from kakuran.design.plan import MOST_CELLS, ColumnSets, MechanismChoice, Recipe, Tell
from kakuran.errors import CalibrationError
from kakuran.mechanism import MECHANISMS
from kakuran.schema import Schema
from kakuran.typing import Array
from kakuran.words import Phrase, which_there_are

TellChoice: TypeAlias = Literal["all", "auto"] | int | Sequence[Sequence[str]]
"""Whole records; what is expected to lose least; so many columns of each; or these sets of columns."""
Purpose: TypeAlias = Literal["one-way", "two-way", "three-way"]
WAYS: Mapping[str, int] = {"one-way": 1, "two-way": 2, "three-way": 3}

MOST_TELLS = 5_000
MOST_TOGETHER = 3
"""Columns that are told together, at most, unless somebody asks for more."""
MANY_SETS = 500
"""Designs of more sets than this are not thought of: each set would be told by hardly anybody."""
MARGIN, PAIR, TRIPLE = 0.25, 0.12, 0.08
"""People in the wrong cell of a typical table where one has to guess."""
SHARED = 3.2
"""Pairs of a column that tell as much of their own as of each other; what more there are share their unknowns."""
MOST_WRONG = 0.2
"""With more than this in the wrong cell of a typical one-way table, a release tells next to nothing."""
WORTH_ASKING = 0.85
"""Pairs are worth asking for if they lose no more than this part of what margins alone would."""
_PER_CELL = 0.4
_MANY = 30


def column_sets(schema: Schema, tell: TellChoice, about: str | None = None) -> ColumnSets | None:
    """The sets of columns that records tell, or None for whole records, each column on its own.

    Parameters
    ----------
    schema : Schema
        What the columns may hold.
    tell : TellChoice
        ``"all"``, a number of columns, or the sets themselves.
    about : str | None
        A column that every set holds.
    """
    names = [attribute.name for attribute in schema.perturbed]
    if about is not None:
        _check_perturbed(schema, about, "about")
    if isinstance(tell, str):
        if tell != "all":
            raise _no_choice(tell)
        if about is not None:
            raise CalibrationError(
                Phrase("whole records tell {about!r} in any case; leave out about, or tell fewer columns", about=about)
            )
        return None
    if isinstance(tell, int):
        return _all_of_size(names, tell, about)
    return _given_sets(schema, tell, about)


def _all_of_size(names: list[str], size: int, about: str | None) -> ColumnSets:
    if isinstance(size, bool) or not 1 <= size <= len(names):
        raise CalibrationError(
            Phrase(
                "tell must lie between 1 and the {count} columns that are perturbed, got {size}",
                count=len(names),
                size=size,
            )
        )
    others = [name for name in names if name != about]
    fixed = [] if about is None else [about]
    if size == len(fixed) and others:
        raise CalibrationError(
            Phrase(
                "tell = 1 about {about!r} would have every record tell {about!r} alone, and nobody {other!r}; "
                "tell 2 columns or more, leave out about, or drop the other columns in the schema",
                about=about,
                other=others[0],
            )
        )
    count = math.comb(len(others), size - len(fixed))
    if count > MOST_TELLS:
        raise CalibrationError(
            Phrase(
                "{size} of {columns} columns make {count:,} sets, more than {most:,}; tell fewer columns, or "
                "list the sets",
                size=size,
                columns=len(names),
                count=count,
                most=MOST_TELLS,
            )
        )
    order = names.index
    return tuple(tuple(sorted((*some, *fixed), key=order)) for some in combinations(others, size - len(fixed)))


def _given_sets(schema: Schema, tell: Sequence[Sequence[str]], about: str | None) -> ColumnSets:
    if not isinstance(tell, Sequence) or not tell or not all(_is_list_of_names(columns) for columns in tell):
        raise _no_choice(tell)
    for name in (name for columns in tell for name in columns):
        _check_perturbed(schema, name, "tell")
    names = [attribute.name for attribute in schema.perturbed]
    fixed = () if about is None else (about,)
    sets = [tuple(name for name in names if name in {*columns, *fixed}) for columns in tell]
    if len(set(sets)) < len(sets) or any(len(set(columns)) < len(columns) for columns in tell):
        raise CalibrationError(Phrase("tell names a set of columns, or a column of one, twice"))
    untold = [name for name in names if not any(name in columns for columns in sets)]
    if untold:
        raise CalibrationError(
            Phrase("no set tells {name!r}; add one that does, or drop the column in the schema", name=untold[0])
        )
    return tuple(sets)


def _no_choice(tell: object) -> CalibrationError:
    return CalibrationError(
        Phrase('tell must be "auto", "all", a number of columns or a list of column sets, got {tell!r}', tell=tell)
    )


def _is_list_of_names(columns: object) -> bool:
    return (
        isinstance(columns, Sequence)
        and not isinstance(columns, str)
        and bool(columns)
        and all(isinstance(name, str) for name in columns)
    )


def _check_perturbed(schema: Schema, name: str, word: str) -> None:
    names = [attribute.name for attribute in schema.perturbed]
    if name in names:
        return
    if name in schema.names:
        done = Phrase("dropped") if schema[name].role == "drop" else Phrase("kept as it is, so every record tells it")
        raise CalibrationError(Phrase("{word}: column {name!r} is {done}", word=word, name=name, done=done))
    raise CalibrationError(
        Phrase("{word}: no column {name!r}. {others}", word=word, name=name, others=which_there_are(name, names))
    )


@dataclass(frozen=True)
class ExpectedError:
    """The share of people who are expected in the wrong cell of one-, two- and three-way tables.

    Attributes
    ----------
    one_way, two_way, three_way : float
        On average over all tables of so many columns.
    by_margins : float
        Of two-way tables, if nothing but the margins were taken from the release.
    about : str | None
        The column that all of these tables of several columns have, where questions are about one.
    others : float | None
        Of two-way tables without that column, where there are some.

    Examples
    --------
    >>> from kakuran.design import ExpectedError
    >>> str(ExpectedError(0.01, 0.03, 0.09, 0.12).verdict)
    'columns one by one (1.0% in the wrong cell) and pairs (3.0%; by margins alone 12.0%)'
    """

    one_way: float
    two_way: float
    three_way: float
    by_margins: float
    about: str | None = None
    others: float | None = None

    def of(self, ways: int) -> float:
        """By the number of columns."""
        return (self.one_way, self.two_way, self.three_way)[ways - 1]

    @property
    def tells_pairs(self) -> bool:
        """Whether two-way tables come out better than the product of the margins."""
        return self.two_way <= WORTH_ASKING * self.by_margins

    @property
    def verdict(self) -> Phrase:
        """What a release is good for, in a line."""
        facts = {"one": self.one_way, "two": self.two_way, "margins": self.by_margins, "pairs": self._pairs}
        if self.one_way > MOST_WRONG:
            return Phrase("next to nothing: {one:.0%} are in the wrong cell even of a table of one column", **facts)
        if not self.tells_pairs:
            return Phrase(
                "columns one by one ({one:.1%} in the wrong cell); of {pairs} no more than the product of their "
                "margins",
                **facts,
            )
        told = Phrase(
            "columns one by one ({one:.1%} in the wrong cell) and {pairs} ({two:.1%}; by margins alone {margins:.1%})",
            **facts,
        )
        if self.others is None:
            return told
        return Phrase("{told}; pairs without {about}: {others:.1%}", told=told, about=self.about, others=self.others)

    @property
    def _pairs(self) -> Phrase:
        return Phrase("pairs") if self.about is None else Phrase("pairs with {about}", about=self.about)


class Expectation:
    """What n records that tell one of some sets of columns leave wrong, table by table."""

    def __init__(self, tells: Sequence[Tell], n: float) -> None:
        self._tells, self._n = tells, n
        self.levels = {name: tell.telling.levels(name) for tell in tells for name in tell.columns}
        self._shared = min(1.0, SHARED / max(len(self.levels) - 1, 1))
        self._known: dict[tuple[str, ...], float] = {}
        self._telling: defaultdict[str, set[int]] = defaultdict(set)
        for place, tell in enumerate(tells):
            for name in tell.columns:
                self._telling[name].add(place)

    @property
    def columns(self) -> list[str]:
        """All that are perturbed."""
        return list(self.levels)

    def wrong(self, table: Sequence[str]) -> float:
        """The share of people in the wrong cell; errors of different origin add up by their squares."""
        parts = (self._part(part) for ways in (1, 2, 3) for part in combinations(table, ways))
        return math.hypot(*parts)

    def by_margins(self, table: Sequence[str]) -> float:
        """The same, if the columns were taken to be independent."""
        pairs = len(table) * (len(table) - 1) // 2
        return math.hypot(*(self._part((name,)) for name in table), PAIR * math.sqrt(pairs))

    def is_told(self, table: Sequence[str]) -> bool:
        """Whether some record tells all of a table."""
        return bool(self._holding(table))

    def _part(self, columns: tuple[str, ...]) -> float:
        """What is wrong of a margin, or of what two or three columns have to do with each other beyond it."""
        if columns not in self._known:
            self._known[columns] = _weighed((MARGIN, PAIR, TRIPLE)[len(columns) - 1], self._noise(columns))
        return self._known[columns]

    def _noise(self, columns: tuple[str, ...]) -> float:
        """By chance, in all tells that hold the columns taken together."""
        holding = (self._tells[place] for place in self._holding(columns))
        told = sum(tell.share * self._n * tell.telling.kept(columns) ** 2 for tell in holding)
        return _PER_CELL * math.sqrt(max(self._unknowns(columns), 1.0) / told) if told > 0 else math.inf

    def _holding(self, columns: Sequence[str]) -> list[int]:
        return sorted(set.intersection(*map(self._telling.__getitem__, columns)))

    def _unknowns(self, columns: tuple[str, ...]) -> float:
        if len(columns) == 1:
            return self.levels[columns[0]] - 1
        return self._shared * (len(columns) - 1) * sum(self.levels[name] - 1 for name in columns)


def expected_error(tells: Sequence[Tell], n: float, about: str | None = None) -> ExpectedError:
    """What n records that tell one of these sets leave wrong, on average over all tables, or those with one column.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.design import expected_error
    >>> schema = kk.Schema([kk.Categorical(name, list("abcdefgh")) for name in ("job", "town", "care")])
    >>> pairs = expected_error(kk.calibrate(schema, n=50_000, k=10, tell=2).tells, n=50_000)
    >>> whole = expected_error(kk.calibrate(schema, n=50_000, k=10, tell="all").tells, n=50_000)
    >>> pairs.two_way < whole.two_way
    True
    """
    expected = Expectation(tells, n)

    def tables(ways: int) -> list[tuple[str, ...]]:
        """All, or of very many columns those that come first: they are only averaged over."""
        names = expected.columns if ways < 3 else expected.columns[:_MANY]
        return [table for table in combinations(names, ways) if about is None or about in table or ways == 1]

    def mean(wrong: Callable[[Sequence[str]], float], ways: int) -> float:
        return float(np.mean([wrong(table) for table in tables(ways)] or [0.0]))

    one, two, three = (mean(expected.wrong, ways) for ways in (1, 2, 3))
    others = [pair for pair in combinations(expected.columns, 2) if about is not None and about not in pair]
    left = float(np.mean([*map(expected.wrong, others)])) if others else None
    return ExpectedError(one, two, three, mean(expected.by_margins, 2), about, left)


def expected_error_of_noise(
    tells: Sequence[Tell], n: float, epsilon: float, delta: float = DELTA, about: str | None = None
) -> float:
    """What Gaussian noise on all two-way tables, or those with one column, would leave wrong of them, on average.

    As much noise on counts as is (ε, δ)-private where one person is replaced, which changes every table by √2. As with
    what records tell, tables are taken to be made consistent: a margin is measured by every table that holds it, and of
    L₁·L₂ cells L₁ + L₂ − 2 say how two columns hang together.

    Examples
    --------
    Of tables alone they tell more than records at the same (ε, δ):

    >>> import kakuran as kk
    >>> from kakuran.design import expected_error, expected_error_of_noise
    >>> schema = kk.Schema([kk.Categorical(name, list("abcdefgh")) for name in ("job", "town", "care")])
    >>> plan = kk.calibrate(schema, n=50_000, k=10)
    >>> expected_error_of_noise(plan.tells, 50_000, plan.central()) < expected_error(plan.tells, 50_000).two_way
    True
    """
    levels = Expectation(tells, n).levels
    pairs = [pair for pair in combinations(levels, 2) if about is None or about in pair]
    spread = gaussian_spread(epsilon, delta) * math.sqrt(2 * len(pairs)) / n

    def of_margin(name: str) -> float:
        others = (levels[one if other == name else other] for one, other in pairs if name in (one, other))
        return _weighed(MARGIN, _PER_CELL * levels[name] * spread / math.sqrt(sum(1 / other for other in others)))

    def together(one: float, other: float) -> float:
        return _weighed(PAIR, _PER_CELL * spread * math.sqrt(one * other * (one + other - 2)))

    margins = {name: of_margin(name) for name in {name for pair in pairs for name in pair}}
    return float(
        np.mean([math.hypot(margins[a], margins[b], together(levels[a], levels[b])) for a, b in pairs] or [0.0])
    )


def _weighed(guess: float, noise: float) -> float:
    """The error of two measurements together."""
    return guess if math.isinf(noise) else guess * noise / math.hypot(guess, noise)


@dataclass(frozen=True)
class Design:
    """A way to say something of every record.

    Attributes
    ----------
    tell : "all" or int
        Whole records, or how many columns of each.
    recipe : Recipe
        What the budget is spent on.
    tells : tuple[Tell, ...]
        What records tell at this n and k.
    expected : ExpectedError
        What is expected to be wrong.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "ill")])
    >>> best, *others = kk.designs(schema, n=1000, k=10)
    >>> best.tell
    2
    """

    tell: Literal["all"] | int
    recipe: Recipe
    tells: tuple[Tell, ...]
    expected: ExpectedError


def designs(
    schema: Schema,
    *,
    n: int | Sequence[int],
    k: float,
    certainty: float | None = None,
    central_ceiling: float | None = CENTRAL_CEILING,
    about: str | None = None,
    purpose: Purpose = "two-way",
    mechanisms: Mapping[str, MechanismChoice] | None = None,
    weights: Mapping[str, float] | None = None,
) -> list[Design]:
    """The designs that are worth thinking of, those first that are expected to lose least of what is asked for.

    Parameters
    ----------
    schema : Schema
        What the columns may hold.
    n : int or sequence of int
        Records in the table; with kept columns, in the smallest group that shares their values, or in every group.
    k : float
        The promise.
    certainty, central_ceiling : optional
        As for `kakuran.calibrate`.
    about : str | None
        A column that questions will be about: every set of columns has it, and tables of one column more count.
    purpose : Purpose
        The tables to lose least of.
    mechanisms : Mapping[str, MechanismChoice] | None
        As for `kakuran.calibrate`.
    weights : Mapping[str, float] | None
        As for `kakuran.calibrate`.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import census_schema
    >>> [design.tell for design in kk.designs(census_schema(), n=50_000, k=10)][0]
    2
    """
    groups = n if isinstance(n, Sequence) else [n]
    guarantee = Guarantee.of(k, groups, certainty=certainty, central_ceiling=central_ceiling)
    return Wish(schema, "auto", about, purpose, mechanisms, weights).designs(guarantee)


def _check_purpose(purpose: str) -> None:
    if purpose not in get_args(Purpose):
        raise CalibrationError(
            Phrase(
                "purpose must be one of {listed}, got {purpose!r}", listed=", ".join(get_args(Purpose)), purpose=purpose
            )
        )


def _candidates(
    schema: Schema,
    about: str | None,
    mechanisms: Mapping[str, MechanismChoice],
    weights: Mapping[str, float] | None,
) -> list[tuple[Literal["all"] | int, ColumnSets | None, Mapping[str, float] | None]]:
    """Whole records in equal shares or by the number of values; or one, two or three columns together."""
    whole: list[tuple[Literal["all"] | int, ColumnSets | None, Mapping[str, float] | None]] = [("all", None, weights)]
    if len(schema.perturbed) == 1 or weights is not None or not all(map(_goes_with_others, mechanisms.values())):
        return whole
    sizes = {one.name: one.size for one in schema.perturbed}
    if not mechanisms and len({*sizes.values()}) > 1:
        whole.append(("all", None, _log_shares(sizes)))
    together: list[tuple[Literal["all"] | int, ColumnSets | None, Mapping[str, float] | None]] = []
    fixed = 0 if about is None else 1
    for size in range(1 + fixed, min(MOST_TOGETHER, len(schema.perturbed)) + 1):
        if math.comb(len(schema.perturbed) - fixed, size - fixed) > MANY_SETS:
            break
        sets = column_sets(schema, size, about)
        if sets is not None and _are_small(schema, sets):
            together.append((size, sets, None))
    return [*together, *whole]


def _log_shares(sizes: Mapping[str, int]) -> dict[str, float]:
    """Shares of a budget by the logarithm of the number of values."""
    logs: Array = np.log(np.array([*sizes.values()], float))
    return dict(zip(sizes, (logs / logs.sum()).tolist(), strict=True))


def _are_small(schema: Schema, sets: ColumnSets) -> bool:
    """Whether columns told together have no more values than can be: those of numbers with fine steps may."""
    return all(math.prod(schema[name].size for name in columns) <= MOST_CELLS for columns in sets)


def _goes_with_others(choice: MechanismChoice) -> bool:
    return (MECHANISMS[choice] if isinstance(choice, str) else choice).goes_with_others


@dataclass(frozen=True)
class Wish:
    """What somebody asked of a release, before it is known how many records there are."""

    schema: Schema
    tell: TellChoice
    about: str | None
    purpose: Purpose
    mechanisms: Mapping[str, MechanismChoice] | None
    weights: Mapping[str, float] | None

    def recipe(self, guarantee: Guarantee) -> Recipe:
        """What was asked for, or the design that is expected to lose least."""
        _check_purpose(self.purpose)
        if self.tell == "auto":
            return self.designs(guarantee)[0].recipe
        sets = column_sets(self.schema, self.tell, self.about)
        return Recipe.of(self.schema, sets, self.mechanisms, self.weights)

    def designs(self, guarantee: Guarantee) -> list[Design]:
        """The designs that are worth thinking of, those first that are expected to lose least."""
        _check_purpose(self.purpose)
        found = []
        for tell, sets, shares in _candidates(self.schema, self.about, self.mechanisms or {}, self.weights):
            recipe = Recipe.of(self.schema, sets, self.mechanisms, shares)
            tells = recipe.at(guarantee.budget(recipe))
            found.append(Design(tell, recipe, tells, expected_error(tells, guarantee.n, self.about)))
        ways = min(WAYS[self.purpose] + (self.about is not None), 3, len(self.schema.perturbed))
        return sorted(found, key=lambda design: design.expected.of(ways))
