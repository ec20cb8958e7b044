"""Plans, previews and audits in words and tables.

What commands have in common that leave a report.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kakuran.cli.console import answer_table, progress, say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.audit import Audit
    from kakuran.design import Plan, TableError
    from kakuran.schema import Source


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
    from kakuran.report import plan_rows
    from kakuran.words import words_in

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
    from kakuran.report import risk_after, risk_before
    from kakuran.words import words_in

    say = words_in("en")
    answer_table(say("audit_before"), [say("risk"), say("value")], risk_before(audit, say))
    title = say("audit_after", attacked=audit.attacked, n=audit.n)
    answer_table(title, [say("risk"), say("probability")], risk_after(audit, say))


MOST_AUDITED = 1_000_000
"""Records up to which a report plays the attacker, who needs the whole table in memory."""

MOST_PAIRS = 1e8
"""What he may compare for a report; `kakuran audit` plays him in full."""


def report_release(
    report: Path,
    release: Path,
    *,
    original: Source | None = None,
    audit: Audit | None = None,
    public: bool = True,
    lang: str = "en",
) -> None:
    """Write the report of a release: for everybody, or for its steward, with what was typed."""
    from kakuran.release import read_manifest
    from kakuran.report import release_report

    read = read_manifest(release).records * (1 if public else 2)
    with progress("reporting", read) as advance:
        if public:
            page = release_report(release, lang=lang, progress=advance)
        else:
            page = release_report(release, original=original, audit=audit, command=typed(), lang=lang, progress=advance)
    leave(report, page, public=public)


def report_answer(report: Path, release: Path, answer: str, lang: str) -> None:
    """Write what was asked of a release, and the release's own report after it."""
    from kakuran.release import read_manifest
    from kakuran.report import release_report

    with progress("reporting", read_manifest(release).records) as advance:
        page = release_report(release, answer=[answer], lang=lang, progress=advance)
    leave(report, page, public=True)


def leave(report: Path, page: str, *, public: bool) -> None:
    """Write a report, and say where it is and who may see it."""
    from kakuran.writing import write_text

    write_text(report, page)
    say(f"wrote {report}{'' if public else ': internal, not for publication'}")


def leave_picture(path: Path, figure: Figure) -> None:
    """Write a picture, and say where it is."""
    from kakuran.writing import whole_or_nothing

    with whole_or_nothing(path) as folder:
        figure.savefig(folder / path.name, dpi=144)
    say(f"drew {path}")


def quick_audit(original: Source, release: Path) -> Audit | None:
    """The audit of random records, or nothing where the table is too large for it."""
    from kakuran.audit import audit
    from kakuran.release import read_manifest, read_release
    from kakuran.schema import read_table

    if read_manifest(release).records > MOST_AUDITED:
        say("the report has no audit: the table is large; play it with kakuran audit")
        return None
    released = read_release(release)
    truth = read_table(original, released.plan.schema)
    with progress("attacking", None) as advance:
        return audit(truth, released, most_pairs=MOST_PAIRS, progress=advance)


def typed() -> str:
    """The command as it was typed."""
    return shlex.join(["kakuran", *sys.argv[1:]])
