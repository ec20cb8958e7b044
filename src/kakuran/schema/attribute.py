"""What a column may hold and what is to be done with it.

Every value of a perturbed or kept column has a *code*: the position of a category in its list, the index
of a number on its grid. Mechanisms, counts and audits work on codes alone. TOML files and manifests hold
attributes as plain values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from inspect import signature
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import SchemaError, is_real
from kakuran.parsing import ANYTHING, check_settings, check_table, is_writable
from kakuran.schema.tree import Tree
from kakuran.typing import Array
from kakuran.words import Phrase

Missing: TypeAlias = Literal["error", "category"]
Value: TypeAlias = str | int | float | bool

LARGEST_GRID = 1 << 20
"""Codes a number may have; noise is far coarser than a millionth of the range."""

MANY, MANY_BANDS = 10, 100
"""Into how many cells a number is cut where nobody says: one on a grid, and one in bands, as far as it has them."""
TOO_WIDE = 3.5
"""A band at an end is worth a word if it is more than so many times as wide as the one beside it: 20–50 beside 10–20 is
three times."""
_ROUNDING = 1e-9
ONE_VALUE = Phrase("one value only, so perturbing cannot hide anything; list its other values, keep it, or drop it")
"""What is said of a category that has no other."""

FARTHEST = 2**62
"""Whole numbers lie below this, and above its negative."""


@dataclass(frozen=True)
class Categorical:
    """A column of categories.

    Parameters
    ----------
    name : str
        What the column is called.
    values : Sequence[Value]
        The categories, all of one type (text, whole numbers, or true/false).
    ordered : bool
        Whether their order means something: three or more are then told by the square wave, as numbers are.
    tree : Tree | None
        Groups of values, for hierarchical generalisation and tree distances.
    role : Literal["perturb", "keep"]
        ``"perturb"``, or ``"keep"`` for a column that is public anyway.
    missing : Missing
        ``"error"``, or ``"category"`` to treat a missing value as one more category.
    missing_codes : Sequence[Value]
        What stands for a missing value in the data, as 9 or "unknown"; missing is a category then.
    coded : Sequence[float] | None
        The numbers that stand for the values in files of SPSS and Stata, one each; 1, 2, … by default.
    other : Value | None
        The one of its values that stands for all that is not listed, and for what is missing unless that is a category.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.Categorical("job", ["clerk", "nurse"]).size
    2
    """

    name: str
    values: Sequence[Value]
    ordered: bool = False
    tree: Tree | None = None
    role: Literal["perturb", "keep"] = "perturb"
    missing: Missing = "error"
    missing_codes: Sequence[Value] = ()
    coded: Sequence[float] | None = None
    other: Value | None = None

    def __post_init__(self) -> None:
        check_declaration(self)
        if isinstance(self.values, str | set | frozenset) or not isinstance(self.values, Iterable):
            raise SchemaError(
                Phrase("column {name!r}: values must be a list, got {values!r}", name=self.name, values=self.values)
            )
        plain = tuple(value.item() if isinstance(value, np.generic) else value for value in self.values)
        object.__setattr__(self, "values", plain)
        if not isinstance(self.ordered, bool):
            raise SchemaError(
                Phrase(
                    "column {name!r}: ordered must be true or false, got {ordered!r}",
                    name=self.name,
                    ordered=self.ordered,
                )
            )
        self._check_values()
        for code in self.missing_codes:
            if code in self.values:
                raise SchemaError(
                    Phrase(
                        "column {name!r}: {code!r} is among its values; it cannot stand for missing",
                        name=self.name,
                        code=code,
                    )
                )
        if self.coded is not None:
            self._check_coded(self.coded)
        if self.other is not None and self.other not in self.values:
            raise SchemaError(
                Phrase(
                    "column {name!r}: other must be one of its values, got {other!r}; list it, too",
                    name=self.name,
                    other=self.other,
                )
            )

    def _check_coded(self, coded: Sequence[float]) -> None:
        is_listed = isinstance(coded, Iterable) and not isinstance(coded, str | set | frozenset)
        numbers = tuple(_plain_number(self.name, "coded", one) for one in coded) if is_listed else ()
        if len(set(numbers)) != len(self.values) or len(numbers) != len(self.values):
            raise SchemaError(
                Phrase(
                    "column {name!r}: coded must be one number for each value, got {coded!r}",
                    name=self.name,
                    coded=coded,
                )
            )
        object.__setattr__(self, "coded", numbers)

    def _check_values(self) -> None:
        if not self.values:
            raise SchemaError(Phrase("column {name!r}: a category needs at least one value", name=self.name))
        kinds = {type(value) for value in self.values}
        if len(kinds) > 1 or not kinds <= {str, int, float, bool}:
            shown = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise SchemaError(
                Phrase(
                    "column {name!r}: values must all be text, all numbers or all true/false, got {shown}",
                    name=self.name,
                    shown=shown,
                )
            )
        for value in self.values:
            if isinstance(value, str):
                _check_text(self.name, value)
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise SchemaError(
                    Phrase(
                        "column {name!r}: {value!r} has more than 64 bits and cannot be a category; make all text",
                        name=self.name,
                        value=value,
                    )
                )
            elif not math.isfinite(value):
                raise SchemaError(
                    Phrase("column {name!r}: {value!r} cannot be a category", name=self.name, value=value)
                )
        repeated = [value for value, times in Counter(self.values).items() if times > 1]
        if repeated:
            raise SchemaError(
                Phrase("column {name!r}: value {value!r} is listed twice", name=self.name, value=repeated[0])
            )
        if self.tree is not None:
            unplaced = [value for value in self.values if value not in self.tree.parents]
            if unplaced:
                raise SchemaError(
                    Phrase(
                        "column {name!r}: the tree lacks the value {value!r}; place it under a parent",
                        name=self.name,
                        value=unplaced[0],
                    )
                )

    @property
    def points(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def size(self) -> int:
        """Number of codes: the values, and one for missing where it is a category."""
        return self.points + (self.missing == "category")

    @property
    def is_line(self) -> bool:
        """Whether its values lie along a line, so that some are nearer to each other than others."""
        return self.ordered and self.points > 2 and not isinstance(self.values[0], bool)

    def names_of(self, reach: int) -> tuple[Value, ...]:
        """What a release calls each value, and those so many places beyond either end: ``poor -1``, ``good +1``.

        Beyond numbers come the next whole numbers.
        """
        if not reach:
            return tuple(self.values)
        if isinstance(self.values[0], str):
            return names_beyond(self.name, [str(value) for value in self.values], reach)
        least, most = min(self.values), max(self.values)
        steps = range(1, reach + 1)
        below, above = [least - one for one in steps], [most + one for one in steps]  # type: ignore[operator]
        if self.values[0] > self.values[-1]:  # type: ignore[operator]
            below, above = above, below
        return (*below[::-1], *self.values, *above)

    def settings(self) -> dict[str, Any]:
        """What it may hold, as plain values."""
        settings: dict[str, Any] = {"type": "categorical", "values": list(self.values)}
        if self.ordered:
            settings["ordered"] = True
        if self.tree is not None:
            settings["tree"] = {parent: list(kids) for parent, kids in self.tree.children.items()}
        if self.coded is not None:
            settings["coded"] = list(self.coded)
        if self.other is not None:
            settings["other"] = self.other
        return settings


def names_beyond(column: str, names: Sequence[str], reach: int) -> tuple[str, ...]:
    """Names along a line, and what the places before the first and after the last are called."""
    below = [f"{names[0]} -{place}" for place in range(reach, 0, -1)]
    every = (*below, *names, *(f"{names[-1]} +{place}" for place in range(1, reach + 1)))
    repeated = [name for name, times in Counter(every).items() if times > 1]
    if repeated:
        raise SchemaError(
            Phrase(
                "column {column!r}: {value!r} is what a release calls a place beyond the ends; rename that value",
                column=column,
                value=repeated[0],
            )
        )
    return every


@dataclass(frozen=True)
class Numeric:
    """A column of numbers between public bounds, on a grid or in bands.

    Values are put on the nearest grid point before anything else happens to them, and only grid points are
    ever released: the low bits of a float would give the original away. In bands, the band is all that is told.

    Parameters
    ----------
    name : str
        What the column is called.
    low, high : float
        The bounds, from public knowledge and not from the data; with bands, the first and the last of their edges.
    step : float
        The grid; ``high − low`` must be a whole number of steps. With bands, the finest decimal of their edges.
    role : Literal["perturb", "keep"]
        ``"perturb"``, or ``"keep"`` for a column that is public anyway.
    missing : Missing
        ``"error"``, or ``"category"`` to treat a missing value as one more value.
    bands : Sequence[float] | None
        Where bands begin, and where the last one ends: told as ordered categories, and read back as numbers.
    clip : bool
        Whether numbers beyond the bounds are taken for the bounds, instead of refused.
    missing_codes : Sequence[float]
        Numbers that stand for a missing one in the data, as 999; missing is a category then.

    Examples
    --------
    >>> import kakuran as kk
    >>> age = kk.Numeric("age", 0, 120, step=1)
    >>> age.size, age.span
    (121, 120)
    >>> kk.Numeric("age", bands=[0, 18, 65, 120]).names_of(0)
    ('0–17', '18–64', '65–120')
    """

    name: str
    # Filled in from the bands where those are given.
    low: float = None  # type: ignore[assignment]
    high: float = None  # type: ignore[assignment]
    step: float = None  # type: ignore[assignment]
    role: Literal["perturb", "keep"] = "perturb"
    missing: Missing = "error"
    bands: Sequence[float] | None = None
    clip: bool = False
    missing_codes: Sequence[float] = ()

    def __post_init__(self) -> None:
        check_declaration(self)
        if not isinstance(self.clip, bool):
            raise SchemaError(
                Phrase("column {name!r}: clip must be true or false, got {clip!r}", name=self.name, clip=self.clip)
            )
        if self.bands is not None:
            self._take_bounds_from_bands(self.bands)
        for field in ("low", "high", "step"):
            object.__setattr__(self, field, _plain_number(self.name, field, getattr(self, field)))
        if not self.low < self.high:
            raise SchemaError(
                Phrase(
                    "column {name!r}: low must be below high, got {low} and {high}",
                    name=self.name,
                    low=self.low,
                    high=self.high,
                )
            )
        if not self.step > 1e-200:
            raise SchemaError(
                Phrase("column {name!r}: step must be above 0, got {step}", name=self.name, step=self.step)
            )
        self._check_grid()
        for code in self.missing_codes:
            if self.low <= _plain_number(self.name, "a missing code", code) <= self.high:
                raise SchemaError(
                    Phrase(
                        "column {name!r}: {code} lies between {low} and {high}, so it may be a number; what "
                        "stands for missing must lie outside",
                        name=self.name,
                        code=code,
                        low=self.low,
                        high=self.high,
                    )
                )

    def _take_bounds_from_bands(self, bands: Any) -> None:
        if not isinstance(bands, Iterable) or isinstance(bands, str | bytes):
            raise SchemaError(
                Phrase(
                    "column {name!r}: bands must be a list of numbers, as [0, 18, 65, 120]; got {bands!r}",
                    name=self.name,
                    bands=bands,
                )
            )
        edges = tuple(_plain_number(self.name, "every edge of the bands", edge) for edge in bands)
        if len(edges) < 3 or any(after <= before for before, after in pairwise(edges)):
            raise SchemaError(
                Phrase(
                    "column {name!r}: bands must be at least three rising numbers, where each begins and where "
                    "the last one ends; got {edges}",
                    name=self.name,
                    edges=list(edges),
                )
            )
        decimals = next(
            many for many in range(400) if all((_exact(edge) * 10**many).denominator == 1 for edge in edges)
        )
        finest = float(f"1e-{decimals}")
        for field, told in (("low", edges[0]), ("high", edges[-1]), ("step", finest)):
            given = getattr(self, field)
            if given is None:
                object.__setattr__(self, field, told)
            elif field != "step" and given != told:
                raise SchemaError(
                    Phrase(
                        "column {name!r}: {field} is {given} but its bands {begin} at {told}; leave out {field}",
                        name=self.name,
                        field=field,
                        given=given,
                        begin=Phrase("begin") if field == "low" else Phrase("end"),
                        told=told,
                    )
                )
        object.__setattr__(self, "bands", edges)

    def _check_grid(self) -> None:
        farthest = max(abs(self.low), abs(self.high))
        if farthest / self.step >= 2**52 or (self.is_whole and farthest >= FARTHEST):
            raise SchemaError(
                Phrase(
                    "column {name!r}: numbers up to {farthest:g} cannot be told apart at a step of {step:g}; "
                    "use a larger step or another unit",
                    name=self.name,
                    farthest=farthest,
                    step=self.step,
                )
            )
        for edge in self.bands or (self.low, self.high):
            steps = (_exact(edge) - _exact(self.low)) / _exact(self.step)
            if steps.denominator != 1:
                raise SchemaError(
                    Phrase(
                        "column {name!r}: {low} to {edge} is {steps:g} steps of {step}; choose {ends} a whole "
                        "number of steps apart",
                        name=self.name,
                        low=self.low,
                        edge=edge,
                        steps=float(steps),
                        step=self.step,
                        ends=Phrase("edges") if self.bands else Phrase("bounds"),
                    )
                )
        if self.points > LARGEST_GRID:
            raise SchemaError(
                Phrase(
                    "column {name!r}: {points:,} grid points are more than {most:,}; use bands, or a step of "
                    "at least {least:g}",
                    name=self.name,
                    points=self.points,
                    most=LARGEST_GRID,
                    least=_round_up(self.span / (LARGEST_GRID - 1)),
                )
            )

    @property
    def span(self) -> float:
        """high − low."""
        return self.high - self.low

    @cached_property
    def points(self) -> int:
        """Number of codes that are numbers: the grid points, or the bands."""
        return (
            len(self.bands) - 1 if self.bands else int((_exact(self.high) - _exact(self.low)) / _exact(self.step)) + 1
        )

    @property
    def size(self) -> int:
        """Number of codes: those of numbers, and one for missing where it is a category."""
        return self.points + (self.missing == "category")

    @property
    def is_whole(self) -> bool:
        """Whether every grid point is a whole number."""
        return float(self.low).is_integer() and float(self.step).is_integer()

    @property
    def is_even(self) -> bool:
        """Whether every code is one number, and all are as far apart."""
        return self.bands is None

    @property
    def has_mean(self) -> bool:
        """Whether sums of it mean something."""
        return True

    @property
    def axis(self) -> tuple[float, float]:
        """Where mechanisms and models take the first code to lie, and how far apart codes are."""
        return (self.low, self.step) if self.is_even else (0.0, 1.0)

    @property
    def usual_cells(self) -> int:
        """Into how many cells it is cut where nobody says."""
        return min(MANY if self.is_even else MANY_BANDS, self.points)

    def cells(self, count: int) -> NDArray[np.int64]:
        """Edges, in codes, of `count` cells as equal as the grid allows; a missing category is a cell of its own."""
        if not 1 <= count <= self.points:
            what = Phrase("grid points") if self.is_even else Phrase("bands")
            raise SchemaError(
                Phrase(
                    "column {name!r} has {points:,} {what}; it cannot be cut into {count} cells",
                    name=self.name,
                    points=self.points,
                    what=what,
                    count=count,
                )
            )
        edges = np.rint(np.linspace(0, self.points, count + 1)).astype(np.int64)
        return np.append(edges, self.size) if self.missing == "category" else edges

    def codes_of(self, numbers: Array) -> Array:
        """The code of each number, as floats: out of range, NaN and infinity stay visible."""
        places = np.rint((numbers - self.low) / self.step)
        if self.bands is None:
            return places
        starts = np.rint((np.asarray(self.bands, float) - self.low) / self.step)
        starts[-1] += 1  # the last band ends with its edge, the others before theirs
        codes = np.searchsorted(starts, places, side="right") - 1.0
        return np.where(np.isfinite(numbers), codes, numbers)

    def numbers_of(self, codes: NDArray[np.integer]) -> NDArray[np.int64] | Array:
        """The grid points of codes, which may lie beyond the bounds; the middle of a band."""
        if self.is_even:
            return self._grid_points(codes)
        first, last = self.ends_of(codes)
        return (first.astype(float) + last) / 2

    def ends_of(self, codes: NDArray[np.integer]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The least and the largest number that each code stands for; beyond the bounds, those of the nearest."""
        if self.bands is None:
            numbers = self._grid_points(codes)
            return numbers, numbers
        inside = np.clip(codes, 0, self.points - 1)
        return self._grid_points(self._band_starts[inside]), self._grid_points(self._band_starts[inside + 1] - 1)

    @cached_property
    def _band_starts(self) -> NDArray[np.int64]:
        """The place on the grid where each band starts, and the place after all."""
        low, step = _exact(self.low), _exact(self.step)
        places = np.array([int((_exact(edge) - low) / step) for edge in self.bands or ()], np.int64)
        places[-1] += 1  # the last band ends with its edge, the others before theirs
        return places

    def borders_of(self, codes: NDArray[np.integer]) -> Array:
        """Halfway between each code from 0 to `points` and the one before."""
        if self.is_even:
            return self.low + self.step * (codes.astype(float) - 0.5)
        first, last = self.ends_of(codes)
        return np.where(codes < self.points, first - self.step / 2, last + self.step / 2)

    def _grid_points(self, places: NDArray[np.integer]) -> Any:
        if self.is_whole:
            return places.astype(np.int64) * int(self.step) + int(self.low)
        low, step = _exact(self.low), _exact(self.step)
        shared = math.lcm(low.denominator, step.denominator)
        # Whole numerators over one denominator: 0.1 × 3 comes out as 0.3, and depends on the place alone.
        return (places.astype(np.float64) * int(step * shared) + int(low * shared)) / shared

    def first_from(self, number: float) -> int:
        """The first code whose numbers lie from this one on; a `SchemaError` where that cuts through a band."""
        if self.is_even:
            return math.ceil((number - self.low) / self.step - _ROUNDING)
        if number > self.high:
            return self.points
        code = int(self.codes_of(np.array([float(number)]))[0])
        if self.ends_of(np.array([code]))[0][0] != number:
            raise SchemaError(
                Phrase(
                    "column {name!r}: {number} lies inside {label}, of which nothing finer is told",
                    name=self.name,
                    number=self.written(number),
                    label=self.label(code, code),
                )
            )
        return code

    def number_of(self, value: Any) -> float:
        """A number as somebody writes it in a question; a `SchemaError` where it is none."""
        if isinstance(value, bool) or not is_real(value):
            raise SchemaError(Phrase("column {name!r} holds numbers, got {value!r}", name=self.name, value=value))
        return int(value) if float(value).is_integer() else float(value)

    def written(self, number: float) -> str:
        """A number as people read it."""
        return f"{number}"

    def label(self, first: int, last: int) -> str:
        """What codes from one to another are called."""
        (least,), (most,) = self.ends_of(np.array([first]))[0], self.ends_of(np.array([last]))[1]
        return self._between(least, most)

    def _between(self, least: Any, most: Any) -> str:
        return self.written(least) if least == most else f"{self.written(least)}–{self.written(most)}"

    def names_of(self, reach: int) -> tuple[str, ...] | None:
        """What a release calls each band, and those so many places beyond either end; None where it holds numbers."""
        if self.bands is None:
            return None
        ends = self.ends_of(np.arange(self.points))
        return names_beyond(self.name, [*map(self._between, *ends)], reach)

    @property
    def wide_ends(self) -> dict[str, float]:
        """How many times as wide bands at an end are as those beside them, by their names; of more than twice."""
        if self.bands is None:
            return {}
        widths = np.diff(self.borders_of(np.arange(self.points + 1)))
        times = {0: widths[0] / widths[1], self.points - 1: widths[-1] / widths[-2]}
        return {self.label(code, code): float(ratio) for code, ratio in times.items() if ratio > TOO_WIDE}

    def settings(self) -> dict[str, Any]:
        """What it may hold, as plain values."""
        if self.bands is None:
            settings: dict[str, Any] = {"low": self.low, "high": self.high, "step": self.step}
        else:
            settings = {"bands": list(self.bands), "step": self.step}
        return {"type": "numeric"} | settings | ({"clip": True} if self.clip else {})


