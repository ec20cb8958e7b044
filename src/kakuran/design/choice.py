"""Which design to take: those there are, by what each is expected to lose, from n, k and the schema alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from kakuran.design.expected import ExpectedError, expected_error, log_shares
from kakuran.design.plan import Tell
from kakuran.design.recipe import MOST_CELLS, ColumnSets, MechanismChoice, Recipe, TellChoice, column_sets
from kakuran.errors import CalibrationError
from kakuran.mechanism import MECHANISMS
from kakuran.schema import Schema

Purpose: TypeAlias = Literal["one-way", "two-way", "three-way"]
WAYS: Mapping[str, int] = {"one-way": 1, "two-way": 2, "three-way": 3}
MOST_TOGETHER = 3
"""Columns that are told together, at most, unless somebody asks for more."""
MANY_SETS = 500
"""Designs of more sets than this are not thought of: each set would be told by hardly anybody."""


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
        raise CalibrationError(f"purpose must be one of {', '.join(get_args(Purpose))}, got {purpose!r}")


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
        whole.append(("all", None, log_shares({one.name: one.size for one in schema.perturbed})))
    together: list[tuple[Literal["all"] | int, ColumnSets | None, Mapping[str, float] | None]] = []
    for size in range(1 if about is None else 2, min(MOST_TOGETHER, len(schema.perturbed)) + 1):
        sets = column_sets(schema, size, about)
        if sets is not None and len(sets) <= MANY_SETS and _are_small(schema, sets):
            together.append((size, sets, None))
    return [*together, *whole]


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
