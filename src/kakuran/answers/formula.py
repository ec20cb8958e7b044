"""Formulas as statisticians write them, ``hours ~ age + sex``, as functions of the columns of a release."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kakuran.answers.filling import BandFilling, numbers_at
from kakuran.answers.groups import ReadNumber
from kakuran.answers.reader import Reader
from kakuran.counts import Cells, every_code
from kakuran.errors import SchemaError, needing
from kakuran.model import ToldCells, unbiased
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Dropped, Numeric, Schema
from kakuran.typing import Array
from kakuran.words import Phrase

MISSING = "missing"
"""What a missing category is called in a formula."""
_ALLOWED = {"I": None, "C": None, "log": np.log, "exp": np.exp, "sqrt": np.sqrt}
_EXAMPLE = Phrase("write it as hours ~ age + sex, and names that hold blanks or signs in backticks: `birth year`")
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class ModelFormula:
    """What is regressed on what.

    Attributes
    ----------
    text : str
        As it was written.
    target : Categorical | Numeric
        The column that is explained.
    predictors : tuple[Categorical | Numeric, ...]
        The columns that explain it.
    names : tuple[str, ...]
        Of the coefficients.
    owners : tuple[frozenset[str], ...]
        The columns that each of them goes with; none for the intercept.
    """

    text: str
    target: Categorical | Numeric
    predictors: tuple[Categorical | Numeric, ...]
    names: tuple[str, ...]
    owners: tuple[frozenset[str], ...]
    _spec: Any
    _target_spec: Any

    @classmethod
    def of(cls, text: str, schema: Schema) -> ModelFormula:
        """Read a formula; functions that would have to look at all records first are refused."""
        with needing(Phrase("a formula"), "regress"):
            from formulaic import Formula
            from formulaic.errors import FormulaicError
        if not isinstance(text, str):
            raise SchemaError(Phrase("a formula is a text; {example}; got {text!r}", example=_EXAMPLE, text=text))
        try:
            read = Formula(text)
        except (FormulaicError, SyntaxError, ValueError) as error:
            raise SchemaError(
                Phrase(
                    "cannot read the formula {text!r}: {why}; {example}",
                    text=text,
                    why=str(error).splitlines()[0],
                    example=_EXAMPLE,
                )
            ) from None
        if not hasattr(read, "lhs") or not hasattr(read, "rhs") or len(list(read.lhs)) != 1:
            raise SchemaError(
                Phrase(
                    "the formula {text!r} needs one column to explain and others to explain it; {example}",
                    text=text,
                    example=_EXAMPLE,
                )
            )
        for part in (*read.lhs, *read.rhs):
            _check_expressions(text, part, schema)
        (target,) = _columns_of(text, read.lhs, schema)
        predictors = _columns_of(text, read.rhs, schema)
        if target in predictors:
            raise SchemaError(
                Phrase(
                    "column {name!r} cannot explain itself in {text!r}; leave it out on one side",
                    name=target.name,
                    text=text,
                )
            )
        every = _every_value([target, *predictors])
        try:
            with np.errstate(all="ignore"):
                spec, target_spec = (
                    part.get_model_matrix(every, context=_context(), output="numpy", na_action="ignore").model_spec
                    for part in (read.rhs, _without_intercept(read.lhs))
                )
        except FormulaicError as error:
            raise SchemaError(
                Phrase(
                    "cannot use the formula {text!r}: {why}; {example}",
                    text=text,
                    why=str(error).splitlines()[0],
                    example=_EXAMPLE,
                )
            ) from None
        if isinstance(target, Categorical) and str(next(iter(read.lhs))).strip("`") != target.name:
            raise SchemaError(
                Phrase("name the categories to explain as they are, {name!r}, in {text!r}", name=target.name, text=text)
            )
        named = {attribute.name for attribute in predictors}
        owners: list[frozenset[str]] = [frozenset()] * len(spec.column_names)
        for term, places in spec.term_indices.items():
            for place in places:
                owners[place] = frozenset(map(str, spec.term_variables[term])) & named
        return cls(text, target, tuple(predictors), tuple(spec.column_names), tuple(owners), spec, target_spec)

    @cached_property
    def columns(self) -> tuple[Categorical | Numeric, ...]:
        """The target and all others."""
        return self.target, *self.predictors

    @property
    def is_additive(self) -> bool:
        """Whether every term is about one column."""
        return all(len(owners) <= 1 for owners in self.owners)

    def matrix(self, values: Mapping[str, Array]) -> Array:
        """The predictors of records, records × coefficients: of numbers as they are, of categories by their codes."""
        return self._evaluated(self._spec, self.predictors, values)

    def explained(self, values: Array) -> Array:
        """The target of records as the formula has it, if it is a number."""
        return self._evaluated(self._target_spec, [self.target], {self.target.name: values})[:, 0]

    def functions(self, name: str, values: Array) -> Array:
        """Of one predictor, what it is multiplied with each coefficient of its own as: coefficients × values."""
        others = {one.name: np.full(len(values), _first(one)) for one in self.predictors}
        mine = [place for place, owners in enumerate(self.owners) if owners == {name}]
        return self.matrix(others | {name: values})[:, mine].T

    def _evaluated(self, spec: Any, columns: Sequence[Categorical | Numeric], values: Mapping[str, Array]) -> Array:
        frame = _frame(columns, values)
        with np.errstate(all="ignore"):
            found = np.asarray(spec.get_model_matrix(frame, context=_context()), float)
        if not np.isfinite(found).all():
            raise SchemaError(
                Phrase("the formula {text!r} has no value for some numbers, as a logarithm of zero", text=self.text)
            )
        return found


def _check_expressions(text: str, term: Any, schema: Schema) -> None:
    """Refuse anything but columns, arithmetic and a few functions of a single number."""
    for factor in term.factors:
        if factor.expr in schema.names or factor.expr == "1" or factor.expr == "0":
            continue
        try:
            nodes = list(ast.walk(ast.parse(_without_backticks(factor.expr), mode="eval")))
        except SyntaxError:
            raise SchemaError(
                Phrase(
                    "cannot read {part!r} in the formula {text!r}; {example}",
                    part=factor.expr,
                    text=text,
                    example=_EXAMPLE,
                )
            ) from None
        for node in nodes:
            if isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.func.id not in _ALLOWED):
                raise SchemaError(
                    Phrase(
                        "the formula {text!r} may use {allowed}, which look at one record at a time; not {call!r}",
                        text=text,
                        allowed=", ".join(_ALLOWED),
                        call=ast.unparse(node.func),
                    )
                )
            if isinstance(node, ast.Attribute | ast.Subscript | ast.Lambda | ast.comprehension):
                raise SchemaError(
                    Phrase(
                        "the formula {text!r} may hold columns, arithmetic and {allowed} only",
                        text=text,
                        allowed=", ".join(_ALLOWED),
                    )
                )


def _without_backticks(expression: str) -> str:
    parts = expression.split("`")
    return "".join(part if place % 2 == 0 else "__column" for place, part in enumerate(parts))


def _context() -> dict[str, Any]:
    return {name: function for name, function in _ALLOWED.items() if function is not None}


def _columns_of(text: str, part: Any, schema: Schema) -> list[Categorical | Numeric]:
    """The columns of one side of a formula, in their order."""
    found = []
    for name in dict.fromkeys(str(one) for term in part for one in sorted(_variables(term))):
        if name not in schema.names:
            names = (attribute.name for attribute in schema.released)
            shown = ", ".join(name if name.isidentifier() else f"`{name}`" for name in names)
            raise SchemaError(
                Phrase(
                    "the formula {text!r} speaks of {name!r}, which is no column; there are {shown}",
                    text=text,
                    name=name,
                    shown=shown,
                )
            )
        if isinstance(schema[name], Dropped):
            raise SchemaError(
                Phrase(
                    "the formula {text!r} speaks of {name!r}, which was dropped: nothing of it was released",
                    text=text,
                    name=name,
                )
            )
        attribute = schema.in_release(name)
        if isinstance(attribute, Numeric) and attribute.missing == "category":
            raise SchemaError(
                Phrase(
                    "column {name!r} may be missing, and a regression needs numbers that everybody has: how "
                    "others go together among those who have it takes three columns at once, and two are told "
                    "well. Leave it out of {text!r}, or ask for mean({name!r}, by=…), which is of those who "
                    "have it",
                    name=name,
                    text=text,
                )
            )
        found.append(attribute)
    return found


def _variables(term: Any) -> set[str]:
    from formulaic import Formula

    return {str(name) for name in Formula([term]).required_variables}


def _without_intercept(side: Any) -> Any:
    from formulaic import Formula

    return Formula(list(side))


def _first(attribute: Categorical | Numeric) -> float:
    return 0.0 if isinstance(attribute, Categorical) else (attribute.low + attribute.high) / 2


def _every_value(columns: Sequence[Categorical | Numeric]) -> Any:
    """A frame in which every category occurs."""
    length = max(2, *(attribute.size for attribute in columns if isinstance(attribute, Categorical)), 2)
    values = {
        attribute.name: np.arange(length) % attribute.size
        if isinstance(attribute, Categorical)
        else np.linspace(attribute.low, attribute.high, length)
        for attribute in columns
    }
    return _frame(columns, values)


def _frame(columns: Sequence[Categorical | Numeric], values: Mapping[str, Any]) -> Any:
    import pandas as pd

    made = {}
    for attribute in columns:
        some = values[attribute.name]
        if isinstance(attribute, Categorical):
            labels = [*map(str, attribute.values), *([MISSING] if attribute.missing == "category" else [])]
            made[attribute.name] = pd.Categorical.from_codes(np.asarray(some, int), categories=labels)
        else:
            made[attribute.name] = np.asarray(some, float)
    return pd.DataFrame(made)


@dataclass(frozen=True, eq=False)
class FormulaColumns:
    """The columns of a formula as functions of their cells: the target first.

    A basis holds 1, what the formula makes of a column, scaled, and products of two of these that are something new, so
    that every second moment is a sum of moments of the bases.
    """

    read: ModelFormula
    cells: tuple[Cells, ...]
    bases: tuple[Array, ...]
    firsts: tuple[int, ...]
    """How many functions of each basis, after the 1, the formula itself has."""
    scales: tuple[tuple[Array, Array], ...]
    """What was taken off these, and what they were divided by."""

    @classmethod
    def of(cls, reader: Reader, read: ModelFormula, heaped: Mapping[str, BandFilling] | None = None) -> FormulaColumns:
        """The columns as they were perturbed; terms of which no coefficient can be told are refused.

        People lie smoothly in bands, unless it is said how else.
        """
        cells = tuple(_fine_cells(reader, attribute) for attribute in read.columns)
        fillings = {**reader.fillings(attribute.name for attribute in read.columns), **(heaped or {})}
        bases, firsts, scales = [], [], []
        for attribute, axis in zip(read.columns, cells, strict=True):
            functions = _functions(read, attribute, _values(attribute, axis, fillings))
            middle = (functions.max(axis=1) + functions.min(axis=1)) / 2
            half = np.maximum((functions.max(axis=1) - functions.min(axis=1)) / 2, _SINGULAR)
            if isinstance(attribute, Categorical):
                middle, half = np.zeros(len(functions)), np.ones(len(functions))
            scaled = (functions - middle[:, None]) / half[:, None]
            bases.append(_with_products(scaled))
            firsts.append(len(functions))
            scales.append((middle, half))
        found = cls(read, cells, tuple(bases), tuple(firsts), tuple(scales))
        _check_terms(found)
        _check_rank(read)
        return found

    def check_is_clear(self, told: Sequence[ToldCells]) -> None:
        """Refuse functions of which noise leaves too little to see them by inverting it."""
        for one in told:
            for axis, transition in zip(one.axes, one.operator.transitions, strict=True):
                if transition is not None and not transition.is_identity and transition.condition > 1:
                    found = transition.adjoint(unbiased(transition, self.bases[axis]), 1)
                    if not np.allclose(found, self.bases[axis], atol=1e-3):
                        name = self.cells[axis].name
                        raise SchemaError(
                            Phrase(
                                "the noise on {name!r} leaves nothing of what {text!r} makes of it; use the "
                                "number itself, or its square",
                                name=name,
                                text=self.read.text,
                            )
                        )

    @cached_property
    def own(self) -> list[tuple[int, int]]:
        """The functions that the formula itself has: of which column, and where in its basis."""
        return [(column, 1 + place) for column, count in enumerate(self.firsts) for place in range(count)]

    @cached_property
    def design(self) -> tuple[Array, Array]:
        """The target, and the coefficients' predictors, as sums of 1 and those functions."""
        places = {pair: 1 + place for place, pair in enumerate(self.own)}
        predictors = np.zeros((len(self.read.names), 1 + len(self.own)))
        taken = dict.fromkeys(range(len(self.cells)), 0)
        named = [attribute.name for attribute in self.read.columns]
        for row, owners in zip(predictors, self.read.owners, strict=True):
            if not owners:
                row[0] = 1.0
                continue
            column = named.index(next(iter(owners)))
            function = taken[column]
            taken[column] += 1
            middle, half = self.scales[column]
            row[0], row[places[column, 1 + function]] = middle[function], half[function]
        targets = np.zeros((self.firsts[0], 1 + len(self.own)))
        for function in range(self.firsts[0]):
            middle, half = self.scales[0]
            targets[function, 0], targets[function, places[0, 1 + function]] = middle[function], half[function]
        return targets, predictors

    def name(self, chosen: Sequence[tuple[int, int]]) -> tuple[int, ...]:
        """What the moment of a product of functions is called."""
        name = [0] * len(self.cells)
        for column, function in chosen:
            name[column] = function
        return tuple(name)


