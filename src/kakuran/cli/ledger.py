"""kakuran ledger: what was promised to people, and what releases of them have spent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kakuran.cli.console import answer_json, answer_table, said, say
from kakuran.cli.options import Json, Results, grouped
from kakuran.words import Phrase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.design import Account, LedgerEntry, Spending
    from kakuran.words import Words

app = typer.Typer(no_args_is_help=True, help="What releases of the same people have spent of what they were promised.")

LedgerName: TypeAlias = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger.")]


@app.command()
def init(
    ledger: LedgerName,
    people: Annotated[str, typer.Option("--people", help="Who they are, in words, as 'survey 2026'.")],
    k: Annotated[
        float | None, typer.Option("--k", help="Over all releases, nobody can be linked with probability above 1/k.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", help="All releases together are (ε, δ)-differentially private."),
    ] = None,
    delta: Annotated[float, typer.Option("--delta", help="δ of --epsilon.")] = 1e-6,
    certainty: Annotated[
        float | None,
        typer.Option(
            "--certainty", help="The probability over the draws of all releases with which k holds; every draw without."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a ledger, with what is promised over all releases: k, ε or both."""
    from kakuran.design import Ledger

    account = Ledger.create(ledger, people, k=k, epsilon=epsilon, delta=delta, certainty=certainty).account()
    say(f"{ledger}: {_promised(account)}")
    if json:
        answer_json(described(account))


@app.command()
@grouped
def show(ledger: LedgerName, results: Annotated[Results, "plot", "lang", "force", "json"]) -> None:
    """Show what every release has spent, and what is left."""
    from kakuran.design import Ledger

    results.check()
    account = Ledger(ledger).account()
    results.answer(described(account), lambda: _show(account))
    results.draw(lambda words: _picture(account, words), public=False)
    for entry in account.entries:
        if entry.state == "begun":
            say(f"{entry.number} ({entry.spending.release}) is not known to be finished; it counts", "note")
    if not results.json:
        say_spent(account)
    if not results.json and math.isfinite(account.local) and account.spent:
        say(f"against somebody who knows which records are whose ε₀ adds up, to {account.local:.3g}")


@contextmanager
def entered(ledger: Path | None, release: Path, kind: str, **facts: Any) -> Iterator[None]:
    """Enter a release that promises k alone, if there is a ledger, and say what that leaves."""
    if ledger is None:
        yield
        return
    from kakuran.design import Ledger, Spending

    with Ledger(ledger).entered(Spending(release.name, kind, **facts)):
        yield
    say_spent(Ledger(ledger).account())
    say(
        "it promises that nobody is linked to a record; what several such tables say of values no ledger counts", "note"
    )


def say_what_would_be_spent(ledger: Path, spending: Spending) -> None:
    """Tell what a ledger would say of a release, which it refuses as it would if it were made."""
    from kakuran.design import Ledger

    account = Ledger(ledger).check(spending)
    say(Phrase("{ledger} would let it be released, and then:", ledger=ledger))
    say_spent(account)


def say_spent(account: Account) -> None:
    """Tell what is spent and what is left over all releases."""
    if math.isfinite(account.k):
        promised = "" if account.promised_k is None else f"; {account.promised_k:g} was promised"
        say(f"over all releases k = {account.k:.4g} is left{promised}")
        if account.failure:
            say(Phrase("it holds in all draws together with probability {sure:.10g} or more", sure=1 - account.failure))
    if not math.isfinite(account.epsilon):
        say("no ε can be promised over all releases: one of them promises none")
    elif account.spent:
        promised = "" if account.promised_epsilon is None else f" of {account.promised_epsilon:g}"
        way = f", by {account.accounting} composition" if len(account.spent) > 1 else ""
        say(f"over all releases ε = {account.epsilon:.3g}{promised} is spent at δ = {account.delta:g}{way}")


def described(account: Account) -> dict[str, Any]:
    """What a ledger says, for programs."""
    released = [
        entry.to_dict() | {"epsilon": _alone(account, entry), "epsilon_so_far": so_far}
        for entry, so_far in zip(account.entries, account.running, strict=True)
    ]
    spent = {"epsilon": account.epsilon, "accounting": account.accounting, "local": account.local}
    left = {"k": account.k, "certainty": 1 - account.failure}
    return account.to_dict() | {"releases": released, "left": left, "spent": spent}


def _promised(account: Account) -> str:
    sure = "" if account.certainty is None else f" ({said(Phrase('certainty'))} {account.certainty:.10g})"
    parts = [] if account.promised_k is None else [f"k = {account.promised_k:g}{sure}"]
    parts += [] if account.promised_epsilon is None else [f"ε = {account.promised_epsilon:g} at δ = {account.delta:g}"]
    return f"{' and '.join(parts)} over all releases, promised to {account.people}"


def _show(account: Account) -> None:
    rows = [
        [str(entry.number), entry.spending.release, _how(entry), *_hiding(entry.spending)]
        + [f"{number:.3g}" for number in (entry.spending.local, _alone(account, entry), so_far)]
        for entry, so_far in zip(account.entries, account.running, strict=True)
    ]
    header = ["", "release", "how", "people", "k", "ε₀", "ε", "ε so far"]
    answer_table(_promised(account), header, rows, text_columns=3)


def _hiding(spending: Spending) -> list[str]:
    """Among how many people everybody is hidden, and k; nothing where no records are released."""
    return [f"{spending.n:,}", f"{spending.k:.4g}"] if math.isfinite(spending.k) else ["", ""]


def _alone(account: Account, entry: LedgerEntry) -> float:
    return entry.spending.alone.epsilon(account.delta)


def _how(entry: LedgerEntry) -> str:
    spending = entry.spending
    words = [spending.kind, *(["joined"] if spending.joined else []), *([] if spending.shuffled else ["order kept"])]
    return ", ".join([*words, *([] if entry.state == "made" else [entry.state])])


def _picture(account: Account, words: Words) -> Figure:
    """ε of all releases up to each; or, where none is promised, the k of each."""
    from kakuran.charts import loss_chart

    is_of_epsilon = account.promised_epsilon is not None
    promised = account.promised_epsilon if is_of_epsilon else account.promised_k
    numbers = account.running if is_of_epsilon else [entry.spending.k for entry in account.entries]
    bars = {
        f"{entry.number} {entry.spending.release}": number
        for entry, number in zip(account.entries, numbers, strict=True)
        if entry.counts
    }
    chosen = words("ledger_promised")
    title = words("ledger_epsilon" if is_of_epsilon else "ledger_k", people=account.people)
    along = words("ledger_epsilon_at", delta=f"{account.delta:g}") if is_of_epsilon else "k"
    return loss_chart(title, bars | {chosen: promised or 0.0}, along, chosen)
