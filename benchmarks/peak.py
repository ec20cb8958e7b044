"""`python -m benchmarks.peak ROWS SOURCE TARGET` perturbs a file and prints the peak of its own memory in bytes."""

from __future__ import annotations

import sys

from benchmarks import people
from benchmarks.own_peak import own_peak
from kakuran.release import perturb_file


def main(rows: str, source: str, target: str) -> None:
    """Perturb, then look back."""
    perturb_file(source, target, people.plan(int(rows)))
    print(own_peak())


if __name__ == "__main__":
    main(*sys.argv[1:])
