"""The kakuran command; every sub-command imports what it needs when it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from kakuran.cli import (
    advise,
    answers,
    audit,
    collect,
    demo,
    ledger,
    perturb,
    schema,
    statistics,
    studio,
    vertical,
    wide,
)
from kakuran.cli.console import answer_text, help_spoken, is_english, run, say_mistyped, speak
from kakuran.cli.options import LANGUAGE_HELP, Language
from kakuran.words import LANGUAGES


class _Speaking:
    """Tells its help in the language that is spoken, which may be typed anywhere."""

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        if not any("--lang" in one.opts for one in self.params):
            end = next((at for at, word in enumerate(args) if word in getattr(self, "commands", {})), len(args))
            args = [*_but_language(args[:end]), *args[end:]]
        rest: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        return rest

    def format_help(self: Any, ctx: Any, formatter: Any) -> None:
        known = help_spoken()
        for one in (self, *self.get_params(ctx), *getattr(self, "commands", {}).values()):
            for name in ("help", "short_help", "epilog"):
                said = getattr(one, name, None)
                setattr(one, name, known.get((said or "").strip(), said))
        super().format_help(ctx, formatter)  # type: ignore[misc]


@contextmanager
def _told_as_spoken() -> Iterator[None]:
    """Tell in the language that is spoken what was mistyped; in English typer does."""
    try:
        yield
    except _MISUSE as error:
        if is_english() or not say_mistyped(error):
            raise
        raise typer.Exit(2) from error


def _but_language(args: list[str]) -> list[str]:
    """All but the language, which was heard before options are read."""
    named = [at for at, pair in enumerate(pairwise(args)) if pair[0] == "--lang" and pair[1] in LANGUAGES]
    left = [word for at, word in enumerate(args) if at not in named and at - 1 not in named]
    return [word for word in left if word not in [f"--lang={one}" for one in LANGUAGES]]


class _Group(_Speaking, TyperGroup):
    """Commands of a group."""


class _Commands(_Group):
    """Lists commands in the order in which they are used (groups would come last); knows what others are like."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=[*_COMMANDS].index)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _told_as_spoken():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _told_as_spoken():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if not (word.startswith("-") or ctx.resilient_parsing or word in self.commands):
            near = " or ".join(f"'kakuran {path}'" for path in _near_commands(word, self.commands))
            ctx.fail(
                f"No such command {word!r}. "
                + (f"Did you mean {near}?" if near else help_spoken().get(_JOURNEYS, _JOURNEYS))
            )
        return super().resolve_command(ctx, args)


class _Once(_Speaking, TyperCommand):
    """Refuses an option that is given twice and means one thing: which of both was meant, nobody knows."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        single = {
            name: one.opts[0]
            for one in self.params
            for name in one.opts
            if name.startswith("-") and not (getattr(one, "is_flag", False) or getattr(one, "multiple", False))
        }
        found: dict[str, str] = {}
        words = iter(args)
        for word in words:
            name, sign, value = word.partition("=")
            if word == "--" or name not in single:
                continue
            value = value if sign else next(words, "")
            if single[name] in found:
                ctx.fail(f"{name} is given twice: {found[single[name]]} and {value}")
            found[single[name]] = value
        return super().parse_args(ctx, args)


def _near_commands(word: str, commands: Mapping[str, Any]) -> list[str]:
    """Those spelled alike, be they commands of a group; else those whose line in the help speaks of it."""
    spelled: dict[str, list[str]] = {}
    for path in _paths(commands):
        for spelling in {path, path.replace(" ", "-"), path.split()[-1]}:
            spelled.setdefault(spelling, []).append(path)
    spellings = [word] if word in spelled else get_close_matches(word, spelled, cutoff=_CLOSE)
    close = [path for spelling in spellings for path in spelled[spelling]]
    spoken = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    return [*dict.fromkeys(close)] or [name for name, one in commands.items() if spoken.search(one.short_help or "")]


def _paths(commands: Mapping[str, Any]) -> Iterator[str]:
    for name, command in commands.items():
        yield name
        yield from (f"{name} {inner}" for inner in getattr(command, "commands", {}))


_CLOSE = 0.7
_MISUSE: Any = typer.BadParameter.__base__  # typer has no name for it, and older ones have it elsewhere
_COMMANDS = {
    "demo": "See all of it on a made-up census.",
    "studio": "All of a steward's work in the browser, on this machine.",
    "schema": "Propose a schema, confirm it, or check a table against one.",
    "calibrate": "Show the noise k needs, and the error it will cause.",
    "advise": "Compare methods by expected error; say which to use.",
    "perturb": "Make a release: nobody can be linked above 1/k.",
    "ledger": "What releases of the same people have spent.",
    "audit": "Attack a release; exit with 1 if the promise is broken.",
    "crosstab": "Estimate the true counts over one or more columns.",
    "count": "Estimate how many records fulfil a condition.",
    "estimate": "Estimate means, shares, quantiles and correlations.",
    "regress": "Regress one column on others.",
    "tree": "Grow a decision tree on reconstructed counts.",
    "bayes": "Predict a column from what each other one tells of it.",
    "mixture": "Reconstruct clusters of true numbers, and densities.",
    "synthesise": "Write a plain table of made-up records to hand on.",
    "microaggregate": "Make a table k-anonymous by aggregating alike records.",
    "factorise": "Release a wide table of people × items.",
    "loss": "Say how much information a masked table has lost.",
    "check": "Check a table for k-anonymity and its kin.",
    "collect": "A survey whose answers are perturbed before they are sent.",
    "vertical": "One regression over columns of several companies.",
    "reproduce": "Run the papers' experiments again.",
}
"""Every command, with a line that fits on a terminal of 80 columns."""

_JOURNEYS = "To release a table: schema infer, calibrate, perturb, audit. To read a release: crosstab, count, tree."

app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to import than help takes to print
    context_settings={"max_content_width": 110},
    help="Perturb every record so that nobody can be linked above 1/k, and reconstruct the true statistics.",
    epilog=_JOURNEYS,
)
for command in (
    demo.demo,
    studio.studio,
    perturb.calibrate,
    advise.advise,
    perturb.perturb,
    audit.audit,
    answers.crosstab,
    answers.count,
    statistics.estimate,
    statistics.regress,
    answers.tree,
    answers.bayes,
    answers.mixture,
    answers.synthesise,
    wide.microaggregate,
    wide.factorise,
    audit.loss,
    audit.check,
    demo.reproduce,
):
    app.command(short_help=_COMMANDS[command.__name__])(command)
_GROUPS = {"schema": schema.app, "ledger": ledger.app, "collect": collect.app, "vertical": vertical.app}
for one in (app, *_GROUPS.values()):
    for registered in one.registered_commands:
        registered.cls = _Once
for name, group in _GROUPS.items():
    app.add_typer(group, cls=_Group, name=name, short_help=_COMMANDS[name])


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context,
    show: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
    lang: Annotated[Language | None, typer.Option("--lang", help=LANGUAGE_HELP)] = None,
) -> None:
    """Perturb every record so that nobody can be linked above 1/k, and reconstruct the true statistics."""
    if lang is not None:
        speak(lang)
    if show:
        from kakuran import __version__

        answer_text(f"kakuran {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        answer_text(context.get_help())


def main() -> None:
    """Run the command line."""
    run(app)
