"""What an analyst asks of a release by pointing: the call, the command, and the answer as a report has it.

Call, command and answer are made from one list of arguments, so that the code beside an answer is what gave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from kakuran.answers import Answer
from kakuran.errors import SchemaError
from kakuran.release import Release
from kakuran.report import Html, estimate_answer, regression_answer, section, statistic_answer, table, tree_answer
from kakuran.studio.script import call, command
from kakuran.words import Phrase, Words

MADE_UP_ROWS = 200
"""Made-up records that are drawn for a look."""
STATISTICS = ("mean", "quantile", "variance")


@dataclass(frozen=True)
class PointedQuestion:
    """A call of a method of `kakuran.Release`, and the command that asks the same.

    Attributes
    ----------
    method : str
        Its name.
    given : tuple
        What it is given by place.
    named : Mapping
        What it is given by name.
    words : tuple
        The command without the release.
    """

    method: str
    given: tuple[Any, ...]
    named: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> PointedQuestion:
        """What a page asks for: a kind, columns, and what else belongs to it."""
        kind, columns = asked.get("kind"), [name for name in asked.get("columns", ()) if name]
        if kind not in _KINDS:
            raise SchemaError(
                Phrase("what can be asked is {listed}, got {kind!r}", listed=", ".join(_KINDS), kind=kind)
            )
        if not columns and kind != "synthesise":
            raise SchemaError(Phrase("choose a column to ask about"))
        return _KINDS[kind](kind, columns, asked)

    def put_to(self, release: Release) -> Answer:
        """Ask it."""
        found: Answer = getattr(release, self.method)(*self.given, **self.named)
        return found

    def python(self, path: str) -> str:
        """The code that asks it."""
        asked = call(f"release.{self.method}", *self.given, **self.named)
        return f"import kakuran as kk\n\nrelease = {call('kk.read_release', path)}\nanswer = {asked}\nprint(answer)\n"

    def command(self, path: str) -> str:
        """The command that asks it."""
        first, *others = self.words
        options = {name: value for name, value in self.named.items() if name in ("by", "where")}
        options |= {"weights": "none"} if self.named.get("weights") is False else {}
        return command(first, path, *others, **options)

    def shown(self, found: Any, say: Words) -> Html:
        """The answer, as a report has it."""
        return _SHOWN[self.method](found, say)


def _crosstab(_: str, columns: Sequence[str], asked: Mapping[str, Any]) -> PointedQuestion:
    return PointedQuestion("crosstab", tuple(columns), _where(asked) | _weighing(asked), ("crosstab", *columns))


def _share(_: str, columns: Sequence[str], asked: Mapping[str, Any]) -> PointedQuestion:
    condition = f"{quoted(columns[0])} == {asked.get('value')!r}"
    return PointedQuestion("share", (condition,), _among(asked), ("estimate", "share", condition))


def _statistic(kind: str, columns: Sequence[str], asked: Mapping[str, Any]) -> PointedQuestion:
    return PointedQuestion(kind, (columns[0],), _among(asked), ("estimate", kind, columns[0]))


def _regression(_: str, columns: Sequence[str], asked: Mapping[str, Any]) -> PointedQuestion:
    target, *others = map(quoted, columns)
    if not others:
        raise SchemaError(Phrase("choose the columns that are to explain it"))
    formula = f"{target} ~ {' + '.join(others)}"
    return PointedQuestion("regress", (formula,), _weighing(asked), ("regress", formula))


def _tree(_: str, columns: Sequence[str], asked: Mapping[str, Any]) -> PointedQuestion:
    return PointedQuestion("tree", (columns[0],), _weighing(asked), ("tree", columns[0]))


def _synthesis(_: str, __: Sequence[str], ___: Mapping[str, Any]) -> PointedQuestion:
    return PointedQuestion(
        "synthesise", (), {"n": MADE_UP_ROWS}, ("synthesise", "--rows", f"{MADE_UP_ROWS}", "-o", "made-up.csv")
    )


_KINDS: dict[str, Callable[[str, Sequence[str], Mapping[str, Any]], PointedQuestion]] = {
    "crosstab": _crosstab,
    "share": _share,
    **dict.fromkeys(STATISTICS, _statistic),
    "regress": _regression,
    "tree": _tree,
    "synthesise": _synthesis,
}


def _weighing(asked: Mapping[str, Any]) -> dict[str, bool]:
    return {"weights": False} if asked.get("unweighed") else {}


def _by(asked: Mapping[str, Any]) -> dict[str, list[str]]:
    groups = [name for name in asked.get("by", ()) if name]
    return {"by": groups} if groups else {}


def _among(asked: Mapping[str, Any]) -> dict[str, Any]:
    return _by(asked) | _where(asked) | _weighing(asked)


def _where(asked: Mapping[str, Any]) -> dict[str, str]:
    where = str(asked.get("where") or "").strip()
    return {"where": where} if where else {}


def quoted(name: str) -> str:
    """A column as a condition or a formula names it."""
    return name if name.isidentifier() else f"`{name}`"


def _made_up(found: Any, say: Words) -> Html:
    made = found.to_arrow()
    rows = zip(*(column.to_pylist() for column in made.columns), strict=True)
    shown = [["" if value is None else str(value) for value in row] for row in islice(rows, MADE_UP_ROWS)]
    caption = say("synthetic_title", n=MADE_UP_ROWS)
    return section(caption, table(say.of(found.reason), made.column_names, shown, text_columns=made.num_columns))


_SHOWN: dict[str, Callable[[Any, Words], Html]] = {
    "crosstab": lambda found, say: estimate_answer(found, None, say),
    "regress": regression_answer,
    "tree": tree_answer,
    "synthesise": _made_up,
    **dict.fromkeys(("share", *STATISTICS), lambda found, say: statistic_answer(found, None, say)),
}
