"""Which modules of kakuran a call passes through: `python -m tools.passing crosstab` or `perturb`.

A module is passed when one of its functions runs during the call. What runs only because a module is loaded does not
count: loading happens once a process, and what is loaded says little about what has to be read to follow a call.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = "kakuran"


@contextlib.contextmanager
def passing() -> Iterator[set[str]]:
    """The modules whose functions run inside, in any thread."""
    passed: set[str] = set()
    loading = threading.local()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        depth, is_module = getattr(loading, "depth", 0), frame.f_code.co_name == "<module>"
        if is_module and event in ("call", "return"):
            loading.depth = depth + (1 if event == "call" else -1)
        elif event == "call" and not depth and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
            passed.add(frame.f_globals["__name__"])

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield passed
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def crosstab() -> set[str]:
    """A cross-tabulation of a release of the sample census that is in memory."""
    import kakuran as kk
    from kakuran.samples import census, census_schema

    release = kk.perturb(census(), kk.calibrate(census_schema(), n=50_000, k=10))
    with passing() as passed:
        release.crosstab("job", "sex")
    return passed


def perturb() -> set[str]:
    """The command, on the sample census in a CSV file."""
    from pyarrow.csv import write_csv

    from kakuran.cli import main
    from kakuran.samples import census, census_schema

    with tempfile.TemporaryDirectory() as folder:
        data, schema, out = (str(Path(folder, name)) for name in ("data.csv", "schema.toml", "out.parquet"))
        write_csv(census(), data)
        census_schema().save(schema)
        sys.argv = ["kakuran", "perturb", data, "--schema", schema, "--k", "10", "-o", out]
        with passing() as passed, contextlib.suppress(SystemExit):
            main()
        if not Path(out).exists():
            raise RuntimeError("kakuran perturb wrote nothing")
    return passed


CALLS: dict[str, Callable[[], set[str]]] = {"crosstab": crosstab, "perturb": perturb}

if __name__ == "__main__":
    print("\n".join(sorted(CALLS[sys.argv[1]]())))