@dataclass(frozen=True, init=False)
class Weight(Categorical):
    """A column that says how many people each record stands for, in coarse classes.

    Which class a record is in is released as it is, or perturbed like any column; one number stands for all of a class.

    Parameters
    ----------
    name : str
        What the column is called.
    classes : Sequence[float]
        Where each class begins, and where the last one ends, from public knowledge and not from the data.
    values : Sequence[float] | None
        The number that stands for each class; its middle by default.
    total : float | None
        How many people all records stand for, where that is public: estimates are raked to it.
    perturb : bool
        Whether to perturb the class, where it is not public. People then need not hide among those of their class, but
        the column takes its share of the budget, and estimates are less sure.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.Weight("weight", [0, 100, 500]).values
    (50.0, 300.0)
    """

    classes: Sequence[float] = ()
    total: float | None = None

    def __init__(
        self,
        name: str,
        classes: Sequence[float],
        values: Sequence[float] | None = None,
        *,
        total: float | None = None,
        perturb: bool = False,
    ) -> None:
        _check_name(name)
        if not isinstance(perturb, bool):
            raise SchemaError(
                Phrase("column {name!r}: perturb must be true or false, got {perturb!r}", name=name, perturb=perturb)
            )
        edges = _ascending(name, classes)
        if total is not None and not (total := _plain_number(name, "total", total)) > 0:
            raise SchemaError(
                Phrase("column {name!r}: total must be a number of people, got {total!r}", name=name, total=total)
            )
        middles = _middles(edges) if values is None else tuple(values)
        if len(middles) != len(edges) - 1 or not all(
            is_real(one) and low <= one <= high for one, (low, high) in zip(middles, pairwise(edges), strict=True)
        ):
            raise SchemaError(
                Phrase(
                    "column {name!r}: values must name a number in each of its classes, got {middles!r}",
                    name=name,
                    middles=middles,
                )
            )
        plain = {"ordered": False, "tree": None, "missing": "error", "missing_codes": (), "coded": None, "other": None}
        settings = {"values": tuple(map(float, middles))} | plain
        role = "perturb" if perturb else "keep"
        for field, value in ({"name": name, "role": role, "classes": edges, "total": total} | settings).items():
            object.__setattr__(self, field, value)
        self._check_values()

    @property
    def is_guessed(self) -> bool:
        """Whether middles of classes stand for weights, and no total says how far off they are."""
        return self.total is None and tuple(self.values) == _middles(self.classes)


