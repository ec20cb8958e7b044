"""`python -m benchmarks.alone MODULE ARGUMENT …` runs a module in a process of its own and passes on what it prints.

A child's peak memory as the system reports it starts at that of the process that started it; this one is small. The
child multiplies matrices on one core, because several wait for each other on a busy machine.
"""

from __future__ import annotations

import os
import subprocess
import sys


def run_alone(module: str, *arguments: object) -> str:
    """What the module prints."""
    return _run("alone", module, *arguments)


def _run(module: str, *arguments: object) -> str:
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


if __name__ == "__main__":
    print(_run(*sys.argv[1:]), end="")
