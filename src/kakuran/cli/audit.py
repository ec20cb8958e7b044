"""kakuran audit: attack a release before somebody else does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_json, check_picture, check_report, progress, say
from kakuran.cli.options import AS_FOUND, Force, Json, Lang, Language, Plot, Public, Report, Sql, Written, reads_csv


@reads_csv
def audit(
    original: Annotated[str, typer.Argument(metavar="DATA", help="The true table, as given to perturb.")],
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The release made from it.")],
    sql: Sql = None,
    written: Written = AS_FOUND,
    plot: Plot = None,
    report: Report = None,
    public: Public = False,
    lang: Lang = Language.en,
    force: Force = False,
    json: Json = False,
) -> None:
    """Play the strongest attacker we can compute; exit with 1 if the promise is broken."""
    from kakuran.audit import audit as run_audit
    from kakuran.audit import draw_audit
    from kakuran.cli.reporting import leave_picture, report_release, show_audit
    from kakuran.release import read_release
    from kakuran.schema import open_source, read_table
    from kakuran.words import words_in

    check_picture(plot, force=force)
    check_report(report, public=public, force=force)
    released = read_release(release)
    source = open_source(original, sql, **written)
    truth = read_table(source, released.plan.schema)
    with progress("attacking", 2 * released.n) as advance:
        outcome = run_audit(truth, released, progress=advance)
    if json:
        answer_json(outcome.to_dict())
    else:
        show_audit(outcome)
    if plot is not None:
        leave_picture(plot, draw_audit(outcome, words_in(lang).of))
    if report is not None:
        report_release(report, release, original=source, audit=outcome, public=public, lang=lang)
    for problem in outcome.problems:
        say(problem, "failed")
    if outcome.passed:
        say(f"no attack linked anybody with probability above 1/{outcome.k:g}", "passed")
    raise typer.Exit(0 if outcome.passed else 1)
