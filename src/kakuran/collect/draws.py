"""What a browser must know of a mechanism to draw exactly as Python does: whole numbers, as text.

No exponential is left for the browser to compute, so both draw from the same integers, and the same random words give
the same released code (`static/perturb.js`, tests/browser/test_draws.py).
"""

from __future__ import annotations

from typing import Any

from kakuran.errors import CalibrationError
from kakuran.mechanism import PRAM, Mechanism, Noise, RetentionReplacement

MOST_WEIGHTS = 1 << 13
"""Weights a page may have to load for one question: some 160 kB."""


def describe(mechanism: Mechanism) -> dict[str, Any]:
    """A mechanism for `perturb.js`.

    Noise is described by the weights of the distances 0, 1, 2 … in steps, each the same up and down; what they leave
    of 2⁶³ is drawn again, like whatever would leave the permitted codes.

    Examples
    --------
    >>> from kakuran.collect.draws import describe
    >>> from kakuran.mechanism import RetentionReplacement
    >>> describe(RetentionReplacement(3, 0.5))
    {'kind': 'retention', 'size': 3, 'threshold': '9223372036854775808'}
    """
    if isinstance(mechanism, RetentionReplacement):
        return {"kind": "retention", "size": mechanism.size, "threshold": str(mechanism.threshold)}
    if isinstance(mechanism, Noise):
        farthest = mechanism.size - 1 + mechanism.reach
        _check_weights(farthest + 1, "use a larger step")
        weights = _as_text(mechanism.exact_weights[farthest:])
        return {"kind": "noise", "size": mechanism.size, "reach": mechanism.reach, "weights": weights}
    if isinstance(mechanism, PRAM):
        _check_weights(mechanism.size**2, "use fewer values")
        return {"kind": "pram", "size": mechanism.size, "weights": list(map(_as_text, mechanism.exact_weights))}
    raise CalibrationError(f"a browser cannot draw from a mechanism of kind {mechanism.kind!r}")


def _as_text(weights: Any) -> list[str]:
    return [str(weight) for weight in weights]


def _check_weights(count: int, way_out: str) -> None:
    if count > MOST_WEIGHTS:
        raise CalibrationError(
            f"a browser would have to load {count:,} weights for one question, more than {MOST_WEIGHTS:,}; {way_out}"
        )
