"""kakuran demo: a release and what can be learned from it, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kakuran.cli.console import answer_table, progress, say
from kakuran.cli.options import Force


def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to put the release.")] = Path("demo"),
    k: Annotated[float, typer.Option("--k", help="Nobody can be linked with probability above 1/k.")] = 10,
    n: Annotated[int, typer.Option("--n", help="How many made-up people.")] = 50_000,
    force: Force = False,
) -> None:
    """Release a made-up census and reconstruct a cross-tab from the release alone."""
    import pyarrow.parquet as pq

    from kakuran.calibration import calibrate
    from kakuran.counts import count
    from kakuran.release import perturb_file, read_release
    from kakuran.release.files import check_target
    from kakuran.samples import census, census_schema

    folder.mkdir(parents=True, exist_ok=True)
    source, target = folder / "census.parquet", folder / "release.parquet"
    check_target(target, force=force)
    people, schema = census(n), census_schema()
    pq.write_table(people, source)
    plan = calibrate(schema, n=n, k=k)
    with progress("perturbing", n) as advance:
        perturb_file(source, target, plan, force=force, progress=advance)
    say(f"{n:,} made-up people in {source}; released as {target}: k = {k:g}, ε = {plan.epsilon:.3g}")

    estimate = read_release(target).crosstab("job", "sex")
    truth = count(schema.encode(people), estimate.axes)
    jobs, sexes = (axis.labels for axis in estimate.axes)
    tables = (truth, estimate.naive, estimate.counts)
    answer_table(
        "job × sex: original, naive (counted in the release), reconstructed (from the release alone)",
        ["job", *(f"{what} {sex}" for sex in sexes for what in ("original", "naive", "reconstr."))],
        [
            [job, *(f"{table[row, column]:,.0f}" for column in range(len(sexes)) for table in tables)]
            for row, job in enumerate(jobs)
        ],
    )
    naive, reconstructed = (abs(table - truth).sum() / truth.sum() for table in tables[1:])
    say(f"records counted in the wrong cell: naive {naive / 2:.1%}, reconstructed {reconstructed / 2:.1%}")
