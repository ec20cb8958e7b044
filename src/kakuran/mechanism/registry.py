"""Mechanisms by the names that manifests and options give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from kakuran.errors import CalibrationError
from kakuran.mechanism.base import Mechanism
from kakuran.schema import Categorical, Numeric

Registered = TypeVar("Registered", bound=type[Mechanism])

MECHANISMS: dict[str, type[Mechanism]] = {}
"""All mechanisms there are, by name."""


def register(mechanism: Registered) -> Registered:
    """Make a mechanism known by its kind: plans can then be told to use it, and releases made with it be read."""
    if mechanism.kind in MECHANISMS:
        raise CalibrationError(f"a mechanism is called {mechanism.kind!r} already; choose another kind")
    MECHANISMS[mechanism.kind] = mechanism
    return mechanism


def mechanism_of(attribute: Categorical | Numeric, kind: str, parameters: Mapping[str, Any]) -> Mechanism:
    """The mechanism of an attribute from what a manifest says of it."""
    if kind not in MECHANISMS:
        raise CalibrationError(f"column {attribute.name!r}: unknown mechanism {kind!r}")
    return MECHANISMS[kind].of(attribute, parameters)