def _middles(edges: Sequence[float]) -> tuple[float, ...]:
    return tuple((low + high) / 2 for low, high in pairwise(edges))


def _ascending(name: str, classes: object) -> tuple[float, ...]:
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise SchemaError(
            Phrase("column {name!r}: classes must be a list of numbers, got {classes!r}", name=name, classes=classes)
        )
    edges = tuple(_plain_number(name, "classes", edge) for edge in classes)
    if len(edges) < 2 or edges[0] < 0 or any(low >= high for low, high in pairwise(edges)):
        raise SchemaError(
            Phrase(
                "column {name!r}: classes are two or more numbers from 0 on, each above the one before, got {edges!r}",
                name=name,
                edges=edges,
            )
        )
    return edges


@dataclass(frozen=True)
class Dropped:
    """A column that is never released: a name, an identifier, free text.

    Examples
    --------
    >>> import kakuran as kk
    >>> kk.Dropped("name").role
    'drop'
    """

    name: str
    role: Literal["drop"] = "drop"

    def __post_init__(self) -> None:
        _check_name(self.name)


Attribute: TypeAlias = Categorical | Numeric | Dropped


def check_declaration(attribute: Categorical | Numeric) -> None:
    """Refuse what no column can be; where a code stands for missing, missing is a category."""
    _check_name(attribute.name)
    if isinstance(attribute.missing_codes, str) or not isinstance(attribute.missing_codes, Iterable):
        raise SchemaError(
            Phrase(
                "column {name!r}: missing_codes must be a list, as [999]; got {missing_codes!r}",
                name=attribute.name,
                missing_codes=attribute.missing_codes,
            )
        )
    object.__setattr__(attribute, "missing_codes", tuple(attribute.missing_codes))
    if attribute.missing_codes and attribute.missing == "error":
        object.__setattr__(attribute, "missing", "category")
    for field, allowed in (("role", ("perturb", "keep")), ("missing", ("error", "category"))):
        value = getattr(attribute, field)
        if value not in allowed:
            raise SchemaError(
                Phrase(
                    "column {name!r}: {field} must be {one!r} or {other!r}, got {value!r}{instead}",
                    name=attribute.name,
                    field=field,
                    one=allowed[0],
                    other=allowed[1],
                    value=value,
                    instead=Phrase("; a column to leave out is Dropped(name)") if value == "drop" else "",
                )
            )


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise SchemaError(Phrase("a column needs a name, got {name!r}", name=name))
    _check_text(name, name)


