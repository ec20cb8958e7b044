"""What the vertical commands share: reading our table, meeting the others, writing what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kakuran.cli.console import answer_json, answer_table, check_new, check_picture, check_report, say
from kakuran.cli.options import LAST_PORT
from kakuran.sockets import bare_host

if TYPE_CHECKING:
    from kakuran.schema.sources import Source
    from kakuran.vertical import Meeting, VerticalFit, VerticalPlan

EARLIER = "earlier.runs"
"""The file beside our key that remembers what earlier runs were about."""


def run_fit(
    me: str,
    data: Source,
    path: Path,
    meeting: Meeting,
    output: Path | None,
    report: Path | None,
    plot: Path | None,
    state: Path | None,
    lang: str,
    *,
    despite_earlier_runs: bool,
    force: bool,
    json: bool,
) -> None:
    """Meet the others, fit, and write and show what came of it."""
    from kakuran.cli.reporting import leave, leave_picture
    from kakuran.report.words import words_in
    from kakuran.vertical import Party, VerticalPlan, meet
    from kakuran.vertical.picture import draw_path

    output = output or path.parent / f"{me}.fit.json"
    check_new(output, force=force)
    check_report(report, force=force)
    check_picture(plot, force=force)
    plan = VerticalPlan.load(path)
    say(f"plan {plan.fingerprint}")
    party = Party(
        me,
        plan,
        read_own(data, plan.terms(me).id),
        state=state or path.parent / f".{me}.run",
        memory=meeting.key.with_name(EARLIER),  # whatever we are called in this plan, and wherever its state is
        despite_earlier_runs=despite_earlier_runs,
        notify=say,
    )
    with _interruptible(), meet(plan, me, meeting, say) as links:
        fit = party.fit(links)
    fit.save(output, force=force)
    say(f"wrote {output}: for us alone")
    if report is not None:
        leave(report, fit.report(lang), public=False)
    if plot is not None:
        leave_picture(plot, draw_path(fit, words_in(lang).of))
    if json:
        answer_json(fit.to_dict())
    else:
        _show_fit(fit, plan)


def run_prediction(
    fitted: VerticalFit, data: Source, path: Path, meeting: Meeting, receiver: str | None, output: Path, *, force: bool
) -> None:
    """Meet the others, predict, and write the predictions if they are ours to have."""
    import pyarrow as pa

    from kakuran.release.files import check_table, write_table
    from kakuran.vertical import VerticalPlan, meet, predict_together

    check_table(output, force=force)
    plan = VerticalPlan.load(path)
    receiver, ids = receiver or plan.holder, plan.terms(fitted.party).id
    table = read_own(data, ids)
    with _interruptible(), meet(plan, fitted.party, meeting, say) as links:
        predictions = predict_together(links, plan, fitted, table, receiver=receiver, notify=say)
    if predictions is None:
        say(f"{receiver} has the predictions")
        return
    rows = pa.table({ids: table.column(ids).take(predictions.rows), plan.target: predictions.values})
    write_table(output, rows)
    say(f"wrote {output}: {rows.num_rows:,} predicted")


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted; start all sides again to go on")
        raise typer.Exit(130) from None


def _show_fit(fit: VerticalFit, plan: VerticalPlan) -> None:
    from kakuran.vertical.page import all_columns
    from kakuran.vertical.picture import CRITERIA

    title = f"{fit.target}, standardised, {fit.quality.records:,} shared records"
    rows = [row[:4] + row[5:] for row in all_columns(fit)]  # without t, so that it fits a terminal
    answer_table(title, ["column", "party", "coef.", "s.e.", "p", "95 % interval", "VIF"], rows, text_columns=2)
    own = [[name, f"{own.coefficient:.6g}", f"{own.standard_error:.3g}"] for name, own in fit.own.items()]
    answer_table("our own columns, in their own units", ["column", "coefficient", "std. error"], own)
    quality = fit.quality
    if plan.search != "none":
        say(f"chosen {plan.search} by {CRITERIA[plan.criterion]}, of every party at least {plan.least}")
    say(f"R² {quality.r_squared:.4f}, AIC {quality.aic:.2f}; {quality.digits} digits can be relied on")
    for sentence in fit.exposure.sentences():
        say(f"leakage: {sentence}")


def read_own(data: Source, ids: str) -> Any:
    """Our own table; ids are read as text where that is open, so that 007 stays 007."""
    from kakuran.schema.reading import read_all

    return read_all(data, texts=[ids])


def key_file(plan: Path, me: str, key: Path | None) -> Path:
    """The key that was named, or the one beside the plan."""
    return key or plan.parent / f"{me}.key"


def address(text: str) -> tuple[str, int]:
    """HOST:PORT taken apart."""
    host, sign, port = text.rpartition(":")
    if not sign or not host or not port.isdecimal() or int(port) > LAST_PORT:
        raise typer.BadParameter(f"an address is given as HOST:PORT, got {text!r}")
    return bare_host(host), int(port)
