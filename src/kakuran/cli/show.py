"""Plans, previews and audits in words and tables."""

from __future__ import annotations

import math
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
    rows = [
        [name, mechanism.kind, *_parameter(mechanism), f"{mechanism.epsilon:.3g}"]
        for name, mechanism in plan.mechanisms.items()
    ]
    title = f"k = {plan.k:g}, n = {plan.n:,}, ε = {plan.epsilon:.4g} ({plan.calibration})"
    answer_table(title, ["column", "mechanism", "parameter", "value", "ε"], rows)
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


def _parameter(mechanism: Any) -> tuple[str, str]:
    for symbol, field in (("ρ", "retention"), ("φ", "scale")):
        value = getattr(mechanism, field, None)
        if value is not None:
            return ("σ" if "gaussian" in mechanism.kind else symbol), f"{value:.4g}"
    return "matrix", f"{mechanism.size} × {mechanism.size}"


def _percent(table: TableError) -> str:
    share = f"{table.relative:.0%}"
    return f"{share} (guessing)" if table.relative > 0.9 else share


def show_audit(audit: Audit) -> None:
    """The outcome of an audit."""
    after = [
        ("promised, 1/k", audit.bound),
        ("proved for this table", audit.certified),
        ("surest link" + (" (exact)" if audit.is_exact else ""), audit.worst_posterior),
        ("links the attacker expects to be right", audit.expected_matches),
        ("links that were right, one by one", audit.linked),
        ("links that were right, one to one", audit.linked_one_to_one),
    ]
    before = [
        ("people nobody else shares a record with", f"{audit.before.uniques:.1%}"),
        ("smallest class", f"{audit.before.smallest_class:,}"),
        ("right guesses, on average", f"{audit.before.prosecutor:.3g}"),
    ]
    answer_table("Before: the table as it is", ["risk", "value"], before)
    rows = [[what, "not played" if value is None else _probability(value)] for what, value in after]
    answer_table(f"After: {audit.attacked:,} of {audit.n:,} records attacked", ["risk", "probability"], rows)


def _probability(value: float) -> str:
    return f"{value:.3g}" + (f"  (1 in {1 / value:,.0f})" if 0 < value < 0.5 and math.isfinite(1 / value) else "")
