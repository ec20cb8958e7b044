"""kakuran vertical: one regression across companies, one command a party."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kakuran.cli.console import answer_done, answer_json, answer_table, check_new, said, say
from kakuran.cli.options import (
    LAST_PORT,
    AnswerResults,
    CsvOptions,
    Force,
    Host,
    Json,
    Level,
    Port,
    Results,
    grouped,
    one_of,
    to_read,
    to_write,
)
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.errors import ProtocolError, ReleaseError
from kakuran.sockets import bare_host
from kakuran.words import Phrase

if TYPE_CHECKING:
    from kakuran.vertical import Meeting, VerticalFit, VerticalPlan

app = typer.Typer(no_args_is_help=True, help="One regression over columns that several companies hold.")

PlanFile: TypeAlias = Annotated[Path, typer.Option("--plan", help="The plan (TOML) all parties hold.")]
OwnData: TypeAlias = Annotated[
    Path, typer.Option("--data", help="Our own table: a CSV, Parquet or Arrow file.", callback=to_read)
]
Me: TypeAlias = Annotated[str, typer.Option("--as", help="Which party of the plan we are.")]
Despite: TypeAlias = Annotated[
    bool,
    typer.Option("--despite-earlier-runs", help="Run though few people differ from earlier runs, or those told much."),
]
KeyFile: TypeAlias = Annotated[Path | None, typer.Option("--key", help="Our key; NAME.key beside the plan by default.")]


@app.command()
@grouped
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
    json: Json = False,
    *,
    csv: CsvOptions,
) -> None:
    """Make a plan or join it: add our columns, make our key.

    The first party makes it and names the target; the others join the one that is there.
    """
    from kakuran.vertical import agree, own_key, user_memory

    file, memory = key or own_key(plan, me), user_memory()
    is_new = not file.exists()
    given = {
        "protocol": protocol,
        "search": search,
        "criterion": criterion,
        "ranking": ranking,
        "forced": tuple(forced) if forced else None,
        "least": least,
        "intercept": intercept,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    made = agree(plan, me, csv.open(data), ids, columns, target=target, key=key, memory=memory, **settings)
    brought = ", ".join(made.terms(me).columns)
    say(f"{me} brings {brought}; key in {file}, which never leaves this machine")
    if is_new and memory.exists():
        say(
            Phrase(
                "runs with other keys are remembered in {memory}, and count for this one, too; a company that shares "
                "nothing with them sets XDG_STATE_HOME to a folder of its own",
                memory=memory,
            ),
            "warning",
        )
    if not made.holder:
        say(f"the target, {made.target}, is none of them: another party is to bring it")
    _warn_of_limits(made)
    say(f"fingerprint of {plan}: {made.fingerprint}")
    say("send the plan to the others; when all have joined, compare the fingerprint by telephone")
    answer_done(json, plan=plan, party=me, columns=list(made.terms(me).columns), fingerprint=made.fingerprint)


@app.command()
def show(plan: PlanFile = Path("plan.toml"), json: Json = False) -> None:
    """Show a plan and its fingerprint."""
    from dataclasses import asdict

    from kakuran.vertical import VerticalPlan

    agreed = VerticalPlan.load(plan)
    if json:
        answer_json({"fingerprint": agreed.fingerprint, **asdict(agreed)})
        return
    rows = [
        [terms.name, ", ".join(terms.columns), terms.id, f"{agreed.most_ids(terms.name):,}"] for terms in agreed.parties
    ]
    answer_table(
        f"{agreed.target} of {agreed.holder or 'nobody yet'}, explained by",
        ["party", "columns", "ids", "most ids"],
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


@dataclass(frozen=True)
class SeatOptions:
    """Our place at the table: what we bring, who we are, where we are met."""

    data: OwnData
    plan: PlanFile = Path("plan.toml")
    key: KeyFile = None
    host: Host = "0.0.0.0"  # noqa: S104 - who may talk to us is settled by pinned certificates
    port: Port = 7117
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds to wait for a message.")] = 60.0
    patience: Annotated[float, typer.Option("--patience", help="Seconds to wait for the others to come.")] = 300.0
    fingerprint: Annotated[
        str | None,
        typer.Option("--fingerprint", help="The plan's fingerprint as the others read it out; once a plan."),
    ] = None

    def recognised(self, me: str) -> VerticalPlan:
        """The plan, once its certificates are known to be the others'."""
        from kakuran.vertical import VerticalPlan, recognise, user_memory

        plan = VerticalPlan.load(self.plan)
        plan.check_complete()
        say(f"{me} brings {', '.join(plan.held_by(me))} by {plan.protocol}")
        _warn_of_limits(plan)
        recognise(plan, me, user_memory(), self.fingerprint)
        return plan

    def meeting(self, me: str, addresses: Sequence[str]) -> Meeting:
        """Where to meet the others."""
        from kakuran.vertical import Meeting, own_key

        known = [_address(text) for text in addresses]
        return Meeting(self.key or own_key(self.plan, me), (self.host, self.port), known, self.timeout, self.patience)


