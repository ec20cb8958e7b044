"""kakuran check: how far the records of a table hide among each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kakuran.cli.console import answer_json, answer_table, say, working
from kakuran.cli.options import AS_FOUND, Data, Json, Sql, Written, reads_csv, tell_written_numbers
from kakuran.errors import counted

if TYPE_CHECKING:
    from kakuran.audit import Anonymity


@reads_csv
def check(
    data: Data,
    quasi: Annotated[
        list[str], typer.Option("--quasi", "-q", metavar="COLUMN", help="A column an attacker may know. Repeatable.")
    ],
    sql: Sql = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="A column nobody should learn. Repeatable."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Fail unless every class has at least k records.")] = None,
    least_l: Annotated[
        float | None, typer.Option("--l", help="Fail unless every class is l-diverse (by entropy).")
    ] = None,
    most_t: Annotated[
        float | None, typer.Option("--t", help="Fail unless every class is t-close (ordered for numbers).")
    ] = None,
    written: Written = AS_FOUND,
    json: Json = False,
) -> None:
    """Check a table for k-anonymity, l-diversity and t-closeness; exit with 1 if it fails what was asked."""
    from kakuran.audit import check_anonymity
    from kakuran.schema import open_source, read_all

    with working("checking"):
        table = read_all(open_source(data, sql, **written))
        tell_written_numbers(table)
        found = check_anonymity(table, quasi, sensitive or ())
    if json:
        answer_json(_described(found))
    else:
        _show(found)
    problems = _problems(found, k, least_l, most_t)
    for problem in problems:
        say(problem, "failed")
    raise typer.Exit(1 if problems else 0)


def _described(found: Anonymity) -> dict[str, Any]:
    return {
        "records": found.records,
        "classes": found.classes,
        "k": found.k,
        "uniques": found.uniques,
        "expected_risk": found.expected_risk,
        "highest_risk": found.highest_risk,
        "sensitive": {name: vars(diversity) for name, diversity in found.sensitive.items()},
    }


def _show(found: Anonymity) -> None:
    rows = [
        ["records", f"{found.records:,}"],
        ["classes", f"{found.classes:,}"],
        ["smallest class, k", f"{found.k:,}"],
        ["records nobody else is like", f"{found.uniques:,} ({found.uniques / found.records:.1%})"],
        ["right guesses, on average", f"{found.expected_risk:.3g}"],
        ["right guesses, at worst", f"{found.highest_risk:.3g}"],
    ]
    answer_table("Anonymity", ["", "value"], rows)
    if found.sensitive:
        answer_table(
            "Sensitive columns, in the worst class",
            ["column", "distinct l", "entropy l", "t, equal", "t, ordered"],
            [
                [
                    name,
                    f"{one.distinct_l:,}",
                    f"{one.entropy_l:.3g}",
                    f"{one.equal_t:.3g}",
                    "—" if one.ordered_t is None else f"{one.ordered_t:.3g}",
                ]
                for name, one in found.sensitive.items()
            ],
        )


def _problems(found: Anonymity, k: int | None, least_l: float | None, most_t: float | None) -> list[str]:
    problems = []
    if k is not None and found.k < k:
        problems.append(f"the smallest class has {counted(found.k, 'record')}, fewer than {k}")
    for name, one in found.sensitive.items():
        t = one.equal_t if one.ordered_t is None else one.ordered_t
        if least_l is not None and one.entropy_l < least_l:
            problems.append(f"{name}: a class is {one.entropy_l:.3g}-diverse, less than {least_l:g}")
        if most_t is not None and t > most_t:
            problems.append(f"{name}: a class is {t:.3g}-close, farther than {most_t:g}")
    return problems
