"""Queries put round a query: being in brackets, it can only ask, not change anything."""

from __future__ import annotations

from collections.abc import Iterable


def bare(sql: str) -> str:
    """A query that can stand in brackets."""
    return sql.strip().rstrip(";")


def selected(columns: Iterable[str] | None, query: str) -> str:
    """Some columns of a query, or all."""
    listed = "*" if columns is None else ", ".join(map(quoted, columns))
    return f"select {listed} from (\n{query}\n) as selected"  # noqa: S608


def count_of(query: str) -> str:
    """How many rows a query has."""
    return f"select count(*) from (\n{query}\n) as counted"  # noqa: S608


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL takes it, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"
