"""Which columns a record may tell (maths §10): sets of them, from how a person says it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

from kakuran.design.plan import Tell
from kakuran.errors import CalibrationError, which_there_are
from kakuran.mechanism import Neighbourhood, Together
from kakuran.schema import Schema

TellChoice: TypeAlias = Literal["all"] | int | Sequence[Sequence[str]]
"""Whole records; so many columns of each; or these sets of columns."""
ColumnSets: TypeAlias = tuple[tuple[str, ...], ...]

MOST_CELLS = 1 << 24
"""Values that columns told together may have."""
MOST_TELLS = 5_000


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
            raise CalibrationError(f'tell must be "all", a number of columns or a list of column sets, got {tell!r}')
        if about is not None:
            raise CalibrationError(f"whole records tell {about!r} in any case; leave out about, or tell fewer columns")
        return None
    if isinstance(tell, int):
        return _all_of_size(names, tell, about)
    return _given_sets(schema, tell, about)


def _all_of_size(names: list[str], size: int, about: str | None) -> ColumnSets:
    if isinstance(size, bool) or not 1 <= size <= len(names):
        raise CalibrationError(f"tell must lie between 1 and the {len(names)} columns that are perturbed, got {size}")
    others = [name for name in names if name != about]
    fixed = [] if about is None else [about]
    count = math.comb(len(others), size - len(fixed))
    if count > MOST_TELLS:
        raise CalibrationError(
            f"{size} of {len(names)} columns make {count:,} sets, more than {MOST_TELLS:,}; "
            "tell fewer columns, or list the sets"
        )
    order = names.index
    return tuple(tuple(sorted((*some, *fixed), key=order)) for some in combinations(others, size - len(fixed)))


def _given_sets(schema: Schema, tell: Sequence[Sequence[str]], about: str | None) -> ColumnSets:
    if not isinstance(tell, Sequence) or not tell or not all(_is_list_of_names(columns) for columns in tell):
        raise CalibrationError(f'tell must be "all", a number of columns or a list of column sets, got {tell!r}')
    for name in (name for columns in tell for name in columns):
        _check_perturbed(schema, name, "tell")
    names = [attribute.name for attribute in schema.perturbed]
    fixed = () if about is None else (about,)
    sets = [tuple(name for name in names if name in {*columns, *fixed}) for columns in tell]
    if len(set(sets)) < len(sets) or any(len(set(columns)) < len(columns) for columns in tell):
        raise CalibrationError("tell names a set of columns, or a column of one, twice")
    untold = [name for name in names if not any(name in columns for columns in sets)]
    if untold:
        raise CalibrationError(f"no set tells {untold[0]!r}; add one that does, or drop the column in the schema")
    return tuple(sets)


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
        done = "dropped" if schema[name].role == "drop" else "kept as it is, so every record tells it"
        raise CalibrationError(f"{word}: column {name!r} is {done}")
    raise CalibrationError(f"{word}: no column {name!r}. {which_there_are(name, names)}")


def tells_within(sets: ColumnSets, near: Mapping[str, Neighbourhood], epsilon: float) -> tuple[Tell, ...]:
    """Every set equally often, each as one value with the whole ε."""
    for columns in sets:
        cells = math.prod(near[name].size for name in columns)
        if cells > MOST_CELLS:
            raise CalibrationError(
                f"{' + '.join(columns)} told as one value has {cells:,} values, more than {MOST_CELLS:,}; "
                "give numbers a larger step, or tell fewer columns together"
            )
    return tuple(
        Tell(Together.within({name: near[name] for name in columns}, epsilon), 1 / len(sets)) for columns in sets
    )
