"""kakuran vertical: one regression across companies, one command a party."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kakuran.cli.completion import one_of
from kakuran.cli.console import answer_json, answer_table, say
from kakuran.cli.csv_options import AS_FOUND, Written, reads_csv
from kakuran.cli.options import Force, Host, Json, Lang, Language, Plot, Port, Report
from kakuran.cli.vertical_run import address, key_file, read_own, run_fit, run_prediction
from kakuran.errors import ProtocolError

if TYPE_CHECKING:
    from kakuran.vertical import VerticalPlan

app = typer.Typer(no_args_is_help=True, help="One regression over columns that several companies hold.")

PlanFile: TypeAlias = Annotated[Path, typer.Option("--plan", help="The plan (TOML) all parties hold.")]
Data: TypeAlias = Annotated[Path, typer.Option("--data", help="Our own table: a CSV, Parquet or Arrow file.")]
Me: TypeAlias = Annotated[str, typer.Option("--as", help="Which party of the plan we are.")]
KeyFile: TypeAlias = Annotated[Path | None, typer.Option("--key", help="Our key; NAME.key beside the plan by default.")]
Output: TypeAlias = Annotated[Path | None, typer.Option("--output", "-o", help="Our fit; NAME.fit.json by default.")]
State: TypeAlias = Annotated[
    Path | None, typer.Option("--state", help="Folder for resuming; .NAME.run beside the plan by default.")
]
Despite: TypeAlias = Annotated[
    bool,
    typer.Option("--despite-earlier-runs", help="Run though few people differ from earlier runs, or those told much."),
]
Timeout: TypeAlias = Annotated[float, typer.Option("--timeout", help="Seconds to wait for a message.")]
Patience: TypeAlias = Annotated[float, typer.Option("--patience", help="Seconds to wait for the others to come.")]
Addresses: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="HOST:PORT", help="HOST:PORT of every party before us in the plan.")
]

_ANYWHERE = "0.0.0.0"  # noqa: S104 - who may talk to us is settled by pinned certificates
_PORT = 7117


@app.command()
@reads_csv
def init(
    me: Me,
    data: Data,
    ids: Annotated[str, typer.Option("--id", help="The column of ids in our table.")],
    plan: PlanFile = Path("plan.toml"),
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="COLUMN", help="A column we bring; all but ids and target by default."),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", help="The column to explain (first party only).")] = None,
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", help="gram (default) or residual.", autocompletion=one_of("gram", "residual")),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search",
            help="backward (default), forward, both or none.",
            autocompletion=one_of("backward", "forward", "both", "none"),
        ),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option("--criterion", help="aic (default), aicc or bic.", autocompletion=one_of("aic", "aicc", "bic")),
    ] = None,
    ranking: Annotated[
        str | None, typer.Option("--ranking", help="exact (default) or s2.", autocompletion=one_of("exact", "s2"))
    ] = None,
    forced: Annotated[
        list[str] | None, typer.Option("--force-in", metavar="COLUMN", help="A column that stays. Repeatable.")
    ] = None,
    least: Annotated[int | None, typer.Option("--least", help="Variables every party keeps (2).")] = None,
    intercept: Annotated[bool | None, typer.Option("--intercept/--no-intercept", help="Fit a constant.")] = None,
    key: KeyFile = None,
    written: Written = AS_FOUND,
) -> None:
    """Make a plan or join it: add our columns, make our key.

    The first party makes it and names the target; the others join the one that is there.
    """
    from kakuran.schema import open_source
    from kakuran.schema.columns import check_there
    from kakuran.vertical.ids import read_ids
    from kakuran.vertical.keys import certificate_in, make_key
    from kakuran.vertical.own import OwnColumns
    from kakuran.vertical.plan import Terms, VerticalPlan

    chosen: dict[str, Any] = {
        "protocol": protocol,
        "search": search,
        "criterion": criterion,
        "ranking": ranking,
        "least": least,
    }
    settings = {name: value for name, value in (chosen | {"intercept": intercept}).items() if value is not None}
    if forced:
        settings["forced"] = tuple(forced)
    draft = VerticalPlan.load(plan) if plan.exists() else None
    if draft is not None and (settings or target is not None):
        raise ProtocolError(
            f"{plan}: is there already; what it says was settled by the first party, {draft.names[0]}; "
            "move it away to make another"
        )
    if draft is None and target is None:
        raise ProtocolError(f"{plan}: is not there; the first party makes it and names the --target")
    target = draft.target if draft is not None else str(target)
    table = read_own(open_source(data, **written), ids)
    check_there((ids, *(columns or ())), table.column_names, str(data))
    holds_target = target in table.column_names
    brought = columns or [name for name in table.column_names if name not in (ids, target)]
    read_ids(table, ids)  # what would stop the run is told now
    OwnColumns.read(table, [*brought, *([target] if holds_target else [])])

    def with_us(certificate: str) -> VerticalPlan:
        terms = Terms(me, tuple(brought), ids, certificate)
        if draft is not None:
            return draft.joined_by(terms, holds_target=holds_target)
        return VerticalPlan((terms,), target, me if holds_target else "", **settings)

    with_us("")  # what cannot be agreed on is refused before a key is made
    own_key = key_file(plan, me, key)
    made = with_us(certificate_in(own_key) if key is not None and own_key.exists() else make_key(own_key, me))
    made.save(plan)
    say(f"{me} brings {', '.join(brought)}; key in {own_key}, which never leaves this machine")
    if not made.holder:
        say(f"the target, {target}, is none of them: another party is to bring it")
    say(f"fingerprint of {plan}: {made.fingerprint}")
    say("send the plan to the others; when all have joined, compare the fingerprint by telephone")


@app.command()
def show(plan: PlanFile = Path("plan.toml"), json: Json = False) -> None:
    """Show a plan and its fingerprint."""
    from dataclasses import asdict

    from kakuran.vertical.plan import VerticalPlan

    agreed = VerticalPlan.load(plan)
    if json:
        answer_json({"fingerprint": agreed.fingerprint, **asdict(agreed)})
        return
    rows = [[terms.name, ", ".join(terms.columns), terms.id] for terms in agreed.parties]
    answer_table(
        f"{agreed.target} of {agreed.holder or 'nobody yet'}, explained by",
        ["party", "columns", "ids"],
        rows,
        text_columns=3,
    )
    say(f"protocol {agreed.protocol}, search {agreed.search} by {agreed.criterion}, ranking {agreed.ranking}")
    say(f"fingerprint: {agreed.fingerprint}")


@app.command()
@reads_csv
def serve(
    me: Me,
    data: Data,
    plan: PlanFile = Path("plan.toml"),
    key: KeyFile = None,
    host: Host = _ANYWHERE,
    port: Port = _PORT,
    output: Output = None,
    report: Report = None,
    plot: Plot = None,
    lang: Lang = Language.en,
    state: State = None,
    despite: Despite = False,
    written: Written = AS_FOUND,
    timeout: Timeout = 60.0,
    patience: Patience = 300.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Wait for the other parties and fit the plan with them."""
    from kakuran.schema import open_source
    from kakuran.vertical import Meeting

    meeting = Meeting(key_file(plan, me, key), (host, port), (), timeout, patience)
    source = open_source(data, **written)
    run_fit(
        me, source, plan, meeting, output, report, plot, state, lang,
        despite_earlier_runs=despite, force=force, json=json,
    )  # fmt: skip


