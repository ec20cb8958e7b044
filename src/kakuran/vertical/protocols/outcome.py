"""What a protocol leaves with a party, whichever it was."""

from __future__ import annotations

from dataclasses import dataclass

from kakuran.vertical.leakage import Exposure
from kakuran.vertical.regression.inference import Inference
from kakuran.vertical.regression.selection import Selection


@dataclass(frozen=True)
class Outcome:
    """The chosen model in standardised units, the way there, and what it cost in privacy."""

    selection: Selection
    inference: Inference
    exposure: Exposure
    target_scale: float
    rounds: int
