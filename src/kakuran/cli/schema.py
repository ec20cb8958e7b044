"""kakuran schema: propose a schema, confirm what was drafted, check a table against it."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kakuran.cli.console import answer_done, check_new, progress, said, say
from kakuran.cli.ledger import say_spent
from kakuran.cli.options import (
    CsvOptions,
    Data,
    Force,
    Json,
    LedgerFile,
    SchemaFile,
    Sql,
    check_fits,
    grouped,
    say_drafted,
    say_formulas,
    say_wide_ends,
    to_write,
)
from kakuran.words import Phrase, so_many_records

if TYPE_CHECKING:
    from kakuran.schema import Schema, Source

USUAL_K = 10
"""The k at which bands are weighed before anybody has chosen one."""
USUAL_EPSILON = 0.1
"""What domains spend that are found privately, unless somebody says otherwise."""

app = typer.Typer(no_args_is_help=True, help="Propose a schema, confirm it, or check a table against one.")


@dataclass(frozen=True)
class PrivateOptions:
    """How domains are found without telling of anybody."""

    private: Annotated[
        bool,
        typer.Option("--private", help="Find domains privately: list what enough people share, and nothing else."),
    ] = False
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="With --private: ε over all columns; 0.1 by default.")
    ] = None
    delta: Annotated[
        float | None, typer.Option("--delta", help="With --private: δ over all columns; 1e-7 by default.")
    ] = None
    person: Annotated[
        str | None,
        typer.Option("--person", metavar="COLUMN", help="With --private: whose a row is; one row of each is used."),
    ] = None
    ledger: LedgerFile = None

    @property
    def budget(self) -> dict[str, float]:
        """ε and δ."""
        from kakuran.schema import DOMAIN_DELTA

        return {
            "epsilon": USUAL_EPSILON if self.epsilon is None else self.epsilon,
            "delta": DOMAIN_DELTA if self.delta is None else self.delta,
        }

    def check(self) -> None:
        """Refuse what says nothing without --private."""
        given = {name: value for name, value in vars(self).items() if name != "private" and value is not None}
        if given and not self.private:
            option = f"--{next(iter(given))}"
            raise typer.BadParameter(said(Phrase("{option} goes with --private", option=option)))


@app.command()
@grouped
def infer(
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Schema file to write (TOML).", callback=to_write(".toml"))
    ],
    privacy: PrivateOptions,
    sql: Sql = None,
    force: Force = False,
    json: Json = False,
    *,
    csv: CsvOptions,
) -> None:
    """Propose a schema, to be edited until all it says is public."""
    privacy.check()
    check_new(output, force=force)
    source = csv.open(data, sql)
    schema = _found_privately(source, output, privacy) if privacy.private else _read_off(source, output)
    spent = {"private": list(schema.private)} if schema.private else {}
    answer_done(json, schema=output, columns=len(schema), perturbed=[one.name for one in schema.perturbed], **spent)


def _found_privately(source: Source, output: Path, privacy: PrivateOptions) -> Schema:
    """Write what enough people share; whatever is said of it follows from the file, or from what is public."""
    from kakuran.design import Ledger, Spending
    from kakuran.schema import CountNoise, Dropped, Schema, counted_columns
    from kakuran.writing import write_text

    columns = len(counted_columns(source.names, privacy.person))
    noise = CountNoise(max(columns, 1), **privacy.budget)
    spending = Spending.of_domains(output.name, **privacy.budget)
    entering = None if privacy.ledger is None else Ledger(privacy.ledger).entry(spending)
    with entering or nullcontext():
        with progress("reading", source.rows) as advance:
            schema = Schema.infer(source, person=privacy.person, progress=advance, **privacy.budget)
        write_text(output, schema.to_toml())
    if entering is not None:
        entering.finish()
    say_formulas(schema)
    say(_written(output, schema))
    say(
        Phrase(
            "found privately, ε = {epsilon:g} and δ = {delta:g} over {columns} columns, so that it can be published: "
            "values are listed that about {threshold:,} people share; other values are taken for `other` or a bound",
            columns=columns,
            threshold=noise.threshold,
            **privacy.budget,
        )
    )
    for one in schema:
        if isinstance(one, Dropped) and one.name in schema.remarks:
            say(Phrase("dropped: {name} ({reason})", name=one.name, reason=schema.remarks[one.name]))
    if privacy.person is None:
        say(Phrase("each row counts as a person; where people have several rows, name whose they are with --person"))
    if privacy.ledger is not None:
        say_spent(Ledger(privacy.ledger).account())
    return schema


def _written(output: Path, schema: Schema) -> Phrase:
    return Phrase(
        "wrote {file}: {columns} columns, of which {perturbed} will be perturbed",
        file=output,
        columns=len(schema),
        perturbed=len(schema.perturbed),
    )


def _read_off(source: Source, output: Path) -> Schema:
    """Write a draft, which holds values of people, and propose bands for its numbers."""
    from kakuran.counts import every_code
    from kakuran.design import propose_bands
    from kakuran.engine import count_tables
    from kakuran.schema import Dropped, Layout, Numeric, Schema
    from kakuran.writing import write_text

    records = 0

    def read(more: int) -> None:
        nonlocal records
        records += more
        advance(more)

    with progress("reading", source.rows) as advance:
        schema = Schema.infer(source, progress=read)
    write_text(output, schema.to_toml(), is_private=True)  # it lists values of people until somebody has edited it
    say_formulas(schema)
    say(_written(output, schema))
    if schema.drafted:
        confirm_it = shlex.join(["kakuran", "schema", "confirm", str(output)])
        say(Phrase("once all that it says is public knowledge, say so: {command}", command=confirm_it))
    numbers = [one for one in schema.perturbed if type(one) is Numeric]
    with progress("counting", source.rows) as advance:
        cells = [[every_code(one)] for one in numbers]
        others = [Dropped(name) for name in source.names if name not in {one.name for one in numbers}]
        layout = Layout(Schema([*numbers, *others]), is_released=False)
        tallies = count_tables(source, layout, cells, advance) if numbers else []
    counts = {one.name: tally.counts for one, tally in zip(numbers, tallies, strict=True)}
    proposals = propose_bands(schema.confirmed(), n=records, k=USUAL_K, counts=counts)
    if proposals:
        say(
            Phrase(
                "in bands, numbers would come out better (error of a typical cell at k = {k}, with `bands = […]`; what "
                "they hold of the people is for your eyes alone):",
                k=USUAL_K,
            )
        )
    for proposal in proposals:
        say(f"  {said(proposal.said)}")
    return schema


@app.command()
def confirm(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema file (TOML), checked and edited.")],
    json: Json = False,
) -> None:
    """Say of all that was drafted from the data that it is public."""
    from kakuran.parsing import toml_of
    from kakuran.schema import confirm_file

    before = confirm_file(schema)
    settings = before.to_dict()
    for name in before.drafted:
        told = ", ".join(f"{setting} = {toml_of(value)}" for setting, value in settings[name].items())
        say(Phrase("public, as you say: {column}: {told}", column=name, told=told))
    say(Phrase("{file} is confirmed", file=schema))
    answer_done(json, schema=schema, confirmed=[*before.drafted])


@app.command()
@grouped
def check(data: Data, schema: SchemaFile, sql: Sql = None, json: Json = False, *, csv: CsvOptions) -> None:
    """Check all values against a schema; name columns that do not fit."""
    from kakuran.schema import Schema

    declared = Schema.load(schema)
    say_drafted(declared)
    say_wide_ends(declared)
    say_formulas(declared)
    records = check_fits(csv.open(data, sql), declared)
    say(Phrase("{schema} fits {records}", schema=schema, records=so_many_records(records)))
    answer_done(json, schema=schema, records=records)
