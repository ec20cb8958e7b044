"""Plans, audits and answers as rows of text, for pages and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kakuran.advice import Errors, Outlook
from kakuran.answers import Density, MixtureEstimate, NaiveBayes
from kakuran.audit import Audit
from kakuran.design import Plan
from kakuran.wide import ItemsKept, Supports
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
    if (half_width := getattr(mechanism, "half_width", None)) is not None:
        return "ρ, b", f"{mechanism.retention:.4g}, {half_width:,}"
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
        (
            "risk_in_draw" if _is_approximate(audit) else "risk_in_draw_exact",
            None if audit.k_in_draw is None else 1 / audit.k_in_draw,
        ),
        ("risk_above", audit.share_above),
        ("risk_expected", audit.expected_matches),
        ("risk_one_by_one", audit.linked),
        ("risk_one_to_one", audit.linked_one_to_one),
    ]
    return [(say(what), say("not_played") if value is None else _probability(value, say)) for what, value in after]


def in_draw(audit: Audit, say: Words) -> list[str]:
    """What k is in this draw, as one sentence; none where it was not measured."""
    if audit.k_in_draw is None:
        return []
    return [say("audit_in_draw" if _is_approximate(audit) else "audit_in_draw_exact", k=audit.k_in_draw)]


def _is_approximate(audit: Audit) -> bool:
    return audit.links is not None and not audit.links.is_exact


def _probability(value: float, say: Words) -> str:
    times = f"  ({say('one_in', times=1 / value)})" if 0 < value < 0.5 and math.isfinite(1 / value) else ""
    return f"{value:.3g}{times}"


def outlook_rows(outlooks: Sequence[Outlook], say: Words) -> tuple[list[str], list[list[str]]]:
    """What methods that can be assessed would do at one k, as a header and rows of text: people in the wrong cell."""
    errors = [say(f"{name}_error") for name in ("one_way", "two_way", "by_margins", "three_way")]
    header = [say("method"), say("promised"), *errors]
    assessed = [(one, one.errors) for one in worth_a_row(outlooks) if one.errors is not None]
    return header, [[say.of(one.name), say.of(one.promise), *_shares(errors)] for one, errors in assessed]


def worth_a_row(outlooks: Sequence[Outlook]) -> list[Outlook]:
    """What can be assessed; not noise for the data that is the noise of the worst case, which has a row already."""
    worst = [(one.tell, one.k, one.errors) for one in outlooks if one.method == "perturb"]
    return [
        one
        for one in outlooks
        if one.errors is not None
        and not (one.method == "perturb-data-dependent" and (one.tell, one.k, one.errors) in worst)
    ]


def _shares(errors: Errors) -> list[str]:
    """Of one-way and two-way tables, of two-way tables by margins alone, and of three-way tables."""
    found = (errors.one_way, errors.two_way, errors.two_by_margins, errors.three_way)
    return ["—" if share is None else f"{share:.1%}" for share in found]


def loss_table(losses: Mapping[str, float], chosen: str, say: Words) -> tuple[str, list[str], list[list[str]]]:
    """What every way loses, as a caption, a header and rows of text."""
    ways = {way: say(f"way_{way}") for way in losses}
    ways[chosen] = say("chosen", way=ways[chosen])
    return say("cell_loss_caption"), ["", say("lost")], [[ways[way], f"{loss:.5f}"] for way, loss in losses.items()]


def items_table(
    kept: ItemsKept, supports: Supports | None, items: Sequence[Any], say: Words
) -> tuple[str, list[str], list[list[str]]]:
    """How many people have the most frequent items, before and after, as a caption, a header and rows of text."""
    rows = [
        [str(items[place]), f"{before:.1%}", f"{after:.1%}", _corrected(supports, place)]
        for place, before, after in zip(kept.top, kept.before, kept.after, strict=True)
    ]
    corrected = "" if supports is None else say("reconstructed")
    return say("have_item"), [say("item"), say("original"), say("released"), corrected], rows


def _corrected(supports: Supports | None, place: int) -> str:
    """The share of people who have an item, with its interval; nothing where nothing was corrected."""
    if supports is None:
        return ""
    if math.isnan(supports.estimates[place]):
        return "–"
    return f"{supports.estimates[place]:.1%} ({supports.low[place]:.1%}–{supports.high[place]:.1%})"


def items_sentence(kept: ItemsKept, say: Words) -> str:
    """What is left of items and pairs, in a sentence."""
    return say(
        "items_kept",
        count=len(kept.top),
        support=kept.support,
        kept=kept.pairs_kept,
        pairs=kept.pairs,
        lost=kept.lost,
        held=kept.held,
    )


def cluster_rows(found: MixtureEstimate, say: Words) -> tuple[list[str], list[list[str]]]:
    """The clusters as a header and rows of text."""
    header = [say("cluster"), say("share")]
    for name in found.columns:
        header += [say("mean", column=name), say("deviation", column=name)]
    deviations = found.mixture.columns.sigmas
    rows = []
    for place, weight in enumerate(found.mixture.weights):
        row = [str(place + 1), f"{weight:.1%} ({found.weights[0][place]:.1%}–{found.weights[1][place]:.1%})"]
        for column in range(len(found.columns)):
            for values, (low, high) in ((found.mixture.means, found.means), (deviations, found.deviations)):
                row.append(f"{values[place, column]:.4g} ({low[place, column]:.4g}–{high[place, column]:.4g})")
        rows.append(row)
    return header, rows


def bits_rows(found: NaiveBayes, say: Words) -> tuple[list[str], list[list[str]]]:
    """What each column tells of a target and how much is made of it, as a header and rows of text; most first."""
    told = zip(found.information.items(), found.learned.trust, strict=True)
    rows = [[name, f"{bits:.3f}", f"{trust:.0%}"] for (name, bits), trust in sorted(told, key=lambda one: -one[0][1])]
    return [say("column"), say("bits"), say("trust")], rows


def quantile_row(density: Density) -> tuple[list[str], list[str]]:
    """A few quantiles as a header and a row of text."""
    shares = [0.1, 0.25, 0.5, 0.75, 0.9]
    return [f"{100 * share:g} %" for share in shares], [f"{value:.4g}" for value in density.quantile(shares)]
