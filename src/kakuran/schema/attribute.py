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
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import SchemaError
from kakuran.parsing import ANYTHING, check_settings, check_table
from kakuran.schema.frames import is_writable
from kakuran.schema.tree import Tree
from kakuran.typing import Array

Missing: TypeAlias = Literal["error", "category"]
Value: TypeAlias = str | int | float | bool

LARGEST_GRID = 1 << 20
"""Grid points a number may have; noise is far coarser than a millionth of the range."""


ONE_VALUE = "one value only, so perturbing cannot hide anything; list its other values, keep it, or drop it"
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
        Whether their order means something.
    tree : Tree | None
        Groups of values, for hierarchical generalisation and tree distances.
    role : Literal["perturb", "keep"]
        ``"perturb"``, or ``"keep"`` for a column that is public anyway.
    missing : Missing
        ``"error"``, or ``"category"`` to treat a missing value as one more category.
    coded : Sequence[float] | None
        The numbers that stand for the values in files of SPSS and Stata, one each; 1, 2, … by default.

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
    coded: Sequence[float] | None = None

    def __post_init__(self) -> None:
        _check_declaration(self)
        if isinstance(self.values, str | set | frozenset) or not isinstance(self.values, Iterable):
            raise SchemaError(f"column {self.name!r}: values must be a list, got {self.values!r}")
        plain = tuple(value.item() if isinstance(value, np.generic) else value for value in self.values)
        object.__setattr__(self, "values", plain)
        if not isinstance(self.ordered, bool):
            raise SchemaError(f"column {self.name!r}: ordered must be true or false, got {self.ordered!r}")
        self._check_values()
        if self.coded is not None:
            self._check_coded(self.coded)

    def _check_coded(self, coded: Sequence[float]) -> None:
        is_listed = isinstance(coded, Iterable) and not isinstance(coded, str | set | frozenset)
        numbers = tuple(_plain_number(self.name, "coded", one) for one in coded) if is_listed else ()
        if len(set(numbers)) != len(self.values) or len(numbers) != len(self.values):
            raise SchemaError(f"column {self.name!r}: coded must be one number for each value, got {coded!r}")
        object.__setattr__(self, "coded", numbers)

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
    settings: dict[str, Any]
    if isinstance(attribute, Categorical):
        settings = {"type": "categorical", "values": list(attribute.values)}
        if attribute.ordered:
            settings["ordered"] = True
        if attribute.tree is not None:
            settings["tree"] = {parent: list(kids) for parent, kids in attribute.tree.children.items()}
        if attribute.coded is not None:
            settings["coded"] = list(attribute.coded)
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
