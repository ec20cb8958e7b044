"""Perturb every record so that nobody can be linked above 1/k, and reconstruct the true statistics.

    schema → counts → mechanism → design → perturbation → release → model → answers → report

Names are loaded when they are first used, so that importing kakuran costs next to nothing.
"""

from typing import Any

import lazy_loader

_loaded, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # slower to import than all of kakuran

        return version("kakuran")
    if name not in __all__:
        raise AttributeError(f"module 'kakuran' has no attribute {name!r}")
    return _loaded(name)
