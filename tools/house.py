"""Count how the house stands, draw its packages, and write both to docs/packages.md: `python -m tools.house`.

The bars are those of the codebases we admire; a test fails when one is broken or the page is stale.
"""

from __future__ import annotations

import ast
import itertools
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from tools import packages
from tools.packages import ROOT, Imports

SOURCE = ROOT / "src/kakuran"
PAGE = ROOT / "docs/packages.md"


@dataclass(frozen=True)
class Measure:
    """One line of the table.

    Attributes
    ----------
    what : str
        What is counted.
    now : float
        The count, rounded so that not every change of the code changes the page.
    bar : float | None
        The most it may be, if anything.
    unit : str
        What is written behind it.
    """

    what: str
    now: float
    bar: float | None = None
    unit: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the bar is."""
        return self.bar is None or self.now <= self.bar

    def __str__(self) -> str:
        bar = "—" if self.bar is None else f"{self.bar:,}{self.unit}"
        return f"| {self.what} | {self.now:,}{self.unit} | {bar} |"


@dataclass(frozen=True)
class Module:
    """A file of the package: its dotted name, and its text."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """What Python reads in it."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.text.splitlines())

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """All imports, those inside functions too."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]

    @property
    def import_lines(self) -> int:
        """Lines that imports take."""
        return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in self.imports)

    @property
    def past_front_doors(self) -> list[str]:
        """Modules inside other packages that are imported from directly, instead of from those packages."""
        named = itertools.chain.from_iterable(
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for node in self.imports
        )
        own = self.name.split(".")[:2]
        return [
            name for name in named if name.count(".") > 1 and name.startswith("kakuran.") and name.split(".")[:2] != own
        ]

    @property
    def names(self) -> Iterator[str]:
        """Classes and aliases that are defined at its top."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                yield ast.unparse(node.target)


@cache
def modules() -> list[Module]:
    """Every module of kakuran."""
    return [
        Module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts), path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    ]


def passed(call: str) -> int:
    """How many modules a call passes through, counted in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "tools.passing", call]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
    return len(told.stdout.split())


def measures(found: Imports) -> list[Measure]:
    """The house in numbers."""
    every = modules()
    lines = sum(module.lines for module in every)
    share = sum(module.import_lines for module in every) / lines
    twice = [name for name, times in Counter(name for module in every for name in module.names).items() if times > 1]
    both_ways = [(one, other) for one, other in itertools.combinations(found, 2) if _see_each_other(found, one, other)]
    return [
        Measure("modules", len(every), 211),
        Measure("lines, to the nearest hundred; 30,700 are aimed at, not reached yet", round(lines, -2)),
        Measure(
            "lines in a file, median, to the nearest ten", round(statistics.median_low(m.lines for m in every), -1)
        ),
        Measure("lines that are imports", round(100 * share, 1), 7.5, " %"),
        Measure("imports that reach past another package's `__init__`", sum(len(m.past_front_doors) for m in every), 0),
        Measure("names of classes and aliases defined twice", len(twice), 0),
        Measure("pairs of packages that import each other", len(both_ways), 0),
        Measure('modules that `release.crosstab("job", "sex")` passes', passed("crosstab"), 18),
        Measure("modules that `kakuran perturb` passes through", passed("perturb"), 30),
    ]


def _see_each_other(found: Mapping[str, frozenset[str]], one: str, other: str) -> bool:
    return other in found[one] and one in found[other]


def purpose(module: Module) -> str:
    """What a file says of itself in its first sentence, without the full stop, as a cell of a table."""
    said = (ast.get_docstring(module.tree) or "").split("\n\n")[0]
    return " ".join(said.split()).removesuffix(".").replace("|", r"\|")


def purposes() -> dict[str, dict[str, str]]:
    """What every file is for, by its name, of every package; that of the package itself has none."""
    found: dict[str, dict[str, str]] = {}
    for module in modules():
        package, *inside = module.name.removesuffix(".__init__").split(".")[1:] or [""]
        found.setdefault(package, {})["/".join(inside)] = purpose(module)
    for path in sorted(SOURCE.rglob("*.js")):
        package, *inside = path.relative_to(SOURCE).parts
        found[package]["/".join(inside)] = _purpose_of_script(path.read_text(encoding="utf-8"))
    return found


def _purpose_of_script(text: str) -> str:
    """What a script of a page says of itself in the comment it begins with."""
    comment = text.split("/*", 1)[1].split("*/", 1)[0]
    said = " ".join(line.strip().removeprefix("*") for line in comment.splitlines())
    return " ".join(said.split()).split(". ")[0].removesuffix(".").replace("|", r"\|")


def page(found: Imports, counted: list[Measure]) -> str:
    """The page with the picture, the whole list of imports, the counts and what every file is for."""
    told = purposes()
    rows = [name for row in packages.layers() for name in row]
    lines = [
        "# Packages",
        "",
        "Each package is a station of the flow; imports go down only, which the linter enforces. Packages of one layer",
        "share a stripe. An arc ends, at its mark, in what is imported; arcs that follow from others are left out.",
        "[Why the cut is as it is](decisions/house.md). From the bottom:",
        "",
        " → ".join(" · ".join(f"`{name}`" for name in row) for row in reversed(packages.layers())),
        "",
        "![Packages and what they import](images/packages.svg)",
        "",
        "| package | what it is for | imports |",
        "|---|---|---|",
        *(f"| `{name}` | {told[name]['']} | {', '.join(sorted(found[name])) or '—'} |" for name in rows),
        "",
        "## The house in numbers",
        "",
        "| what | now | at most |",
        "|---|--:|--:|",
        *map(str, counted),
        "",
        "A call passes through a module when a function of it runs during the call, on the made-up census; loading a",
        "module does not count. Drawn and counted by `python -m tools.house`.",
        "",
        "## Where things are",
        "",
        "Every file, in the order of the flow from its end, with what it says of itself.",
        *(line for name in rows if len(told[name]) > 1 for line in _files(name, told[name])),
    ]
    return "\n".join(lines) + "\n"


def _files(package: str, told: Mapping[str, str]) -> Iterator[str]:
    """A table of what the files of a package are for."""
    yield from ("", f"### `{package}`", "", "| file | what it is for |", "|---|---|")
    yield from (f"| `{name}` | {said} |" for name, said in told.items() if name)


def main() -> None:
    """Write the page and the picture."""
    found = packages.imports()
    PAGE.write_text(page(found, measures(found)), encoding="utf-8")
    packages.save(found)


if __name__ == "__main__":
    main()
