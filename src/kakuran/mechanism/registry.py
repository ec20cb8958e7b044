"""Mechanisms by the names that manifests and options give them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kakuran.errors import CalibrationError, counted
from kakuran.mechanism.base import Mechanism
from kakuran.mechanism.noise import BoundedGaussian, BoundedLaplace, Laplace
from kakuran.mechanism.pram import PRAM
from kakuran.mechanism.retention import RetentionReplacement
from kakuran.schema import Categorical, Numeric

NOISE: Mapping[str, type[BoundedLaplace] | type[BoundedGaussian]] = {
    kind.kind: kind for kind in (BoundedLaplace, Laplace, BoundedGaussian)
}
"""The noise mechanisms by name."""


def mechanism_of(attribute: Categorical | Numeric, kind: str, parameters: Mapping[str, Any]) -> Mechanism:
    """The mechanism of an attribute from what a manifest says of it."""
    if kind == PRAM.kind:
        matrix = PRAM(parameters["matrix"])
        if matrix.size != attribute.size:
            raise CalibrationError(
                f"column {attribute.name!r} has {counted(attribute.size, 'value')}, its matrix {matrix.size}"
            )
        return matrix
    step = attribute.step if isinstance(attribute, Numeric) else None
    if kind == RetentionReplacement.kind:
        return RetentionReplacement(attribute.size, parameters["retention"], step)
    if kind in NOISE and step is not None:
        scale = math.inf if parameters["scale"] == "inf" else parameters["scale"]
        return NOISE[kind](attribute.size, step, scale)
    raise CalibrationError(f"column {attribute.name!r}: unknown mechanism {kind!r}")
