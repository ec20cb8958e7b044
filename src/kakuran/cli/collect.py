"""kakuran collect: a survey whose answers are perturbed before they are sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kakuran.cli.console import answer_json, answer_table, say
from kakuran.cli.options import Force, Json
from kakuran.errors import CollectError, MissingExtraError, ReleaseError

if TYPE_CHECKING:
    from kakuran.collect import Survey
    from kakuran.collect.store import Store

app = typer.Typer(no_args_is_help=True, help="A survey whose answers are perturbed before they are sent.")

SurveyFile: TypeAlias = Annotated[Path, typer.Argument(help="The survey (TOML).")]
Database: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="KAKURAN_DATABASE",
        help="A file, or postgresql://user:password@host/name; beside the survey by default.",
    ),
]
TokenFile: TypeAlias = Annotated[
    Path | None, typer.Option("--token-file", help="Where the owner's token is; beside the survey by default.")
]


@app.command()
def init(survey: SurveyFile = Path("survey.toml"), force: Force = False) -> None:
    """Write a survey to start from."""
    from importlib import resources

    if survey.exists() and not force:
        raise ReleaseError(f"{survey}: exists already; use --force to replace it")
    template = resources.files("kakuran.collect") / "template.toml"
    try:
        survey.write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        raise ReleaseError(f"{survey}: could not be written: {error.strerror or error}") from error
    say(f"{survey} is yours to edit; then: kakuran collect serve {survey}")


@app.command()
def serve(
    survey: SurveyFile,
    database: Database = None,
    token_file: TokenFile = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 takes a free one.")] = 8080,
    certificate: Annotated[Path | None, typer.Option("--certificate", help="For TLS (PEM).")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Of the certificate (PEM).")] = None,
    proxy: Annotated[
        list[str] | None, typer.Option("--proxy", help="Address of a proxy in front of us. Repeatable.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", help="Records a second from one address; 0 for no limit.")] = 50.0,
) -> None:
    """Serve the survey and its dashboard until told to stop (SIGTERM or Ctrl-C)."""
    import math

    opened, store = _open(survey, database)
    from kakuran.collect.limits import Limits
    from kakuran.collect.owner import load_token
    from kakuran.collect.pages import fingerprints
    from kakuran.collect.server import create_app
    from kakuran.collect.serving import Serving

    if (certificate is None) != (key is None):
        raise typer.BadParameter("--certificate and --key go together")
    token = load_token(token_file or survey.with_suffix(".token"))
    limits = Limits(rate=rate or math.inf)
    serving = Serving(host, port, certificate, key, tuple(proxy or ()), limits)
    server = serving.server(create_app(opened, store, token, limits=limits))
    with serving.listen() as listening:
        address = serving.address(listening)
        say(f"survey {opened.id}, version {opened.version}: {_promise(opened)}")
        _tell_of_other_versions(opened, store)
        say(f"perturb.js {fingerprints()['perturb.js']}")
        typer.echo(f"respondents  {address}/")
        typer.echo(f"dashboard    {address}/dashboard#{token}")
        try:
            server.run([listening])
        except KeyboardInterrupt:  # uvicorn has stopped in good order and passes the signal on
            say("stopped; everything acknowledged is stored")


@app.command()
def status(survey: SurveyFile, database: Database = None, json: Json = False) -> None:
    """How many have answered, and what that promises them."""
    opened, store = _open(survey, database)
    n, counts = store.count(), store.counts()
    reached = opened.plan_for(n).k if n else None
    facts = {
        "id": opened.id,
        "version": opened.version,
        "state": store.state,
        "n": n,
        "expected_n": opened.expected_n,
        "minimum_n": opened.minimum_n,
        "k": opened.k,
        "k_reached": reached,
        "epsilon": opened.plan.epsilon,
        "unused_invitations": store.unused_invitations() if opened.invitations else None,
        "other_versions": {version: count for version, count in counts.items() if version != opened.version},
    }
    if json:
        answer_json(facts)
        return
    rows = [
        [name.replace("_", " "), f"{value:,.4g}" if isinstance(value, float) else str(value)]
        for name, value in facts.items()
        if value not in (None, {})
    ]
    answer_table("survey", ["", ""], rows, text_columns=2)
    _warn_of_small_k(opened, n)


@app.command()
def export(
    survey: SurveyFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Release to write (.parquet or .csv).")],
    database: Database = None,
    force: Force = False,
) -> None:
    """Write the records so far as a release, in random order."""
    opened, store = _open(survey, database)
    from kakuran.collect.live import Live
    from kakuran.collect.messages import Form

    release = Live(store, Form(opened)).snapshot().release()
    release.save(output, force=force)
    say(f"{release.n:,} records in {output}")
    _warn_of_small_k(opened, release.n)


@app.command()
def close(survey: SurveyFile, database: Database = None) -> None:
    """Take no more answers; a running server notices at once."""
    opened, store = _open(survey, database)
    store.set_state("closed")
    say(f"{opened.id} is closed with {store.count():,} records; `kakuran collect reopen` takes answers again")


@app.command()
def reopen(survey: SurveyFile, database: Database = None) -> None:
    """Take answers again."""
    opened, store = _open(survey, database)
    store.set_state("open")
    say(f"{opened.id} is open")


@app.command()
def invite(
    survey: SurveyFile,
    count: Annotated[int, typer.Option("--count", min=1, help="How many invitations.")],
    address: Annotated[str, typer.Option("--address", help="Of the survey, as https://survey.example/.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Links to write, one a line.")],
    database: Database = None,
    force: Force = False,
) -> None:
    """Make links that are good for one answer sheet each."""
    opened, store = _open(survey, database)
    from kakuran.collect.ids import new_secret, secret_hash
    from kakuran.release.files import whole_or_nothing

    if not opened.invitations:
        raise CollectError(f"{survey}: says invitations = false, so nobody needs one")
    if output.exists() and not force:
        raise ReleaseError(f"{output}: exists already; use --force to replace it")
    secrets = [new_secret() for _ in range(count)]
    with whole_or_nothing(output) as folder:
        links = "".join(f"{address.rstrip('/')}/#{secret}\n" for secret in secrets)
        (folder / output.name).write_text(links, encoding="utf-8")
        store.invite([secret_hash(secret) for secret in secrets])
    say(f"{count:,} links in {output}; they are kept nowhere else")


@app.command()
def backup(
    survey: SurveyFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Backup to write.")],
    database: Database = None,
    force: Force = False,
) -> None:
    """Copy the whole database at one moment into one file, while the server runs."""
    _, store = _open(survey, database)
    from kakuran.collect.store import back_up

    if output.exists() and not force:
        raise ReleaseError(f"{output}: exists already; use --force to replace it")
    say(f"{back_up(store, output):,} records in {output}")


@app.command()
def restore(
    survey: SurveyFile,
    source: Annotated[Path, typer.Argument(help="A backup.")],
    database: Database = None,
) -> None:
    """Fill a new database from a backup; from SQLite to PostgreSQL, too."""
    _, store = _open(survey, database)
    from kakuran.collect.store import restore as fill

    store.claim()
    say(f"{fill(store, source):,} records restored")


def _open(path: Path, database: str | None) -> tuple[Survey, Store]:
    from kakuran.collect import Survey

    try:
        from kakuran.collect.store import open_store
    except ModuleNotFoundError:
        raise MissingExtraError("collecting a survey", "collect") from None
    survey = Survey.load(path)
    return survey, open_store(database or path.with_suffix(".db"), survey)


def _promise(survey: Survey) -> str:
    promise = f"every answer sheet is {survey.plan.epsilon:.3g}-locally differentially private"
    if survey.k is None:
        return promise
    return f"{promise}; nobody is linked above 1/{survey.k:g} once {survey.expected_n:,} have answered"


def _warn_of_small_k(survey: Survey, n: int) -> None:
    if survey.expected_n is not None and 0 < n < survey.expected_n:
        say(
            f"[bold yellow]warning:[/] {n:,} of the expected {survey.expected_n:,} have answered: k is "
            f"{survey.plan_for(n).k:.3g} so far, not {survey.k:g}, and a release says so"
        )


def _tell_of_other_versions(survey: Survey, store: Store) -> None:
    others = {version: count for version, count in store.counts().items() if version != survey.version and count}
    for version, count in others.items():
        say(f"[bold yellow]warning:[/] the database also holds {count:,} records of version {version}, counted apart")