def _address(text: str) -> tuple[str, int]:
    """HOST:PORT taken apart."""
    host, sign, port = text.rpartition(":")
    if not sign or not host or not port.isdecimal() or int(port) > LAST_PORT:
        raise typer.BadParameter(said(Phrase("an address is given as HOST:PORT, got {text!r}", text=text)))
    return bare_host(host), int(port)


@dataclass(frozen=True)
class FitOptions:
    """Who fits, and what is kept of it."""

    me: Me
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Our fit; NAME.fit.json by default.")] = None
    state: Annotated[
        Path | None, typer.Option("--state", help="Folder for resuming; .NAME.run beside the plan by default.")
    ] = None
    despite: Despite = False
    level: Level = DEFAULT_LEVEL


@app.command()
@grouped
def serve(options: FitOptions, seat: SeatOptions, csv: CsvOptions, results: AnswerResults) -> None:
    """Wait for the other parties and fit the plan with them."""
    _fit((), options, seat, csv, results)


@app.command()
@grouped
def join(
    addresses: Annotated[
        list[str], typer.Argument(metavar="HOST:PORT", help="HOST:PORT of every party before us in the plan.")
    ],
    options: FitOptions,
    seat: SeatOptions,
    csv: CsvOptions,
    results: AnswerResults,
) -> None:
    """Connect to the parties before us and fit the plan with them.

    Waits for those after us.
    """
    _fit(addresses, options, seat, csv, results)


def _fit(addresses: Sequence[str], options: FitOptions, seat: SeatOptions, csv: CsvOptions, results: Results) -> None:
    """Meet the others, fit, and write and show what came of it."""
    from kakuran.vertical import Party, meet, read_own, user_memory

    me, beside, meeting = options.me, seat.plan.parent, seat.meeting(options.me, addresses)
    source = csv.open(seat.data)
    output = options.output or beside / f"{me}.fit.json"
    check_new(output, force=results.force)
    results.check()
    plan = seat.recognised(me)
    say(f"plan {plan.fingerprint}")
    party = Party(
        me,
        plan,
        read_own(source, plan.terms(me).id),
        state=options.state or beside / f".{me}.run",
        memory=user_memory(),  # whatever we are called in this plan, and wherever it and its state are
        despite_earlier_runs=options.despite,
        level=options.level,
        notify=say,
    )
    with _interruptible(), meet(plan, me, meeting, say) as links:
        fit = party.fit(links)
    fit.save(output, force=results.force)
    say(f"wrote {output}: for us alone")
    results.tell(lambda: fit.report(results.lang), public=False)
    results.draw(lambda words: fit.plot(words.of), public=False)
    results.answer(fit.to_dict(), lambda: _show_fit(fit, plan))


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
    interval = f"{100 * fit.inference.level:g} % interval"
    rows = [row[:4] + row[5:] for row in all_columns(fit)]  # without t, so that it fits a terminal
    answer_table(title, ["column", "party", "coef.", "s.e.", "p", interval, "VIF"], rows, text_columns=2)
    own = [[name, f"{own.coefficient:.6g}", f"{own.standard_error:.3g}"] for name, own in fit.own.items()]
    answer_table("our own columns, in their own units", ["column", "coefficient", "std. error"], own)
    quality = fit.quality
    if plan.search != "none":
        say(f"chosen {plan.search} by {CRITERIA[plan.criterion]}, of every party at least {plan.least}")
    say(f"R² {quality.r_squared:.4f}, AIC {quality.aic:.2f}; {quality.digits} digits can be relied on")
    for sentence in fit.exposure.sentences():
        say(f"leakage: {sentence}")


