"""What the vertical commands share: reading our table, meeting the others, writing what came of it.

Two companies on one machine, each in a folder and a process of its own.

kakuran vertical: one regression across companies, one command a party.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kakuran.cli.console import answer_json, answer_table, check_new, check_picture, check_report, say
from kakuran.cli.options import (
    AS_FOUND,
    LAST_PORT,
    Force,
    Host,
    Json,
    Lang,
    Language,
    Plot,
    Port,
    Report,
    Written,
    one_of,
    reads_csv,
)
from kakuran.errors import ProtocolError, ReleaseError
from kakuran.sockets import bare_host

if TYPE_CHECKING:
    from kakuran.schema import Source
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
    from kakuran.vertical import Party, VerticalPlan, draw_path, meet
    from kakuran.words import words_in

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

    from kakuran.release import check_table, write_table
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
    from kakuran.vertical import CRITERIA, all_columns

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
    from kakuran.schema import read_all

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


def run_demo(folder: Path, n: int, protocol: str, *, force: bool) -> None:
    """Make a bank and a shop, let each run its command, and compare with what pooling would have given."""
    import pyarrow.csv

    from kakuran.samples import companies
    from kakuran.vertical import VerticalFit

    if folder.exists() and not force:
        raise ReleaseError(f"{folder}: exists already; use --force to replace it")
    tables = dict(zip(("bank", "shop"), companies(n), strict=True))
    for name, table in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for made in ("plan.toml", f"{name}.key", f"{name}.fit.json", EARLIER):  # of a demo before; the rest is not ours
            (folder / name / made).unlink(missing_ok=True)
        pyarrow.csv.write_csv(table, folder / name / "customers.csv")
    bank, shop = (("--as", name, "--data", "customers.csv") for name in tables)
    _run(folder, bank=("init", *bank, "--id", "customer", "--target", "spending", "--protocol", protocol))
    shutil.copy(folder / "bank/plan.toml", folder / "shop")
    _run(folder, shop=("init", *shop, "--id", "customer"))
    shutil.copy(folder / "shop/plan.toml", folder / "bank")
    port = _free_port()
    _run(folder, bank=("serve", *bank, "--port", f"{port}"), shop=("join", f"127.0.0.1:{port}", *shop))
    fits = {name: VerticalFit.load(folder / name / f"{name}.fit.json") for name in tables}
    _compare(fits["bank"], fits["shop"], _pooled(tables["bank"], tables["shop"], fits["bank"].chosen))
    say(f"both folders are in {folder}; what travelled is in the transcripts of the *.fit.json")


def _pooled(bank: Any, shop: Any, chosen: tuple[str, ...]) -> dict[str, float]:
    """Least squares by somebody who sees both tables."""
    import numpy as np

    both = bank.join(shop, "customer", join_type="inner")
    design = np.column_stack([np.ones(both.num_rows), *(both.column(name).to_numpy() for name in chosen)])
    found = np.linalg.lstsq(design, both.column("spending").to_numpy(), rcond=None)[0]
    return dict(zip(("(intercept)", *chosen), found.tolist(), strict=True))


def _compare(bank: VerticalFit, shop: VerticalFit, pooled: dict[str, float]) -> None:
    ours = {"(intercept)": bank.intercept or 0.0}
    ours |= {name: own.coefficient for fit in (bank, shop) for name, own in fit.own.items()}
    rows = [[name, f"{ours[name]:.8g}", f"{value:.8g}"] for name, value in pooled.items()]
    answer_table("fitted by two companies, and by one that sees both tables", ["column", "together", "pooled"], rows)


def _run(folder: Path, **commands: Sequence[str]) -> None:
    """Every party's command at once, each a process of its own in its own folder."""
    with ThreadPoolExecutor(len(commands)) as pool:
        codes = list(pool.map(lambda name: _run_one(folder / name, commands[name]), commands))
    for (name, arguments), code in zip(commands.items(), codes, strict=True):
        if code:
            raise ProtocolError(f"{name}'s `kakuran vertical {arguments[0]}` ended with exit code {code}")


def _run_one(folder: Path, arguments: Sequence[str]) -> int:
    """Its exit code. What it answers is in its fit, so only its progress is shown, behind the name of the party."""
    command = [sys.executable, "-c", "from kakuran.cli import main; main()", "vertical", *arguments]
    pipes: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, cwd=folder, **pipes) as process:  # noqa: S603 - our own command
        for line in process.stderr or ():
            say(f"{folder.name} │ {line.rstrip()}")
    return process.returncode


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])


app = typer.Typer(no_args_is_help=True, help="One regression over columns that several companies hold.")

PlanFile: TypeAlias = Annotated[Path, typer.Option("--plan", help="The plan (TOML) all parties hold.")]
OwnData: TypeAlias = Annotated[Path, typer.Option("--data", help="Our own table: a CSV, Parquet or Arrow file.")]
Me: TypeAlias = Annotated[str, typer.Option("--as", help="Which party of the plan we are.")]
KeyFile: TypeAlias = Annotated[Path | None, typer.Option("--key", help="Our key; NAME.key beside the plan by default.")]
FitOutput: TypeAlias = Annotated[Path | None, typer.Option("--output", "-o", help="Our fit; NAME.fit.json by default.")]
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
    data: OwnData,
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
    from kakuran.schema import check_there, open_source
    from kakuran.vertical import OwnColumns, Terms, VerticalPlan, certificate_in, make_key, read_ids

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
    _warn_of_limits(made)
    say(f"fingerprint of {plan}: {made.fingerprint}")
    say("send the plan to the others; when all have joined, compare the fingerprint by telephone")


@app.command()
def show(plan: PlanFile = Path("plan.toml"), json: Json = False) -> None:
    """Show a plan and its fingerprint."""
    from dataclasses import asdict

    from kakuran.vertical import VerticalPlan

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
    _warn_of_limits(agreed)
    say(f"fingerprint: {agreed.fingerprint}")


def _warn_of_limits(plan: VerticalPlan) -> None:
    """Whoever made the plan chose the limits; who joins it should know where they are none."""
    for sentence in plan.limits.weakened:
        say(sentence, "warning")


@app.command()
@reads_csv
def serve(
    me: Me,
    data: OwnData,
    plan: PlanFile = Path("plan.toml"),
    key: KeyFile = None,
    host: Host = _ANYWHERE,
    port: Port = _PORT,
    output: FitOutput = None,
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
    data: OwnData,
    plan: PlanFile = Path("plan.toml"),
    key: KeyFile = None,
    host: Host = _ANYWHERE,
    port: Port = _PORT,
    output: FitOutput = None,
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
    data: OwnData,
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

    run_demo(folder, n, protocol, force=force)
