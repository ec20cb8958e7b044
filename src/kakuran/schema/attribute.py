"""What a column may hold and what is to be done with it.

Every value of a perturbed or kept column has a *code*: the position of a category in its list, the index
of a number on its grid. Mechanisms, counts and audits work on codes alone. TOML files and manifests hold
attributes as plain values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import SchemaError, is_real
from kakuran.parsing import ANYTHING, check_settings, check_table
from kakuran.schema.frames import is_writable
from kakuran.schema.tree import Tree
from kakuran.typing import Array

Missing: TypeAlias = Literal["error", "category"]
Value: TypeAlias = str | int | float | bool

LARGEST_GRID = 1 << 20
"""Grid points a number may have; noise is far coarser than a millionth of the range."""


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
        Whether their order means something.
    tree : Tree | None
        Groups of values, for hierarchical generalisation and tree distances.
    role : Literal["perturb", "keep"]
        ``"perturb"``, or ``"keep"`` for a column that is public anyway.
    missing : Missing
        ``"error"``, or ``"category"`` to treat a missing value as one more category.

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

    def __post_init__(self) -> None:
        _check_declaration(self)
        if isinstance(self.values, str | set | frozenset) or not isinstance(self.values, Iterable):
            raise SchemaError(f"column {self.name!r}: values must be a list, got {self.values!r}")
        plain = tuple(value.item() if isinstance(value, np.generic) else value for value in self.values)
        object.__setattr__(self, "values", plain)
        if not isinstance(self.ordered, bool):
            raise SchemaError(f"column {self.name!r}: ordered must be true or false, got {self.ordered!r}")
        self._check_values()

    def _check_values(self) -> None:
        if not self.values:
            raise SchemaError(f"column {self.name!r}: a category needs at least one value")
        kinds = {type(value) for value in self.values}
        if len(kinds) > 1 or not kinds <= {str, int, float, bool}:
            shown = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise SchemaError(
                f"column {self.name!r}: values must all be text, all numbers or all true/false, got {shown}"
            )
        for value in self.values:
            if isinstance(value, str):
                _check_text(self.name, value)
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise SchemaError(
                    f"column {self.name!r}: {value!r} has more than 64 bits and cannot be a category; make all text"
                )
            elif not math.isfinite(value):
                raise SchemaError(f"column {self.name!r}: {value!r} cannot be a category")
        repeated = [value for value, times in Counter(self.values).items() if times > 1]
        if repeated:
            raise SchemaError(f"column {self.name!r}: value {repeated[0]!r} is listed twice")
        if self.tree is not None:
            unplaced = [value for value in self.values if value not in self.tree.parents]
            if unplaced:
                raise SchemaError(
                    f"column {self.name!r}: the tree lacks the value {unplaced[0]!r}; place it under a parent"
                )

    @property
    def size(self) -> int:
        """Number of codes: the values, and one for missing where it is a category."""
        return len(self.values) + (self.missing == "category")


@dataclass(frozen=True)
class Numeric:
    """A column of numbers between public bounds, on a grid.

    Values are put on the nearest grid point before anything else happens to them, and only grid points are
    ever released: the low bits of a float would give the original away.

    Parameters
    ----------
    name : str
        What the column is called.
    low, high : float
        The bounds, from public knowledge and not from the data.
    step : float
        The grid; ``high − low`` must be a whole number of steps.
    role : Literal["perturb", "keep"]
        ``"perturb"``, or ``"keep"`` for a column that is public anyway.
    missing : Missing
        ``"error"``, or ``"category"`` to treat a missing value as one more value.

    Examples
    --------
    >>> import kakuran as kk
    >>> age = kk.Numeric("age", 0, 120, step=1)
    >>> age.size, age.span
    (121, 120)
    """

    name: str
    low: float
    high: float
    step: float
    role: Literal["perturb", "keep"] = "perturb"
    missing: Missing = "error"

    def __post_init__(self) -> None:
        _check_declaration(self)
        for field in ("low", "high", "step"):
            object.__setattr__(self, field, _plain_number(self.name, field, getattr(self, field)))
        if not self.low < self.high:
            raise SchemaError(f"column {self.name!r}: low must be below high, got {self.low} and {self.high}")
        if not self.step > 1e-200:
            raise SchemaError(f"column {self.name!r}: step must be above 0, got {self.step}")
        farthest = max(abs(self.low), abs(self.high))
        if farthest / self.step >= 2**52 or (self.is_whole and farthest >= FARTHEST):
            raise SchemaError(
                f"column {self.name!r}: numbers up to {farthest:g} cannot be told apart at a step of {self.step:g}; "
                "use a larger step or another unit"
            )
        steps = self._steps
        if steps.denominator != 1:
            raise SchemaError(
                f"column {self.name!r}: {self.low} to {self.high} is {float(steps):g} steps of {self.step}; "
                "choose bounds a whole number of steps apart"
            )
        if steps >= LARGEST_GRID:
            raise SchemaError(
                f"column {self.name!r}: {int(steps) + 1:,} grid points are more than {LARGEST_GRID:,}; "
                f"use a step of at least {_round_up(self.span / (LARGEST_GRID - 1)):g}"
            )

    @property
    def span(self) -> float:
        """high − low."""
        return self.high - self.low

    @cached_property
    def points(self) -> int:
        """Number of grid points."""
        return int(self._steps) + 1

    @cached_property
    def _steps(self) -> Fraction:
        return (_exact(self.high) - _exact(self.low)) / _exact(self.step)

    @property
    def size(self) -> int:
        """Number of codes: the grid points, and one for missing where it is a category."""
        return self.points + (self.missing == "category")

    @property
    def is_whole(self) -> bool:
        """Whether every grid point is a whole number."""
        return float(self.low).is_integer() and float(self.step).is_integer()

    def cells(self, count: int) -> NDArray[np.int64]:
        """Edges, in codes, of `count` cells as equal as the grid allows; a missing category is a cell of its own."""
        if not 1 <= count <= self.points:
            raise SchemaError(
                f"column {self.name!r} has {self.points:,} grid points; it cannot be cut into {count} cells"
            )
        edges = np.rint(np.linspace(0, self.points, count + 1)).astype(np.int64)
        return np.append(edges, self.size) if self.missing == "category" else edges

    def codes_of(self, numbers: Array) -> Array:
        """The nearest grid index of each number, as floats: out of range, NaN and infinity stay visible."""
        return np.rint((numbers - self.low) / self.step)

    def numbers_of(self, codes: NDArray[np.integer]) -> NDArray[np.int64] | Array:
        """The grid points of codes, which may lie beyond the bounds."""
        if self.is_whole:
            return codes.astype(np.int64) * int(self.step) + int(self.low)
        low, step = _exact(self.low), _exact(self.step)
        shared = math.lcm(low.denominator, step.denominator)
        # Whole numerators over one denominator: 0.1 × 3 comes out as 0.3, and depends on the code alone.
        return (codes.astype(np.float64) * int(step * shared) + int(low * shared)) / shared


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

    def __init__(
        self, name: str, classes: Sequence[float], values: Sequence[float] | None = None, *, perturb: bool = False
    ) -> None:
        _check_name(name)
        if not isinstance(perturb, bool):
            raise SchemaError(f"column {name!r}: perturb must be true or false, got {perturb!r}")
        edges = _ascending(name, classes)
        middles = tuple((low + high) / 2 for low, high in pairwise(edges)) if values is None else tuple(values)
        if len(middles) != len(edges) - 1 or not all(
            is_real(one) and low <= one <= high for one, (low, high) in zip(middles, pairwise(edges), strict=True)
        ):
            raise SchemaError(f"column {name!r}: values must name a number in each of its classes, got {middles!r}")
        settings = {"values": tuple(map(float, middles)), "ordered": False, "tree": None, "missing": "error"}
        role = "perturb" if perturb else "keep"
        for field, value in ({"name": name, "role": role, "classes": edges} | settings).items():
            object.__setattr__(self, field, value)
        self._check_values()


def _ascending(name: str, classes: object) -> tuple[float, ...]:
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise SchemaError(f"column {name!r}: classes must be a list of numbers, got {classes!r}")
    edges = tuple(_plain_number(name, "classes", edge) for edge in classes)
    if len(edges) < 2 or edges[0] < 0 or any(low >= high for low, high in pairwise(edges)):
        raise SchemaError(
            f"column {name!r}: classes are two or more numbers from 0 on, each above the one before, got {edges!r}"
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


def _check_declaration(attribute: Categorical | Numeric) -> None:
    _check_name(attribute.name)
    for field, allowed in (("role", ("perturb", "keep")), ("missing", ("error", "category"))):
        value = getattr(attribute, field)
        if value not in allowed:
            raise SchemaError(
                f"column {attribute.name!r}: {field} must be {allowed[0]!r} or {allowed[1]!r}, got {value!r}"
                + ("; a column to leave out is Dropped(name)" if value == "drop" else "")
            )


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise SchemaError(f"a column needs a name, got {name!r}")
    _check_text(name, name)


def _check_text(name: str, text: str) -> None:
    if not is_writable(text):
        raise SchemaError(f"column {name!r}: {text!r} has half a character in it; correct the text")


def _plain_number(name: str, field: str, value: object) -> int | float:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e300 < value < 1e300:
        raise SchemaError(f"column {name!r}: {field} must be a finite number, got {value!r}")
    return int(value) if float(value).is_integer() else value


def _exact(number: float) -> Fraction:
    """A number as the decimal fraction it is written as."""
    return Fraction(number if isinstance(number, int) else str(number))


def _round_up(number: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    magnitude = 10.0 ** math.floor(math.log10(number))
    return next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= number)


_KINDS: dict[str, type[Categorical | Numeric]] = {"categorical": Categorical, "numeric": Numeric}


def describe(attribute: Attribute) -> dict[str, Any]:
    """An attribute as plain values."""
    if isinstance(attribute, Dropped):
        return {"role": "drop"}
    if isinstance(attribute, Weight):
        told = {"role": "weight", "classes": list(attribute.classes), "values": list(attribute.values)}
        return told | ({"perturb": True} if attribute.role == "perturb" else {})
    settings: dict[str, Any]
    if isinstance(attribute, Categorical):
        settings = {"type": "categorical", "values": list(attribute.values)}
        if attribute.ordered:
            settings["ordered"] = True
        if attribute.tree is not None:
            settings["tree"] = {parent: list(kids) for parent, kids in attribute.tree.children.items()}
    else:
        settings = {"type": "numeric", "low": attribute.low, "high": attribute.high, "step": attribute.step}
    if attribute.role != "perturb":
        settings["role"] = attribute.role
    if attribute.missing != "error":
        settings["missing"] = attribute.missing
    return settings


def attribute_of(name: str, given: Mapping[str, Any]) -> Attribute:
    """The inverse of `describe`."""
    where = f"column {name!r}"
    if check_table(where, given).get("role") == "drop":
        return Dropped(name)
    if given.get("role") == "weight":
        known = dict.fromkeys(["role", "classes", "values", "perturb"], ANYTHING)
        settings = check_settings(where, given, known, ["classes"])
        del settings["role"]
        return Weight(name, **settings)
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise SchemaError(f'{where}: type must be "categorical" or "numeric", got {kind!r}')
    _, *declared = fields(_KINDS[kind])
    needed = [field.name for field in declared if field.default is MISSING]
    known = dict.fromkeys(["type", *(field.name for field in declared)], ANYTHING)
    settings = check_settings(where, given, known, needed)
    del settings["type"]
    if "tree" in settings:
        try:
            settings["tree"] = Tree(settings["tree"])
        except SchemaError as error:
            raise SchemaError(f"{where}: {error}") from error
    return _KINDS[kind](name, **settings)
