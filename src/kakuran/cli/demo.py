"""kakuran demo and reproduce: what needs no data of one's own: a release of made-up people, and the papers again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kakuran.cli.console import (
    answer_done,
    answer_table,
    answer_text,
    can_draw,
    progress,
    require_plots,
    said,
    say,
    speaking,
)
from kakuran.cli.options import Json, Results, grouped
from kakuran.errors import MissingExtraError
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.typing import Array


@grouped
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to put the release.")] = Path("demo"),
    k: Annotated[float, typer.Option("--k", help="Nobody can be linked with probability above 1/k.")] = 10,
    n: Annotated[int, typer.Option("--n", help="How many made-up people.")] = 50_000,
    *,
    results: Annotated[Results, "plot", "lang", "force", "json"],
) -> None:
    """Release a made-up census and reconstruct a cross-tab from the release alone."""
    from kakuran.counts import Tally
    from kakuran.design import calibrate
    from kakuran.release import check_target, perturb_file, read_release, write_table
    from kakuran.samples import census, census_schema
    from kakuran.schema import open_source

    if results.plot is not None:
        require_plots(Phrase("a picture"))
    folder.mkdir(parents=True, exist_ok=True)
    source, target, report = (folder / name for name in ("census.parquet", "release.parquet", "report.html"))
    for path in (source, target):
        check_target(path, force=results.force)
    results = replace(results, report=report if can_draw() else None)
    results.check()
    people, schema = census(n), census_schema()
    write_table(source, people)
    plan = calibrate(schema, n=n, k=k)
    with progress("perturbing", n) as advance:
        perturb_file(source, target, plan, force=results.force, progress=advance)
    say(
        Phrase(
            "{n:,} made-up people in {source}; released as {target}: k = {k:g}, ε = {epsilon:.3g}",
            n=n,
            source=source,
            target=target,
            k=k,
            epsilon=plan.epsilon,
        )
    )

    estimate = read_release(target).crosstab("job", "sex")
    truth = Tally.of(schema.encode(people), estimate.axes).counts
    jobs, sexes = (axis.labels for axis in estimate.axes)
    tables = (truth, estimate.naive, estimate.counts)
    naive, reconstructed = (abs(table - truth).sum() / truth.sum() / 2 for table in tables[1:])
    described = {"n": n, "k": k, "epsilon": plan.epsilon, "release": str(target)}
    described["in_the_wrong_cell"] = {"naive": naive, "reconstructed": reconstructed}
    results.answer(described, lambda: _show(jobs, sexes, tables))
    say(
        Phrase(
            "records counted in the wrong cell: naive {naive:.1%}, reconstructed {reconstructed:.1%}",
            naive=naive,
            reconstructed=reconstructed,
        )
    )
    results.draw(lambda _: _draw(jobs, sexes, tables, results.lang))
    results.tell_release(target, lambda: open_source(source))
    if results.report is None:
        missing = speaking().error(MissingExtraError(Phrase("a picture"), "plot"))
        say(Phrase("no report: {why}", why=missing))


def _show(jobs: Sequence[str], sexes: Sequence[str], tables: Sequence[Array]) -> None:
    kinds = (Phrase("original"), Phrase("naive"), Phrase("recon."))
    answer_table(
        Phrase("job × sex: original, naive (counted in the release), reconstructed (from the release alone)"),
        ["job", *(f"{said(what)} {sex}" for sex in sexes for what in kinds)],
        [
            [job, *(f"{table[row, column]:,.0f}" for column in range(len(sexes)) for table in tables)]
            for row, job in enumerate(jobs)
        ],
    )


def _draw(jobs: Sequence[str], sexes: Sequence[str], tables: Sequence[Array], lang: str) -> Figure:
    """The three tables as bars, side by side."""
    from kakuran.charts import ESTIMATE, INK, NAIVE, Series, column_chart
    from kakuran.words import words_in

    words = words_in(lang)
    kinds = (words("original"), words.of(Phrase("naive: counted in the release")), words("reconstructed"))
    named = list(zip(kinds, tables, (INK, NAIVE, ESTIMATE), strict=True))
    panels = {
        sex: [Series(kind, table[:, place], colour) for kind, table, colour in named] for place, sex in enumerate(sexes)
    }
    return column_chart(jobs, panels, width=9, up=words("people"))


PAPERS = ("s0", "s1", "s2", "s3", "s4")
_WITH_DATA = ("s0", "s1")


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="s0, s1, s2, s3, s4 or all.", autocompletion=lambda: [*PAPERS, "all"]),
    ],
    folder: Annotated[Path, typer.Option("--folder", "-o", help="Where to put tables and figures.")] = Path(
        "reproduced"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A small run that shows that it works, not what is true.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder with the real data some tables need (adult.data, …).")
    ] = None,
    json: Json = False,
) -> None:
    """Run the papers' experiments again: their tables and figures beside ours, and what does not reproduce."""
    from kakuran.reproduction import overview

    chosen = PAPERS if paper == "all" else (paper,)
    if not set(chosen) <= set(PAPERS):
        raise typer.BadParameter(
            said(Phrase("choose one of {listed} or all, got {paper!r}", listed=", ".join(PAPERS), paper=paper))
        )
    require_plots("a figure")
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name in chosen:
        say(f"reproducing {name} …")
        options = {"data": data} if name in _WITH_DATA else {}
        found[name] = import_module(f"kakuran.reproduction.{name}").reproduce(folder, quick=quick, **options)
        _keep(folder / f"{name}.md", found[name].text, name, quick=quick, has_data=bool(options.get("data")))
        if not json:
            answer_text(found[name].text)
    if not json:
        answer_text(overview(found))
    answer_done(json, folder=folder, papers={name: one.text for name, one in found.items()})
    if paper == "all":
        _keep(folder / "index.md", overview(found), "all", quick=quick, has_data=data is not None)


def _keep(path: Path, text: str, paper: str, *, quick: bool, has_data: bool) -> None:
    """Write a page, with the command that made it at its foot."""
    from kakuran.writing import write_text

    options = f"{' --quick' if quick else ''}{' --data FOLDER' if has_data else ''}"
    write_text(path, f"{text}\nMade by `kakuran reproduce {paper}{options}`.\n")
    say(f"wrote {path}")
