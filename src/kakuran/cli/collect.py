"""What the collect commands share: the survey with its store, and what to tell of it.

kakuran collect: a survey whose answers are perturbed before they are sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kakuran.cli.console import answer_json, answer_table, answer_text, check_new, say
from kakuran.cli.options import Force, Host, Json, Port
from kakuran.errors import CollectError, counted, needing

if TYPE_CHECKING:
    from kakuran.collect import Serving, Store, Survey


@contextmanager
def opened(path: Path, database: str | None) -> Iterator[tuple[Survey, Store]]:
    """The survey in a file and the store that goes with it."""
    from kakuran.collect import Survey

    with needing("collecting a survey", "collect"):
        from kakuran.collect import open_store
    survey = Survey.load(path)
    with closing(open_store(database or path.with_suffix(".db"), survey)) as store:
        yield survey, store


def run_server(survey: Survey, store: Store, serving: Serving, token: str) -> None:
    """Print the addresses, then serve until told to stop."""
    from kakuran.collect import create_app, fingerprints

    server = serving.server(create_app(survey, store, token, limits=serving.limits))
    with serving.listen() as listening:
        address = serving.address(listening)
        say(f"survey {survey.id}, version {survey.version}: {_promise(survey)}")
        for version, count in other_versions(survey, store).items():
            say(f"the database holds {counted(count, 'record')} of version {version}, counted apart", "warning")
        say(f"perturb.js {fingerprints()['perturb.js']}")
        answer_text(f"respondents  {address}/")
        answer_text(f"dashboard    {address}/dashboard#{token}")
        try:
            server.run([listening])
        except KeyboardInterrupt:  # uvicorn has stopped in good order and passes the signal on
            say("stopped; everything acknowledged is stored")


def facts(survey: Survey, store: Store) -> dict[str, Any]:
    """How the survey stands."""
    from kakuran.collect import hidden_among, standing

    n = store.count()
    stands = standing(store, n)
    return {
        "id": survey.id,
        "version": survey.version,
        "state": store.state,
        "n": n,
        "expected_n": survey.expected_n,
        "minimum_n": survey.minimum_n,
        "k": survey.k,
        "k_reached": survey.plan_for(hidden_among(stands["cohorts"], n)).k if n else None,
        "exported": stands["cohorts"],
        "missing_for_export": stands["missing"],
        "epsilon": survey.plan.epsilon,
        "unused_invitations": store.unused_invitations() if survey.invitations else None,
        "other_versions": other_versions(survey, store),
    }


def warn_of_small_k(survey: Survey, n: int) -> None:
    """Say so while fewer have answered than the promise needs."""
    if survey.expected_n is not None and 0 < n < survey.expected_n:
        say(
            f"{n:,} of the expected {survey.expected_n:,} have answered: k is "
            f"{survey.plan_for(n).k:.3g} so far, not {survey.k:g}, and a release says so",
            "warning",
        )


def other_versions(survey: Survey, store: Store) -> dict[str, int]:
    """Records of other versions, where there are any."""
    return {version: count for version, count in store.counts().items() if version != survey.version and count}


def _promise(survey: Survey) -> str:
    promise = f"every answer sheet is {survey.plan.epsilon:.3g}-locally differentially private"
    if survey.k is None:
        return promise
    return f"{promise}; nobody is linked above 1/{survey.k:g} once {survey.expected_n:,} have answered"


app = typer.Typer(no_args_is_help=True, help="A survey whose answers are perturbed before they are sent.")

SurveyFile: TypeAlias = Annotated[Path, typer.Argument(metavar="SURVEY", help="The survey (TOML).")]
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
Output: TypeAlias = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]


@app.command()
def init(survey: SurveyFile = Path("survey.toml"), force: Force = False) -> None:
    """Write a survey to start from."""
    from importlib import resources

    from kakuran.writing import write_text

    check_new(survey, force=force)
    template = resources.files("kakuran.collect") / "template.toml"
    write_text(survey, template.read_text(encoding="utf-8"))
    say(f"{survey} is yours to edit; then: kakuran collect serve {survey}")


@app.command()
def serve(
    survey: SurveyFile,
    database: Database = None,
    token_file: TokenFile = None,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    certificate: Annotated[Path | None, typer.Option("--certificate", help="For TLS (PEM).")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Of the certificate (PEM).")] = None,
    proxy: Annotated[
        list[str] | None, typer.Option("--proxy", help="Address of a proxy in front of us. Repeatable.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", help="Records a second from one address; 0 for no limit.")] = 50.0,
) -> None:
    """Serve the survey and its dashboard until Ctrl-C (or SIGTERM)."""
    import math

    if (certificate is None) != (key is None):
        raise typer.BadParameter("--certificate and --key go together")
    with opened(survey, database) as (asked, store):
        from kakuran.collect import RequestLimits, Serving, load_token

        serving = Serving(host, port, certificate, key, tuple(proxy or ()), RequestLimits(rate=rate or math.inf))
        run_server(asked, store, serving, load_token(token_file or survey.with_suffix(".token")))


@app.command()
def status(survey: SurveyFile, database: Database = None, json: Json = False) -> None:
    """How many have answered, and what that promises them."""
    with opened(survey, database) as (asked, store):
        told = facts(asked, store)
    if json:
        answer_json(told)
        return
    shown = {name.replace("_", " "): value for name, value in told.items() if value not in (None, {})}
    rows = [[name, f"{value:.4g}" if isinstance(value, float) else str(value)] for name, value in shown.items()]
    answer_table(asked.title[asked.languages[0]], ["", ""], rows, text_columns=2)
    warn_of_small_k(asked, told["n"])


@app.command()
def export(survey: SurveyFile, output: Output, database: Database = None, force: Force = False) -> None:
    """Write the records so far as a release, .parquet or .csv.

    Exports of one survey are one release that grows: each holds the earlier ones and at least as many new records as
    the promise needs, so that nobody stands out between two of them. Later answers are left out until they are enough.
    """
    from kakuran.release import check_target

    check_target(output, force=force)
    with opened(survey, database) as (asked, store):
        from kakuran.collect import export_survey, standing

        release = export_survey(store)
        stands = standing(store, store.count())
    release.save(output, force=force)
    say(f"{counted(release.n, 'record')} in {output}, in {counted(len(stands['cohorts']), 'cohort')}")
    if stands["waiting"]:
        waiting, missing = counted(stands["waiting"], "later answer"), stands["missing"]
        say(f"{waiting} left out until {missing:,} more have come to hide among", "warning")
    warn_of_small_k(asked, min(stands["cohorts"]))


@app.command()
def close(survey: SurveyFile, database: Database = None) -> None:
    """Take no more answers; running servers obey at once."""
    with opened(survey, database) as (asked, store):
        store.set_state("closed")
        records = counted(store.count(), "record")
        say(f"{asked.id} is closed with {records}; `kakuran collect reopen` takes answers again")


@app.command()
def reopen(survey: SurveyFile, database: Database = None) -> None:
    """Take answers again."""
    with opened(survey, database) as (asked, store):
        store.set_state("open")
        say(f"{asked.id} is open")


@app.command()
def invite(
    survey: SurveyFile,
    count: Annotated[int, typer.Option("--count", min=1, help="How many invitations.")],
    address: Annotated[str, typer.Option("--address", help="Of the survey, as https://survey.example/.")],
    output: Output,
    database: Database = None,
    force: Force = False,
) -> None:
    """Make links that are good for one answer sheet each."""
    check_new(output, force=force)
    with opened(survey, database) as (asked, store):
        from kakuran.collect import new_secret, secret_hash
        from kakuran.writing import whole_or_nothing

        if not asked.invitations:
            raise CollectError(f"{survey}: says invitations = false, so nobody needs one")
        secrets = [new_secret() for _ in range(count)]
        with whole_or_nothing(output) as folder:
            links = "".join(f"{address.rstrip('/')}/#i={secret}\n" for secret in secrets)
            (folder / output.name).touch(0o600)
            (folder / output.name).write_text(links, encoding="utf-8")
            store.invite([secret_hash(secret) for secret in secrets])
    say(f"{count:,} links in {output}; they are kept nowhere else")


@app.command()
def backup(survey: SurveyFile, output: Output, database: Database = None, force: Force = False) -> None:
    """Copy the whole database into one file, while the server runs."""
    check_new(output, force=force)
    with opened(survey, database) as (_, store):
        from kakuran.collect import back_up

        say(f"{counted(back_up(store, output), 'record')} in {output}")


@app.command()
def restore(
    survey: SurveyFile,
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="A backup.")],
    database: Database = None,
) -> None:
    """Fill a new database, SQLite or PostgreSQL, from a backup."""
    with opened(survey, database) as (_, store):
        from kakuran.collect import restore as fill

        store.claim()
        say(f"{counted(fill(store, source), 'record')} restored")
