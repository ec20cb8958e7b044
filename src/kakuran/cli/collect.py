"""kakuran collect: a survey whose answers are perturbed before they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kakuran.cli.console import answer_done, answer_json, answer_table, answer_text, check_new, said, say
from kakuran.cli.ledger import say_spent
from kakuran.cli.options import Force, Host, Json, LedgerFile, Port, grouped, to_write
from kakuran.errors import counted, needing
from kakuran.words import Phrase

if TYPE_CHECKING:
    from kakuran.collect import Store, Survey

app = typer.Typer(no_args_is_help=True, help="A survey whose answers are perturbed before they are sent.")

SurveyFile: TypeAlias = Annotated[Path, typer.Argument(metavar="SURVEY", help="The survey (TOML).")]
Output: TypeAlias = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]

ReleaseOutput: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", help="Release: .parquet, .csv; - is Parquet.", callback=to_write(".parquet"))
]


@dataclass(frozen=True)
class SurveyOptions:
    """A survey, and where its answers are."""

    survey: SurveyFile
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            envvar="KAKURAN_DATABASE",
            help="A file, or postgresql://user:password@host/name; beside the survey by default.",
        ),
    ] = None

    @contextmanager
    def opened(self) -> Iterator[tuple[Survey, Store]]:
        """The survey in the file and the store that goes with it."""
        from kakuran.collect import Survey

        with needing(Phrase("collecting a survey"), "collect"):
            from kakuran.collect import open_store
        survey = Survey.load(self.survey)
        with closing(open_store(self.database or self.survey.with_suffix(".db"), survey)) as store:
            yield survey, store


def _warn_of_small_k(survey: Survey, n: int) -> None:
    """Say so while fewer have answered than the promise needs."""
    if survey.k is None or survey.expected_n is None or not n:
        return
    reached = survey.plan_for(n).k
    if n < survey.expected_n and reached < survey.k:
        say(
            f"{n:,} of the expected {survey.expected_n:,} have answered: k is "
            f"{reached:.3g} so far, not {survey.k:g}, and a release says so",
            "warning",
        )


@app.command()
def init(survey: SurveyFile = Path("survey.toml"), force: Force = False, json: Json = False) -> None:
    """Write a survey to start from."""
    from importlib import resources

    from kakuran.writing import write_text

    check_new(survey, force=force)
    template = resources.files("kakuran.collect") / "template.toml"
    write_text(survey, template.read_text(encoding="utf-8"))
    say(f"{survey} is yours to edit; then: kakuran collect serve {survey}")
    answer_done(json, survey=survey)


@app.command()
@grouped
def serve(
    kept: SurveyOptions,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="Where the owner's token is; beside the survey by default.")
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    certificate: Annotated[Path | None, typer.Option("--certificate", help="For TLS (PEM).")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Of the certificate (PEM).")] = None,
    proxy: Annotated[
        list[str] | None, typer.Option("--proxy", help="Address of a proxy in front of us. Repeatable.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", help="Records a second from one address; 0 for no limit.")] = 50.0,
    json: Json = False,
) -> None:
    """Serve the survey and its dashboard until Ctrl-C (or SIGTERM)."""
    import math

    if (certificate is None) != (key is None):
        raise typer.BadParameter(said(Phrase("--certificate and --key go together")))
    with kept.opened() as (survey, store):
        from kakuran.collect import RequestLimits, Serving, create_app, fingerprints, load_token, other_versions

        serving = Serving(host, port, certificate, key, tuple(proxy or ()), RequestLimits(rate=rate or math.inf))
        token = load_token(token_file or kept.survey.with_suffix(".token"))
        server = serving.server(create_app(survey, store, token, limits=serving.limits))
        with serving.listen() as listening:
            address = serving.address(listening)
            say(f"survey {survey.id}, version {survey.version}: {survey.promise}")
            for version, count in other_versions(store).items():
                say(f"the database holds {counted(count, 'record')} of version {version}, counted apart", "warning")
            for language in survey.untranslated:
                say(f'the page\'s own words, as on its buttons, will be English in "{language}"', "note")
            for crowded in survey.crowded:
                say(crowded, "note")
            say(f"perturb.js {fingerprints()['perturb.js']}")
            if json:
                answer_json({"respondents": f"{address}/", "dashboard": f"{address}/dashboard#{token}"})
            else:
                answer_text(f"respondents  {address}/")
                answer_text(f"dashboard    {address}/dashboard#{token}")
            try:
                server.run([listening])
            except KeyboardInterrupt:  # uvicorn has stopped in good order and passes the signal on
                say("stopped; everything acknowledged is stored")


@app.command()
@grouped
def status(kept: SurveyOptions, json: Json = False) -> None:
    """How many have answered, and what that promises them."""
    with kept.opened() as (survey, store):
        from kakuran.collect import status_of

        told = status_of(store)
    if json:
        answer_json(told)
        return
    shown = {name.replace("_", " "): value for name, value in told.items() if value not in (None, {})}
    rows = [[name, f"{value:.4g}" if isinstance(value, float) else str(value)] for name, value in shown.items()]
    answer_table(survey.title[survey.languages[0]], ["", ""], rows, text_columns=2)
    _warn_of_small_k(survey, told["n"])


@app.command()
@grouped
def export(
    kept: SurveyOptions, output: ReleaseOutput, ledger: LedgerFile = None, force: Force = False, json: Json = False
) -> None:
    """Write the records so far as a release, .parquet or .csv.

    Exports of one survey are one release that grows: each holds the earlier ones and at least as many new records as
    the promise needs, so that nobody stands out between two of them. Later answers are left out until they are enough.
    """
    from kakuran.release import check_target

    check_target(output, force=force)
    with kept.opened() as (survey, store):
        from kakuran.collect import export_survey, spent_by, standing
        from kakuran.design import Ledger

        release = export_survey(store)
        stands = standing(store, store.count())
        spending = None if ledger is None else spent_by(store, release, output.name)
    with nullcontext() if ledger is None or spending is None else Ledger(ledger).entered(spending):
        release.save(output, force=force)
    say(f"{counted(release.n, 'record')} in {output}, in {counted(len(stands['cohorts']), 'cohort')}")
    if ledger is not None:
        say_spent(Ledger(ledger).account())
        say("the ledger counts what exports say; what the server sees of answers as they come is not in it", "note")
    if stands["waiting"]:
        waiting, missing = counted(stands["waiting"], "later answer"), stands["missing"]
        if missing is None:
            say(
                Phrase("left out for good, as a survey with certainty is exported once: {waiting}", waiting=waiting),
                "warning",
            )
        else:
            say(f"{waiting} left out until {missing:,} more have come to hide among", "warning")
    _warn_of_small_k(survey, min(stands["cohorts"]))
    answer_done(json, release=output, records=release.n, cohorts=stands["cohorts"], waiting=stands["waiting"])


@app.command()
@grouped
def close(kept: SurveyOptions, json: Json = False) -> None:
    """Take no more answers; running servers obey at once."""
    with kept.opened() as (survey, store):
        store.set_state("closed")
        records = store.count()
        say(f"{survey.id} is closed with {counted(records, 'record')}; `kakuran collect reopen` takes answers again")
    answer_done(json, survey=survey.id, state="closed", records=records)


@app.command()
@grouped
def reopen(kept: SurveyOptions, json: Json = False) -> None:
    """Take answers again."""
    with kept.opened() as (survey, store):
        store.set_state("open")
        say(f"{survey.id} is open")
    answer_done(json, survey=survey.id, state="open")


@app.command()
@grouped
def invite(
    kept: SurveyOptions,
    count: Annotated[int, typer.Option("--count", min=1, help="How many invitations.")],
    address: Annotated[str, typer.Option("--address", help="Of the survey, as https://survey.example/.")],
    output: Output,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make links that are good for one answer sheet each."""
    check_new(output, force=force)
    with kept.opened() as (_, store):
        from kakuran.collect import invite as make_links
        from kakuran.writing import whole_or_nothing

        with whole_or_nothing(output, is_private=True) as folder:
            file = folder / output.name
            make_links(store, count, address, lambda links: file.write_text("\n".join([*links, ""]), encoding="utf-8"))
    say(f"{count:,} links in {output}; they are kept nowhere else")
    answer_done(json, links=count, file=output)


@app.command()
@grouped
def backup(kept: SurveyOptions, output: Output, force: Force = False, json: Json = False) -> None:
    """Copy the whole database into one file, while the server runs."""
    check_new(output, force=force)
    with kept.opened() as (_, store):
        from kakuran.collect import back_up

        records = back_up(store, output)
    say(f"{counted(records, 'record')} in {output}")
    answer_done(json, backup=output, records=records)


@app.command()
@grouped
def restore(
    kept: SurveyOptions,
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="A backup.")],
    json: Json = False,
) -> None:
    """Fill a new database, SQLite or PostgreSQL, from a backup."""
    with kept.opened() as (_, store):
        from kakuran.collect import restore as fill

        store.claim()
        records = fill(store, source)
    say(f"{counted(records, 'record')} restored")
    answer_done(json, records=records)
