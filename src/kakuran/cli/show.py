"""Plans, previews and audits in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kakuran.cli.console import answer_table

if TYPE_CHECKING:
    from kakuran.calibration import Plan, TableError
    from kakuran.release import Audit


def describe_plan(plan: Plan, errors: Sequence[TableError]) -> dict[str, Any]:
    """A plan and what it will cost, for programs."""
    return plan.to_dict() | {
        "expected_errors": [
            {"columns": list(table.columns), "cells": table.cells, "count": table.count, "error": table.error}
            for table in errors
        ]
    }


def show_plan(plan: Plan, errors: Sequence[TableError]) -> None:
    """A plan and what it will cost, for people."""
    from kakuran.report.rows import plan_rows
    from kakuran.report.words import words_in

    title = f"k = {plan.k:g}, n = {plan.n:,}, ε = {plan.epsilon:.4g} ({plan.calibration})"
    rows = plan_rows(plan, words_in("en"))
    answer_table(title, ["column", "mechanism", "parameter", "value", "ε"], rows, text_columns=2)
    answer_table(
        "Expected error of a typical cell",
        ["table", "cells", "records in a cell", "± records", "±"],
        [
            [
                " × ".join(table.columns),
                f"{table.cells:,}",
                f"{table.count:,.0f}",
                f"{table.error:,.0f}",
                _percent(table),
            ]
            for table in errors
        ],
    )


def _percent(table: TableError) -> str:
    share = f"{table.relative:.0%}"
    return f"{share} (guessing)" if table.relative > 0.9 else share


def show_audit(audit: Audit) -> None:
    """The outcome of an audit."""
    from kakuran.report.rows import risk_after, risk_before
    from kakuran.report.words import words_in

    say = words_in("en")
    answer_table(say("audit_before"), [say("risk"), say("value")], risk_before(audit, say))
    title = say("audit_after", attacked=audit.attacked, n=audit.n)
    answer_table(title, [say("risk"), say("probability")], risk_after(audit, say))
