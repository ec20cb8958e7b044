"""Plans and audits as rows of text, for pages and for the terminal."""

from __future__ import annotations

import math
from typing import Any

from kakuran.audit import Audit
from kakuran.design import Plan
from kakuran.words import Words


def plan_rows(plan: Plan, say: Words) -> list[list[str]]:
    """Column, mechanism, parameter, value and ε of every perturbed column."""
    return [
        [
            name,
            say.named.get(f"is_{mechanism.kind}", mechanism.kind),
            *_parameter(mechanism, say),
            f"{mechanism.epsilon:.3g}",
        ]
        for name, mechanism in plan.mechanisms.items()
    ]


def _parameter(mechanism: Any, say: Words) -> tuple[str, str]:
    for symbol, field in (("ρ", "retention"), ("φ", "scale")):
        value = getattr(mechanism, field, None)
        if value is not None:
            return ("σ" if "gaussian" in mechanism.kind else symbol), f"{value:.4g}"
    return say("matrix"), f"{mechanism.size} × {mechanism.size}"


def risk_before(audit: Audit, say: Words) -> list[tuple[str, str]]:
    """What somebody could do with the originals as they are."""
    return [
        (say("risk_uniques"), f"{audit.before.uniques:.1%}"),
        (say("risk_class"), f"{audit.before.smallest_class:,}"),
        (say("risk_average"), f"{audit.before.prosecutor:.3g}"),
    ]


def risk_after(audit: Audit, say: Words) -> list[tuple[str, str]]:
    """What the attacker could do with the release."""
    after = [
        ("risk_promised", audit.bound),
        ("risk_proved", audit.certified),
        ("risk_surest_exact" if audit.is_exact else "risk_surest", audit.worst_posterior),
        ("risk_expected", audit.expected_matches),
        ("risk_one_by_one", audit.linked),
        ("risk_one_to_one", audit.linked_one_to_one),
    ]
    return [(say(what), say("not_played") if value is None else _probability(value, say)) for what, value in after]


def _probability(value: float, say: Words) -> str:
    times = f"  ({say('one_in', times=1 / value)})" if 0 < value < 0.5 and math.isfinite(1 / value) else ""
    return f"{value:.3g}{times}"