def _check_text(name: str, text: str) -> None:
    if not is_writable(text):
        raise SchemaError(
            Phrase("column {name!r}: {text!r} has half a character in it; correct the text", name=name, text=text)
        )


def _plain_number(name: str, field: str, value: object) -> int | float:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e300 < value < 1e300:
        raise SchemaError(
            Phrase(
                "column {name!r}: {field} must be a finite number, got {value!r}", name=name, field=field, value=value
            )
        )
    return int(value) if float(value).is_integer() else value


def _exact(number: float) -> Fraction:
    """A number as the decimal fraction it is written as."""
    return Fraction(number if isinstance(number, int) else str(number))


def _round_up(number: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    magnitude = 10.0 ** math.floor(math.log10(number))
    return next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= number)


def describe(attribute: Attribute) -> dict[str, Any]:
    """An attribute as plain values."""
    if isinstance(attribute, Dropped):
        return {"role": "drop"}
    if isinstance(attribute, Weight):
        told: dict[str, Any] = {"role": "weight", "classes": list(attribute.classes), "values": list(attribute.values)}
        told |= {} if attribute.total is None else {"total": attribute.total}
        return told | ({"perturb": True} if attribute.role == "perturb" else {})
    settings = attribute.settings()
    if attribute.role != "perturb":
        settings["role"] = attribute.role
    if attribute.missing != "error" and not attribute.missing_codes:
        settings["missing"] = attribute.missing
    if attribute.missing_codes:
        settings["missing_codes"] = list(attribute.missing_codes)
    return settings


