"""What was clicked, as commands and as Python, so that it can be done again without clicking."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kakuran.errors import without_secrets
from kakuran.words import Phrase, words_in


@dataclass(frozen=True)
class NamedTable:
    """What was opened, and how.

    Attributes
    ----------
    named : str
        A path, or the address of a database.
    sql : str | None
        A query.
    told : Mapping[str, str]
        How a CSV file is written, where that was told or found: delimiter, encoding, decimal, thousands.
    """

    named: str = field(repr=False)
    sql: str | None = None
    told: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The same as it may be shown and written: without a password."""
        return without_secrets(self.named, self.named)

    @property
    def path(self) -> Path:
        """What other files are called after; of a database, its name without settings."""
        return Path(self.address.partition("?")[0] if "://" in self.address else self.address)

    @property
    def words(self) -> list[str]:
        """For a command."""
        options = {"sql": self.sql, **self.told}
        return [self.address, *(word for name, value in options.items() if value for word in (f"--{name}", value))]

    @property
    def python(self) -> str:
        """As a call."""
        options = {"sql": self.sql, **self.told}
        return call("kk.open_source", self.address, **{name: value for name, value in options.items() if value})


@dataclass(frozen=True)
class Targets:
    """The files that a release is written to, all of one name.

    Attributes
    ----------
    release : Path
        The perturbed records.
    ledger : str | None
        What the release is entered into.
    """

    release: Path
    ledger: str | None = None

    def _beside(self, ending: str) -> Path:
        return self.release.with_name(f"{self.release.stem}-{ending}")

    @property
    def schema(self) -> Path:
        """What each column may hold."""
        return self._beside("schema.toml")

    @property
    def report(self) -> Path:
        """The steward's report, beside the originals."""
        return self._beside("internal.html")

    @property
    def public(self) -> Path:
        """The report that goes with the release."""
        return self._beside("public.html")

    @property
    def commands(self) -> Path:
        """The script."""
        return self._beside("again.sh")

    @property
    def python(self) -> Path:
        """The same in Python."""
        return self._beside("again.py")


class Promised(NamedTuple):
    """The k of a release, and how surely it holds; in every draw where that is None."""

    k: float
    certainty: float | None = None

    @property
    def written(self) -> dict[str, str]:
        """As options of a command and arguments of a call."""
        k = f"{self.k:.0f}" if self.k == int(self.k) else repr(self.k)
        return {"k": k} | ({} if self.certainty is None else {"certainty": repr(self.certainty)})


def commands_of(opening: NamedTable, targets: Targets, promised: Promised, lang: str) -> str:
    """The commands that make the release, its reports and its audit; the first that fails ends them."""
    release, said = str(targets.release), ["--lang", lang, "--force"]
    promise = [word for name, value in promised.written.items() for word in (f"--{name}", value)]
    perturb = ["--schema", str(targets.schema), *promise, "--output", release]
    perturb += ["--ledger", targets.ledger] if targets.ledger else []
    public, internal = ["--report", str(targets.public), "--public"], ["--report", str(targets.report)]
    lines = [
        ["kakuran", "perturb", *opening.words, *perturb, *public, *said],
        ["kakuran", "audit", opening.address, release, *opening.words[1:], *internal, *said],
    ]
    return f"{_notes(opening, lang)}set -e\n" + "".join(f"{shlex.join(line)}\n" for line in lines)


def python_of(opening: NamedTable, targets: Targets, promised: Promised, lang: str) -> str:
    """The same in Python."""
    release, public = str(targets.release), str(targets.public)
    options = ({"ledger": targets.ledger} if targets.ledger else {}) | {"force": True}
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    promise = ", ".join(f"{name}={value}" for name, value in promised.written.items())
    return (
        f"{_notes(opening, lang)}from pathlib import Path\nfrom pprint import pprint\n\nimport kakuran as kk\n\n"
        f"source = {opening.python}\n"
        f"schema = {call('kk.Schema.load', str(targets.schema))}\n"
        f'plan = kk.calibrate(schema, {promise}, data=source, calibration="worst-case")\n'
        f"kk.perturb_file(source, {release!r}, plan{given})\n\n"
        f"{call('Path', public)}.write_text({call('kk.release_report', release, lang=lang)}, encoding='utf-8')\n"
        f"pprint(kk.audit(source, {call('kk.read_release', release)}).to_dict())\n"
    )


def _notes(opening: NamedTable, lang: str) -> str:
    """What whoever runs a script should know first."""
    notes = [
        Phrase(
            "Draws a new release in place of the one that was made. Have you passed that on? Then keep both in a ledger"
        )
    ]
    if opening.address != opening.named:
        notes.append(
            Phrase("The password is not in here: set PGPASSWORD before you run it, or write it into ~/.pgpass")
        )
    return "".join(f"# {words_in(lang).of(note)}\n" for note in notes)


def call(name: str, *given: Any, **named: Any) -> str:
    """A call as Python writes it."""
    return f"{name}({', '.join([*map(repr, given), *(f'{one}={value!r}' for one, value in named.items())])})"


def command(*words: str, **options: str | Sequence[str] | None) -> str:
    """A command of kakuran, each option as often as it has values."""
    told = [
        word
        for name, values in options.items()
        for value in ([values] if isinstance(values, str) else values or ())
        for word in (f"--{name}", value)
    ]
    return shlex.join(["kakuran", *words, *told])