def _fine_cells(reader: Reader, attribute: Categorical | Numeric) -> Cells:
    if isinstance(attribute, Categorical):
        return every_code(attribute)
    return ReadNumber.number(reader, attribute.name, 1).cells


def _values(attribute: Categorical | Numeric, axis: Cells, fillings: Mapping[str, BandFilling]) -> Array:
    """The codes of categories, the numbers in the middle of cells."""
    if isinstance(attribute, Categorical):
        return np.arange(attribute.size).astype(float)
    first, last = (numbers_at(attribute, codes, fillings) for codes in (axis.edges[:-1], axis.edges[1:] - 1))
    return (first + last) / 2


def _functions(read: ModelFormula, attribute: Categorical | Numeric, values: Array) -> Array:
    """What the formula makes of a column: functions × values."""
    if attribute is not read.target:
        return read.functions(attribute.name, values)
    if isinstance(attribute, Categorical):
        return np.eye(attribute.size)[1:]
    return read.explained(values)[None]


def _with_products(functions: Array) -> Array:
    """1, functions, and the products of two of them that are no sum of those before."""
    basis = np.vstack([np.ones(functions.shape[1]), functions])
    for one in range(len(functions)):
        for other in range(one, len(functions)):
            product = functions[one] * functions[other]
            if not np.allclose(expressed(basis, product) @ basis, product, atol=1e-9):
                basis = np.vstack([basis, product])
    return basis