def attribute_of(name: str, given: Mapping[str, Any]) -> Attribute:
    """The inverse of `describe`."""
    from kakuran.schema.dates import Date  # which is a kind of number, and so knows this file

    kinds: dict[str, type[Categorical | Numeric]] = {"categorical": Categorical, "numeric": Numeric, "date": Date}
    where = Phrase("column {name!r}", name=name)
    if check_table(where, given).get("role") == "drop":
        return Dropped(name)
    if given.get("role") == "weight":
        known = dict.fromkeys(["role", "classes", "values", "total", "perturb"], ANYTHING)
        settings = check_settings(where, given, known, ["classes"])
        del settings["role"]
        return Weight(name, **settings)
    if given.get("role", "perturb") not in ("perturb", "keep"):
        raise SchemaError(
            Phrase(
                '{where}: role must be "perturb", "keep", "drop" or "weight", got {role!r}',
                where=where,
                role=given["role"],
            )
        )
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        raise SchemaError(
            Phrase('{where}: type must be "categorical", "numeric" or "date", got {kind!r}', where=where, kind=kind)
        )
    _, *declared = signature(kinds[kind]).parameters
    needed = {"categorical": ["values"], "date": ["low", "high"]}.get(
        kind, ["bands"] if "bands" in given else ["low", "high", "step"]
    )
    settings = check_settings(where, given, dict.fromkeys(["type", *declared], ANYTHING), needed)
    del settings["type"]
    if "tree" in settings:
        try:
            settings["tree"] = Tree(settings["tree"])
        except SchemaError as error:
            raise SchemaError(Phrase("{path}: {error}", path=where, error=error.said)) from error
    return kinds[kind](name, **settings)