@app.command()
@reads_csv
def join(
    addresses: Addresses,
    me: Me,
    data: Data,
    plan: PlanFile = Path("plan.toml"),
    key: KeyFile = None,
    host: Host = _ANYWHERE,
    port: Port = _PORT,
    output: Output = None,
    report: Report = None,
    plot: Plot = None,
    lang: Lang = Language.en,
    state: State = None,
    despite: Despite = False,
    written: Written = AS_FOUND,
    timeout: Timeout = 60.0,
    patience: Patience = 300.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Connect to the parties before us and fit the plan with them.

    Waits for those after us.
    """
    from kakuran.schema import open_source
    from kakuran.vertical import Meeting

    meeting = Meeting(key_file(plan, me, key), (host, port), [address(text) for text in addresses], timeout, patience)
    source = open_source(data, **written)
    run_fit(
        me, source, plan, meeting, output, report, plot, state, lang,
        despite_earlier_runs=despite, force=force, json=json,
    )  # fmt: skip


@app.command()
@reads_csv
def predict(
    fit: Annotated[Path, typer.Option("--fit", help="Our fit, as serve or join wrote it.")],
    data: Data,
    addresses: Annotated[
        list[str] | None, typer.Argument(metavar="HOST:PORT", help="HOST:PORT of every party before us.")
    ] = None,
    plan: PlanFile = Path("plan.toml"),
    receiver: Annotated[str | None, typer.Option("--receiver", help="Who gets them; the target's holder.")] = None,
    key: KeyFile = None,
    host: Host = _ANYWHERE,
    port: Port = _PORT,
    output: Annotated[Path, typer.Option("--output", "-o", help="Predictions by id.")] = Path("predictions.csv"),
    written: Written = AS_FOUND,
    timeout: Timeout = 60.0,
    patience: Patience = 300.0,
    force: Force = False,
) -> None:
    """Predict new records together; only the receiver learns them."""
    from kakuran.schema import open_source
    from kakuran.vertical import Meeting, VerticalFit

    fitted = VerticalFit.load(fit)
    known = [address(text) for text in addresses or ()]
    meeting = Meeting(key_file(plan, fitted.party, key), (host, port), known, timeout, patience)
    run_prediction(fitted, open_source(data, **written), plan, meeting, receiver, output, force=force)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to put both companies.")] = Path("demo-vertical"),
    n: Annotated[int, typer.Option("--n", help="How many made-up customers.")] = 2_000,
    protocol: Annotated[
        str, typer.Option("--protocol", help="gram or residual.", autocompletion=one_of("gram", "residual"))
    ] = "gram",
    force: Force = False,
) -> None:
    """Run two made-up companies as two processes on this machine."""
    from kakuran.cli.vertical_demo import run_demo

    run_demo(folder, n, protocol, force=force)
