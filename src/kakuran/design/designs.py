"""Designs: which columns are told together, by which mechanisms, in which shares of the budget; and which to take.

A recipe says all of that up to the budget, and what budget n and k leave it in the worst case. Recipes are compared by
what each is expected to lose, from n, k and the schema alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from kakuran.design.expected import ExpectedError, expected_error
from kakuran.design.plan import LAST_DIGITS, Tell, cost_of_people, cost_of_records
from kakuran.errors import CalibrationError, is_real
from kakuran.mechanism import (
    MECHANISMS,
    Apart,
    Mechanism,
    Neighbourhood,
    SquareWave,
    SubsetSelection,
    Together,
    k_for,
    neighbourhood_of,
)
from kakuran.schema import ONE_VALUE, Categorical, Numeric, Schema
from kakuran.typing import Array
from kakuran.words import Phrase, which_there_are

TellChoice: TypeAlias = Literal["all", "auto"] | int | Sequence[Sequence[str]]
"""Whole records; what is expected to lose least; so many columns of each; or these sets of columns."""
ColumnSets: TypeAlias = tuple[tuple[str, ...], ...]
MechanismChoice: TypeAlias = str | Mechanism
Purpose: TypeAlias = Literal["one-way", "two-way", "three-way"]
WAYS: Mapping[str, int] = {"one-way": 1, "two-way": 2, "three-way": 3}

MOST_CELLS = 1 << 24
"""Values that columns told together may have."""
MOST_TELLS = 5_000
MOST_TOGETHER = 3
"""Columns that are told together, at most, unless somebody asks for more."""
MANY_SETS = 500
"""Designs of more sets than this are not thought of: each set would be told by hardly anybody."""


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


def tells_within(sets: ColumnSets, near: Mapping[str, Neighbourhood], epsilon: float) -> tuple[Tell, ...]:
    """Every set equally often, each as one value with the whole ε."""
    for columns in sets:
        cells = math.prod(near[name].size for name in columns)
        if cells > MOST_CELLS:
            raise CalibrationError(
                Phrase(
                    "{columns} told as one value has {cells:,} values, more than {most:,}; give numbers a "
                    "larger step, or tell fewer columns together",
                    columns=" + ".join(columns),
                    cells=cells,
                    most=MOST_CELLS,
                )
            )
    return tuple(
        Tell(Together.within({name: near[name] for name in columns}, epsilon), 1 / len(sets)) for columns in sets
    )


@dataclass(frozen=True)
class Recipe:
    """What a budget is spent on.

    Attributes
    ----------
    schema : Schema
        What the columns may hold.
    chosen : Mapping[str, MechanismChoice]
        The mechanism of every perturbed column, by name or ready-made.
    sets : ColumnSets | None
        The columns that are told together, as one value; None for whole records, each column on its own.
    shares : Mapping[str, float]
        Each column's share of the budget of whole records; ready-made mechanisms have none.
    """

    schema: Schema
    chosen: Mapping[str, MechanismChoice]
    sets: ColumnSets | None
    shares: Mapping[str, float]

    @classmethod
    def of(
        cls,
        schema: Schema,
        sets: ColumnSets | None = None,
        mechanisms: Mapping[str, MechanismChoice] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> Recipe:
        """With the mechanisms and weights that are given, checked, and those that suit the other columns."""
        chosen = _choices(schema, mechanisms or {})
        if sets is not None and weights is not None:
            raise CalibrationError(
                Phrase("weights share the budget of whole records; columns told together have all of it")
            )
        return cls(schema, chosen, sets, _shares(chosen, weights) if sets is None else {})

    def at(self, budget: float) -> tuple[Tell, ...]:
        """The tells that a budget pays for."""
        if self.sets is None:
            return (Tell(Apart(self.mechanisms(budget)), 1.0),)
        whole = {
            attribute.name: _at_swap_cost(attribute, self.chosen[attribute.name], budget)
            for attribute in self.schema.perturbed
        }
        return tells_within(self.sets, {name: neighbourhood_of(one, name) for name, one in whole.items()}, budget / 2)

    def mechanisms(self, budget: float) -> dict[str, Mechanism]:
        """The mechanisms of all columns, each with its share of a budget."""
        return {
            attribute.name: _at_swap_cost(
                attribute, self.chosen[attribute.name], self.shares.get(attribute.name, 0.0) * budget
            )
            for attribute in self.schema.perturbed
        }

    @property
    def is_fixed(self) -> bool:
        """Whether all mechanisms are ready-made, so that no budget changes anything."""
        return self.sets is None and not self.shares

    def worst_case_budget(self, n: int, k: float) -> float:
        """The budget that n and k leave, less what rounding takes: the parameters that are published keep the promise.

        What ready-made mechanisms cost is taken off first.
        """
        ready = {name: choice for name, choice in self.chosen.items() if isinstance(choice, Mechanism)}
        fixed = sum(choice.largest_swap_cost for choice in ready.values()) if self.sets is None else 0.0
        rows = self.schema.rows_a_person
        a_record = cost_of_records(math.log((n - 1) / (k - 1)), rows)
        if a_record < 0:
            raise CalibrationError(
                Phrase(
                    "whoever has {rows} rows among {n:,} people of one is found with probability {risk:.3g} "
                    "whatever the noise, above 1/{k:g}; use fewer rows a person",
                    rows=rows,
                    n=n,
                    risk=rows / (n - 1 + rows),
                    k=k,
                )
            )
        budget, less = a_record - fixed, LAST_DIGITS
        while budget > 0 and self._k_at(budget, n) < k * (1 + LAST_DIGITS):
            budget, less = max(budget - less, 0.0), 2 * less
        if budget < 0:
            raise CalibrationError(
                Phrase(
                    "the mechanisms given for {columns} alone reach k={reached:.4g} with {n:,} records, less "
                    "than {k:g}; make them noisier",
                    columns=", ".join(map(repr, ready)),
                    reached=k_for(n, cost_of_people(fixed, rows)),
                    n=n,
                    k=k,
                )
            )
        return budget

    def _k_at(self, budget: float, n: int) -> float:
        dearest = max(tell.telling.largest_swap_cost for tell in self.at(budget))
        return k_for(n, cost_of_people(dearest, self.schema.rows_a_person))


def _choices(schema: Schema, mechanisms: Mapping[str, MechanismChoice]) -> dict[str, MechanismChoice]:
    names = [attribute.name for attribute in schema.perturbed]
    for name in mechanisms:
        if name not in names:
            raise CalibrationError(
                Phrase(
                    "a mechanism is given for {name!r}, which is not a perturbed column; those are {columns}",
                    name=name,
                    columns=", ".join(names),
                )
            )
    return {
        attribute.name: _checked_choice(attribute, mechanisms.get(attribute.name, _default(attribute)))
        for attribute in schema.perturbed
    }


def _default(attribute: Categorical | Numeric) -> str:
    return SquareWave.kind if isinstance(attribute, Numeric) or attribute.is_line else SubsetSelection.kind


def _checked_choice(attribute: Categorical | Numeric, choice: MechanismChoice) -> MechanismChoice:
    if attribute.size < 2:
        raise CalibrationError(Phrase("column {name!r} has {one_value}", name=attribute.name, one_value=ONE_VALUE))
    if isinstance(choice, Mechanism):
        choice.check_fits(attribute)
        return choice
    known = [name for name, mechanism in MECHANISMS.items() if not mechanism.is_ready_made]
    if choice not in known:
        raise CalibrationError(
            Phrase(
                "column {name!r}: unknown mechanism {choice!r}; there are {listed}",
                name=attribute.name,
                choice=choice,
                listed=", ".join(known),
            )
        )
    return choice


def _shares(chosen: Mapping[str, MechanismChoice], weights: Mapping[str, float] | None) -> dict[str, float]:
    """Each column's share of the budget; ready-made mechanisms have none."""
    names = [name for name, choice in chosen.items() if isinstance(choice, str)]
    if weights is None:
        return {name: 1 / len(names) for name in names}
    surplus = sorted(set(weights) - set(names))
    if surplus:
        raise CalibrationError(
            Phrase(
                "weights share the budget of {columns}; {name!r} is not one of them",
                columns=", ".join(names),
                name=surplus[0],
            )
        )
    for name, weight in weights.items():
        if not is_real(weight) or not 0 < weight <= 1:
            raise CalibrationError(
                Phrase(
                    "the weight of {name!r} must lie between 0 and 1, got {weight!r}; to leave a column out, drop it",
                    name=name,
                    weight=weight,
                )
            )
    others, rest = [name for name in names if name not in weights], 1 - sum(weights.values())
    if not others and abs(rest) > 1e-9:
        raise CalibrationError(Phrase("weights must add up to 1, got {found:.12g}", found=1 - rest))
    if others and rest < 1e-9:
        raise CalibrationError(
            Phrase(
                "weights must add up to less than 1 to leave a share for {columns}, got {found:.12g}",
                columns=", ".join(others),
                found=1 - rest,
            )
        )
    return {name: weights[name] if name in weights else rest / len(others) for name in names}


