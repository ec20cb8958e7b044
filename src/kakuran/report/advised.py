"""The report of an advice."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from kakuran.advice import Advice, Outlook
from kakuran.advice.sentences import NAMES
from kakuran.report.page import code, facts, page, paragraph, picture, points, section, table


def advice_report(advice: Advice, command: str | None = None) -> str:
    """One standalone HTML page about which method to use; what was tried on data is marked as internal."""
    internal = "INTERNAL – not for publication: methods were tried on the data themselves."
    first, *others = advice.sentences
    curves = sorted((one for one in advice.curves if one.errors is not None), key=lambda one: (one.method, one.k))
    described = "Lines: expected error against k for every method; the numbers are in the table below."
    return page(
        f"Which method at k = {advice.k:g}",
        *([paragraph(internal, kind="internal")] if advice.from_data else []),
        facts([("people", f"{advice.n:,}"), ("k", f"{advice.k:g}"), ("guessing is wrong for", f"{advice.guess:.1%}")]),
        paragraph(first, kind="lead"),
        points(others),
        section("At this k", table("People in the wrong cell", *outlook_rows(advice.outlooks), text_columns=2)),
        section(
            "At other k",
            picture(advice.plot(), described),
            table("People in the wrong cell", *outlook_rows(curves), text_columns=2),
        ),
        *([] if command is None else [section("The command that made this", code(command))]),
        footer=f"Made by kakuran {version('kakuran')}.",
    )


def outlook_rows(outlooks: Sequence[Outlook]) -> tuple[list[str], list[list[str]]]:
    """What methods would do, as a header and rows of text."""
    rows = []
    for one in outlooks:
        errors = one.errors
        shares = ["—"] * 3 if errors is None else [_share(errors.both), _share(errors.one_way), _share(errors.two_way)]
        rows.append([NAMES[one.method], one.promise, f"{one.k:g}", *shares])
    return ["method", "promise", "k", "error", "one-way", "two-way"], rows


def _share(value: float | None) -> str:
    return "—" if value is None else f"{value:.1%}"