def expressed(basis: Array, function: Array) -> Array:
    """How much of each function of a basis makes up another function."""
    return np.asarray(np.linalg.lstsq(basis.T, function, rcond=None)[0], float)


def _check_terms(columns: FormulaColumns) -> None:
    read = columns.read
    if len(read.columns) == 1:
        raise SchemaError(
            Phrase(
                "no column explains anything in {text!r}; ask for the mean or the share of its target", text=read.text
            )
        )
    for attribute, functions in zip(read.columns, columns.firsts, strict=True):
        if not functions:
            raise SchemaError(
                Phrase(
                    "column {name!r} stands only in products in {text!r}; write it by itself, too: a * b",
                    name=attribute.name,
                    text=read.text,
                )
            )


def _check_rank(read: ModelFormula) -> None:
    """Refuse predictors of which one follows from others whatever the records are."""
    dice = Randomness.derived(b"singular").generator()
    rows = 20 * len(read.names) + 200
    values = {
        one.name: dice.integers(0, one.size, rows).astype(float)
        if isinstance(one, Categorical)
        else np.asarray(one.numbers_of(dice.integers(0, one.points, rows)), float)
        for one in read.predictors
    }
    matrix = read.matrix(values)
    matrix = matrix / np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    for column in range(1, matrix.shape[1] + 1):
        if np.linalg.matrix_rank(matrix[:, :column], tol=1e-8 * math.sqrt(rows)) < column:
            raise SchemaError(
                Phrase(
                    "{term!r} in {text!r} follows from the other terms, so that no coefficient of it can be "
                    "told; leave it out",
                    term=read.names[column - 1],
                    text=read.text,
                )
            )
