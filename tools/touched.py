"""The tests that a change touches, one path a line, for `make check`: `python -m tools.touched [SINCE]`.

A module touches the tests named after it, and where none are, all of its package. What else a change can break, all
tests of `make test` say.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def changed(since: str) -> list[Path]:
    """Files that differ from a commit, and those git does not know yet."""
    asked = (["diff", "--name-only", "--relative", since], ["ls-files", "--others", "--exclude-standard"])
    told = [subprocess.run(["git", *one], cwd=ROOT, capture_output=True, text=True, check=True).stdout for one in asked]  # noqa: S603, S607
    return [Path(line) for line in "".join(told).splitlines()]


def touched(files: Iterable[Path]) -> list[str]:
    """The tests to run after changes of these files; those that lie in a folder to be run are not named again."""
    tests = {test for file in files for test in _touched_by(file)}
    return sorted(str(test) for test in tests if not tests & {*test.parents})


def _touched_by(file: Path) -> Iterator[Path]:
    match file.parts:
        case ("tests", *_, name) if name.startswith("test_"):
            if (ROOT / file).exists():
                yield file
        case ("tests", _, *_, name) if name.endswith(".py"):
            yield file.parent
        case ("src", "kakuran", package, *_) if not package.startswith("__"):
            package = package.removesuffix(".py")
            folder = ROOT / "tests" / package
            named = [*folder.rglob(f"test_{file.stem}.py")] or [folder, folder.with_name(f"test_{package}.py")]
            yield from (path.relative_to(ROOT) for path in named if path.exists())


if __name__ == "__main__":
    print(*touched(changed(*(sys.argv[1:] or ["HEAD"]))), sep="\n", end="")
