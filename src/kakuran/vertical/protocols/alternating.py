"""Least squares over two sets of columns, by asking the other side for fits to what we leave (S2 §2).

`ask(v)` sends v and returns the other side's fit to y − v. Everything else happens here, so that the plain and the
accelerated way differ on one side only and send the same kind of messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kakuran.errors import ProtocolError
from kakuran.vertical.regression.moments import Array

Fit: TypeAlias = Callable[[Array], Array]

TOLERANCE = 1e-10
"""How far from settled a fit may end, as a share of the target's length."""
MOST_ROUNDS = 20_000
_ROUNDING = 1e-14
"""Steps smaller than this share of the target are rounding, which need not shrink: it may go to and fro for ever."""


@dataclass(frozen=True)
class Settled:
    """Our part of the joint fit, and the rounds it took."""

    part: Array
    rounds: int


def alternate(target: Array, fit: Fit, ask: Fit, tolerance: float = TOLERANCE) -> Settled:
    """Both sides fit in turn what the other leaves (S2, estimation protocol, steps 1 to 4).

    Stops once the distance still to go, a geometric series of the steps so far, is below the tolerance, or steps are
    mere rounding, as they are from the start where neither side's columns have to do with the other's.
    """
    size = float(np.linalg.norm(target))
    part, step = fit(target), np.inf
    for rounds in range(1, MOST_ROUNDS + 1):
        moved = fit(target - ask(part))
        last_step, step = step, float(np.linalg.norm(moved - part))
        part = moved
        shrinking = step / last_step
        nearly_there = rounds > 1 and shrinking < 1 and step * shrinking / (1 - shrinking) <= tolerance * size
        if step <= _ROUNDING * size or nearly_there:
            return Settled(part, rounds)
    raise ProtocolError(f"the fits have not settled after {MOST_ROUNDS:,} rounds; use accelerated = true, or gram")


def accelerate(target: Array, fit: Fit, ask: Fit, tolerance: float = TOLERANCE) -> Settled:
    """Conjugate gradients on (I − P P')a = P(I − P')y, where P and P' are the two sides' fits.

    Takes at most as many rounds as the smaller side has columns, but for rounding.
    """
    size = float(np.linalg.norm(target))
    theirs_alone = ask(np.zeros_like(target))
    part, rounds = np.zeros_like(target), 1
    residual = fit(target - theirs_alone)
    direction, square = residual, float(residual @ residual)
    while np.sqrt(square) > tolerance / 10 * size:
        if rounds > MOST_ROUNDS:
            raise ProtocolError(f"conjugate gradients have not settled after {MOST_ROUNDS:,} rounds; use gram")
        # Sent at the target's own size, so that the reply does not lose digits.
        scale = size / float(np.linalg.norm(direction))
        applied = direction - fit((theirs_alone - ask(direction * scale)) / scale)
        rounds += 1
        stride = square / float(direction @ applied)
        part = part + stride * direction
        residual = residual - stride * applied
        last, square = square, float(residual @ residual)
        direction = residual + square / last * direction
    return Settled(part, rounds)
