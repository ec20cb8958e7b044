"""Conditions on records, as an analyst writes them: ``25 <= age <= 40 and job == 'nurse'``.

A condition is parsed as a Python expression, never run. Each comparison is one column with one constant, so it is
a set of that column's codes; `and`, `or`, `not` combine them. A column whose name is no Python name stands in
backticks: `` `marital status` == 'single' ``. A missing value fulfils no comparison (so it fulfils ``not job == 'x'``);
ask for it with ``job is None``.
"""

from __future__ import annotations

import ast
import operator
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import SchemaError
from kakuran.parsing import ALONE
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.words import Phrase

Truth: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Condition:
    """One comparison: the codes of a column for which it holds."""

    name: str
    holds: Truth


Combine: TypeAlias = Callable[[Callable[[Condition], Truth]], Truth]
"""The truth of a whole condition, given that of each of its comparisons."""


@dataclass(frozen=True, eq=False)
class Predicate:
    """A condition on records: comparisons, and how they combine."""

    text: str
    conditions: tuple[Condition, ...]
    combine: Combine

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it speaks of, in order."""
        return tuple(dict.fromkeys(condition.name for condition in self.conditions))

    def on(self, name: str) -> tuple[Condition, ...]:
        """Its comparisons with one column."""
        return tuple(condition for condition in self.conditions if condition.name == name)


def parse(text: str, schema: Schema) -> Predicate:
    """The predicate that a text means for the columns of a schema.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.counts import parse
    >>> schema = kk.Schema([kk.Numeric("age", 0, 4, step=1), kk.Categorical("job", ["clerk", "nurse"])])
    >>> predicate = parse("1 <= age < 3 or not job == 'nurse'", schema)
    >>> predicate.columns
    ('age', 'job')
    >>> [condition.holds.tolist() for condition in predicate.on("job")]
    [[False, True]]
    """
    if not isinstance(text, str):
        raise SchemaError(Phrase("a condition is a text; {example}; got {text!r}", example=_EXAMPLE, text=text))
    plain, names = _without_backticks(text)
    reader = _ConditionReader(text, schema, _spellings(schema) | names)
    try:
        combine = reader.read(reader.syntax(plain))
    except (RecursionError, MemoryError):
        raise SchemaError(
            Phrase("cannot read the condition {text!r}…: it is nested too deeply", text=text[:40])
        ) from None
    return Predicate(text, tuple(reader.conditions), combine)


_ORDERINGS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_PLACE = "column"
_EXAMPLE = Phrase("write it as 25 <= age <= 40 and job == 'nurse'")
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


class _ConditionReader:
    """Reads one expression; collects its comparisons on the way."""

    def __init__(self, text: str, schema: Schema, names: dict[str, str]) -> None:
        self.text = text
        self.schema = schema
        self.names = names
        self.conditions: list[Condition] = []

    def syntax(self, plain: str) -> ast.expr:
        try:
            with ALONE:
                return ast.parse(plain.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            hint = Phrase("; equality is written ==") if re.search(r"[^<>=!]=[^=]", self.text) else ""
            raise self._error(
                Phrase("{error}{hint}; {example}", error=error.args[0], hint=hint, example=_EXAMPLE)
            ) from error

    def read(self, node: ast.expr) -> Combine:
        if isinstance(node, ast.BoolOp):
            parts = [self.read(value) for value in node.values]
            together = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return lambda truth: _reduced(together, (part(truth) for part in parts))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.read(node.operand)
            return lambda truth: ~inner(truth)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            links = [self._link(*link) for link in zip(sides, node.ops, sides[1:], strict=False)]
            return lambda truth: _reduced(np.logical_and, (truth(link) for link in links))
        if isinstance(node, ast.Name):
            flag = self._condition(node, ast.Eq(), True)
            return lambda truth: truth(flag)
        raise self._error(Phrase("use comparisons of a column with a value, joined by and, or, not"))

    def _link(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Condition:
        if isinstance(left, ast.Name) and not isinstance(right, ast.Name):
            return self._condition(left, sign, self._constant(right))
        if isinstance(right, ast.Name) and not isinstance(left, ast.Name | ast.List | ast.Tuple | ast.Set):
            return self._condition(right, _TURNED.get(type(sign), type(sign))(), self._constant(left))
        if isinstance(left, ast.Name) and isinstance(right, ast.Name) and self._is_text(right):
            named, word = (self.names.get(one.id, one.id) for one in (left, right))
            column = named if named.isidentifier() else f"`{named}`"
            meant = ast.unparse(ast.Compare(ast.Name(_PLACE), [sign], [ast.Constant(word)])).replace(_PLACE, column, 1)
            raise self._error(
                Phrase("{word} is no column; a text stands in quotes, as in {meant}", word=word, meant=meant)
            )
        raise self._error(Phrase("each comparison needs one column and one value; {example}", example=_EXAMPLE))

    def _is_text(self, word: ast.Name) -> bool:
        return self.names.get(word.id, word.id) not in self.schema.names

    def _condition(self, column: ast.Name, sign: ast.cmpop, value: Any) -> Condition:
        name = self.names.get(column.id, column.id)
        attribute = self.schema.in_release(name)
        condition = Condition(name, self._holds(attribute, sign, value))
        self.conditions.append(condition)
        return condition

    def _holds(self, attribute: Categorical | Numeric, sign: ast.cmpop, value: Any) -> Truth:
        """For which codes the comparison is true."""
        if isinstance(sign, ast.NotEq | ast.NotIn | ast.IsNot):
            positive = {ast.NotEq: ast.Eq, ast.NotIn: ast.In, ast.IsNot: ast.Is}[type(sign)]()
            equal = self._holds(attribute, positive, value)
            return ~equal & (np.arange(attribute.size) < _present(attribute)) if value is not None else ~equal
        if isinstance(sign, ast.In):
            if not isinstance(value, list) or not value:
                raise self._error(Phrase("'in' needs a list of values"))
            return _reduced(np.logical_or, (self._holds(attribute, ast.Eq(), one) for one in value))
        if isinstance(value, list):
            raise self._error(Phrase("a list of values goes with 'in'"))
        if value is None or isinstance(sign, ast.Is):
            return self._is_missing(attribute, sign, value)
        holds = np.zeros(attribute.size, bool)
        holds[: _present(attribute)] = (
            self._categories(attribute, sign, value)
            if isinstance(attribute, Categorical)
            else self._numbers(attribute, sign, value)
        )
        return holds

    def _is_missing(self, attribute: Categorical | Numeric, sign: ast.cmpop, value: Any) -> Truth:
        if value is not None or not isinstance(sign, ast.Is | ast.Eq):
            raise self._error(Phrase("'is' asks for missing values only, as in 'column is None'"))
        if attribute.missing != "category":
            raise SchemaError(
                Phrase("column {name!r} has no missing values in {text!r}", name=attribute.name, text=self.text)
            )
        return np.arange(attribute.size) >= _present(attribute)

    def _categories(self, attribute: Categorical, sign: ast.cmpop, value: Any) -> Truth:
        if isinstance(sign, ast.Eq) or attribute.ordered:
            place = self._place(attribute, value)
            order: NDArray[Any] = np.arange(len(attribute.values))
            return np.asarray(order == place if isinstance(sign, ast.Eq) else _ORDERINGS[type(sign)](order, place))
        if isinstance(attribute.values[0], str | bool) or isinstance(value, str | bool):
            raise SchemaError(
                Phrase(
                    "column {name!r} has no order in {text!r}; ask with == or in, or declare ordered = true in "
                    "the schema",
                    name=attribute.name,
                    text=self.text,
                )
            )
        return np.asarray(_ORDERINGS[type(sign)](np.array(attribute.values), value))

    def _place(self, attribute: Categorical, value: Any) -> int:
        if value not in attribute.values or isinstance(value, bool) != isinstance(attribute.values[0], bool):
            shown = ", ".join(map(repr, attribute.values[:8])) + (", …" if len(attribute.values) > 8 else "")
            bare = Phrase("; write it without quotes") if value in map(str, attribute.values) else ""
            if value is True:  # a column by itself asks whether it is true
                bare = Phrase(
                    "; ask for one of them, as in {asked}", asked=f"{attribute.name} == {attribute.values[-1]!r}"
                )
            raise SchemaError(
                Phrase(
                    "column {name!r} has no value {value!r}; its values are {shown}{bare}",
                    name=attribute.name,
                    value=value,
                    shown=shown,
                    bare=bare,
                )
            )
        return attribute.values.index(value)

    def _numbers(self, attribute: Numeric, sign: ast.cmpop, value: Any) -> Truth:
        names = attribute.names_of(0)
        if names is not None and value in names and isinstance(sign, ast.Eq):
            return np.arange(attribute.points) == names.index(value)
        try:
            number = attribute.number_of(value)
        except SchemaError as error:
            raise SchemaError(Phrase("{error} in {text!r}", error=error.said, text=self.text)) from None
        if not attribute.low <= number <= attribute.high:
            low, high = attribute.written(attribute.low), attribute.written(attribute.high)
            raise SchemaError(
                Phrase(
                    "column {name!r} lies between {low} and {high}; {value!r} in {text!r} is outside",
                    name=attribute.name,
                    low=low,
                    high=high,
                    value=value,
                    text=self.text,
                )
            )
        first, last = attribute.ends_of(np.arange(attribute.points))
        if isinstance(sign, ast.Eq):
            return self._equal(attribute, first, last, value, number)
        holds: Truth = np.asarray(_ORDERINGS[type(sign)](first, number))
        self._check_whole(attribute, holds != _ORDERINGS[type(sign)](last, number), value)
        return holds

    def _equal(self, attribute: Numeric, first: Any, last: Any, value: Any, number: float) -> Truth:
        tolerance = 1e-9 * attribute.step
        holds: Truth = (first <= number + tolerance) & (number - tolerance <= last)
        if not holds.any():
            raise SchemaError(
                Phrase(
                    "column {name!r} goes from {low} in steps of {step}; {value!r} in {text!r} lies between "
                    "two of them",
                    name=attribute.name,
                    low=attribute.low,
                    step=attribute.step,
                    value=value,
                    text=self.text,
                )
            )
        is_named = number == first[holds][0] and isinstance(value, str)  # a period is called by its first day
        self._check_whole(attribute, holds & (first < last) & (not is_named), value)
        return holds

    def _check_whole(self, attribute: Numeric, cut: Truth, value: Any) -> None:
        """Refuse a comparison that cuts through a band."""
        if cut.any():
            code = int(np.argmax(cut))
            raise SchemaError(
                Phrase(
                    "column {name!r} tells nothing finer than {label}, which {value!r} in {text!r} cuts "
                    "through; compare with where one begins, using < or >=",
                    name=attribute.name,
                    label=attribute.label(code, code),
                    value=value,
                    text=self.text,
                )
            )

    def _constant(self, node: ast.expr) -> Any:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError):
            raise self._error(
                Phrase("each comparison needs one column and one value; {example}", example=_EXAMPLE)
            ) from None
        if isinstance(value, tuple | set | list):
            return list(value)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise self._error(Phrase("{value!r} is no value a column can have", value=value))

    def _error(self, why: str) -> SchemaError:
        return SchemaError(Phrase("cannot read the condition {text!r}: {why}", text=self.text, why=why))


def _present(attribute: Categorical | Numeric) -> int:
    """Codes below this stand for values; the one above, if any, for missing."""
    return attribute.size - (attribute.missing == "category")


def _reduced(together: Any, parts: Iterator[Truth]) -> Truth:
    result = next(parts)
    for part in parts:
        result = together(result, part)
    return result


def _without_backticks(text: str) -> tuple[str, dict[str, str]]:
    """The text with names in backticks replaced by plain ones, and what those stand for."""
    names: dict[str, str] = {}

    def plain(found: re.Match[str]) -> str:
        if found.group(1) is None:
            return found.group()
        names[f"__column_{len(names)}"] = found.group(1)
        return f"__column_{len(names) - 1}"

    return re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`([^`]+)`", plain, text), names


def _spellings(schema: Schema) -> dict[str, str]:
    """The column that a Python name stands for: Python reads ｔａｘ and tax as the same name."""
    return {unicodedata.normalize("NFKC", name): name for name in schema.names} | {name: name for name in schema.names}
