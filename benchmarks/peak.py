"""`python -m benchmarks.peak ROWS SOURCE TARGET` perturbs a file and prints the peak of its own memory in bytes."""

from __future__ import annotations

import resource
import sys

from benchmarks import people
from kakuran.release import perturb_file

_UNIT = 1 if sys.platform == "darwin" else 1024


def main(rows: str, source: str, target: str) -> None:
    """Perturb, then look back."""
    perturb_file(source, target, people.plan(int(rows)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT)


if __name__ == "__main__":
    main(*sys.argv[1:])