@app.command()
@grouped
def predict(
    fit: Annotated[Path, typer.Option("--fit", help="Our fit, as serve or join wrote it.")],
    seat: SeatOptions,
    addresses: Annotated[
        list[str] | None, typer.Argument(metavar="HOST:PORT", help="HOST:PORT of every party before us.")
    ] = None,
    receiver: Annotated[str | None, typer.Option("--receiver", help="Who gets them; the target's holder.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Predictions by id.", callback=to_write(".csv"))
    ] = Path("predictions.csv"),
    despite: Despite = False,
    force: Force = False,
    json: Json = False,
    *,
    csv: CsvOptions,
) -> None:
    """Predict new records together; only the receiver learns them."""
    from kakuran.release import check_table, write_table
    from kakuran.vertical import VerticalFit, meet, predict_together, read_own, user_memory

    fitted = VerticalFit.load(fit)
    meeting, source = seat.meeting(fitted.party, addresses or ()), csv.open(seat.data)
    check_table(output, force=force)
    plan = seat.recognised(fitted.party)
    receiver, ids = receiver or plan.holder, plan.terms(fitted.party).id
    table = read_own(source, ids)
    with _interruptible(), meet(plan, fitted.party, meeting, say) as links:
        predictions = predict_together(
            links,
            plan,
            fitted,
            table,
            receiver=receiver,
            memory=user_memory(),
            despite_earlier_runs=despite,
            notify=say,
        )
    if predictions is None:
        say(f"{receiver} has the predictions")
        answer_done(json, receiver=receiver)
        return
    rows = predictions.with_ids(table, ids, plan.target)
    write_table(output, rows, is_private=True)
    say(f"wrote {output}: {rows.num_rows:,} predicted")
    answer_done(json, receiver=receiver, predictions=output, records=rows.num_rows)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to put both companies.")] = Path("demo-vertical"),
    n: Annotated[int, typer.Option("--n", help="How many made-up customers.")] = 2_000,
    protocol: Annotated[
        str, typer.Option("--protocol", help="gram or residual.", autocompletion=one_of("gram", "residual"))
    ] = "gram",
    force: Force = False,
    json: Json = False,
) -> None:
    """Run two made-up companies as two processes on this machine."""
    import pyarrow.csv

    from kakuran.samples import companies
    from kakuran.vertical import VerticalFit, VerticalPlan

    if folder.exists() and not force:
        raise ReleaseError(Phrase("{folder}: exists already; use --force to replace it", folder=folder))
    tables = dict(zip(("bank", "shop"), companies(n), strict=True))
    for name, table in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        # Of a demo before; the rest is not ours.
        for made in ("plan.toml", f"{name}.key", f"{name}.fit.json", "kakuran/earlier.runs"):
            (folder / name / made).unlink(missing_ok=True)
        pyarrow.csv.write_csv(table, folder / name / "customers.csv")
    bank, shop = (("--as", name, "--data", "customers.csv") for name in tables)
    _run(folder, bank=("init", *bank, "--id", "customer", "--target", "spending", "--protocol", protocol))
    shutil.copy(folder / "bank/plan.toml", folder / "shop")
    _run(folder, shop=("init", *shop, "--id", "customer"))
    shutil.copy(folder / "shop/plan.toml", folder / "bank")
    port = _free_port()
    said = {name: ("--fingerprint", VerticalPlan.load(folder / name / "plan.toml").fingerprint) for name in tables}
    _run(
        folder,
        bank=("serve", *bank, "--port", f"{port}", *said["shop"]),
        shop=("join", f"127.0.0.1:{port}", *shop, *said["bank"]),
    )
    fits = {name: VerticalFit.load(folder / name / f"{name}.fit.json") for name in tables}
    pooled = _pooled(tables["bank"], tables["shop"], fits["bank"].chosen)
    together = _together(fits["bank"], fits["shop"])
    answer_done(json, folder=folder, together=together, pooled=pooled)
    if not json:
        _compare(together, pooled)
    say(f"both folders are in {folder}; what travelled is in the transcripts of the *.fit.json")


def _pooled(bank: Any, shop: Any, chosen: tuple[str, ...]) -> dict[str, float]:
    """Least squares by somebody who sees both tables."""
    import numpy as np

    both = bank.join(shop, "customer", join_type="inner")
    design = np.column_stack([np.ones(both.num_rows), *(both.column(name).to_numpy() for name in chosen)])
    found = np.linalg.lstsq(design, both.column("spending").to_numpy(), rcond=None)[0]
    return dict(zip(("(intercept)", *chosen), found.tolist(), strict=True))


def _together(bank: VerticalFit, shop: VerticalFit) -> dict[str, float]:
    own = {name: own.coefficient for fit in (bank, shop) for name, own in fit.own.items()}
    return {"(intercept)": bank.intercept or 0.0, **own}


def _compare(ours: dict[str, float], pooled: dict[str, float]) -> None:
    rows = [[name, f"{ours[name]:.8g}", f"{value:.8g}"] for name, value in pooled.items()]
    answer_table("fitted by two companies, and by one that sees both tables", ["column", "together", "pooled"], rows)


def _run(folder: Path, **commands: Sequence[str]) -> None:
    """Every party's command at once, each a process of its own in its own folder."""
    with ThreadPoolExecutor(len(commands)) as pool:
        codes = list(pool.map(lambda name: _run_one(folder / name, commands[name]), commands))
    for (name, arguments), code in zip(commands.items(), codes, strict=True):
        if code:
            raise ProtocolError(
                Phrase(
                    "{name}'s `kakuran vertical {command}` ended with exit code {code}",
                    name=name,
                    command=arguments[0],
                    code=code,
                )
            )


def _run_one(folder: Path, arguments: Sequence[str]) -> int:
    """Its exit code. What it answers is in its fit, so only its progress is shown, behind the name of the party."""
    command = [sys.executable, "-c", "from kakuran.cli import main; main()", "vertical", *arguments]
    pipes: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    own = os.environ | {"XDG_STATE_HOME": str(folder.resolve())}  # each a company with a memory of its own
    with subprocess.Popen(command, cwd=folder, env=own, **pipes) as process:  # noqa: S603 - our own command
        for line in process.stderr or ():
            say(f"{folder.name} │ {line.rstrip()}")
    return process.returncode


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])