def _at_swap_cost(attribute: Categorical | Numeric, choice: MechanismChoice, swap_cost: float) -> Mechanism:
    if isinstance(choice, Mechanism):
        return choice
    return MECHANISMS[choice].at_swap_cost(attribute, swap_cost)


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
    n: int,
    k: float,
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
    n : int
        Records in the table; with kept columns, in the smallest group that shares their values.
    k : float
        The promise.
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
    _check_purpose(purpose)
    found = []
    for tell, sets, shares in _candidates(schema, about, mechanisms or {}, weights):
        recipe = Recipe.of(schema, sets, mechanisms, shares)
        tells = recipe.at(recipe.worst_case_budget(n, k))
        found.append(Design(tell, recipe, tells, expected_error(tells, n, about)))
    ways = min(WAYS[purpose] + (about is not None), 3, len(schema.perturbed))
    return sorted(found, key=lambda design: design.expected.of(ways))


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
    if not mechanisms:
        whole.append(("all", None, _log_shares({one.name: one.size for one in schema.perturbed})))
    together: list[tuple[Literal["all"] | int, ColumnSets | None, Mapping[str, float] | None]] = []
    for size in range(1 if about is None else 2, min(MOST_TOGETHER, len(schema.perturbed)) + 1):
        sets = column_sets(schema, size, about)
        if sets is not None and len(sets) <= MANY_SETS and _are_small(schema, sets):
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

    def recipe(self, n: int, k: float) -> Recipe:
        """What was asked for, or the design that is expected to lose least."""
        _check_purpose(self.purpose)
        if self.tell != "auto":
            sets = column_sets(self.schema, self.tell, self.about)
            return Recipe.of(self.schema, sets, self.mechanisms, self.weights)
        wanted = {"about": self.about, "purpose": self.purpose, "mechanisms": self.mechanisms, "weights": self.weights}
        return designs(self.schema, n=n, k=k, **wanted)[0].recipe  # type: ignore[arg-type]
