"""S4's Tables 1 to 7: the counts a split needs and what it gains, on one small table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kakuran.mechanism.base import Array
from kakuran.mine.splits import CRITERIA
from kakuran.randomness import Randomness
from kakuran.reproduction.findings import Finding
from kakuran.reproduction.s4_experiment import CURVES, Setting, perturbed_once

TRUTH = np.array([[2400.0, 1600.0], [1000.0, 2500.0], [900.0, 1600.0]])
"""Three classes × the predicate false, true."""
RETENTION = 0.3
_SHOWN = ("randomized", "IBT", "EIBT")

FINDINGS = (
    Finding("Figure 1", "clients perturb, a server collects", "drawing", "the model of a release, and of a survey"),
    Finding("Table 1", "count queries of two yes/no attributes", "drawing", "two rows of Table 7 added up"),
    Finding(
        "Table 2",
        "entropy, Gini and χ² of a split",
        "in part",
        "χ² with the sizes of the parts; without, a part of one record would win",
    ),
    *(
        Finding(f"Table {number}", shows, "drawing", "computed on 10,000 records")
        for number, shows in (
            (3, "queries for two classes"),
            (4, "queries for three classes"),
            (5, "what IBT rebuilds at once"),
            (6, "states of a record, in bits"),
            (7, "what EIBT rebuilds at once"),
        )
    ),
)


def report() -> Iterator[str]:
    """Each state with its query, the true and the perturbed count, and what IBT and EIBT make of it."""
    setting = Setting(len(TRUTH), 1, int(TRUTH.sum()), RETENTION)
    perturbed = perturbed_once(TRUTH[None].astype(np.int64), setting.operator, Randomness.seeded(4).generator())
    found = {name: CURVES[name](perturbed.astype(float), setting.operator)[0] for name in _SHOWN}
    yield "## Tables 1 to 7: the counts behind one split\n"
    yield (
        f"Three classes, one predicate, {TRUTH.sum():,.0f} records, ρ = {RETENTION:g}. The states and queries are "
        "those of Tables 6 and 7; Table 4 has the same queries, Table 5 those of one class against the rest, and "
        "Tables 1 and 3 those of two classes. IBT rebuilds the rows of a class from a run of its own, EIBT all rows "
        "from one.\n"
    )
    yield "| state | query | true | perturbed | IBT | EIBT |\n|---|---|---|---|---|---|"
    for one in range(len(TRUTH)):
        for holds in (0, 1):
            query = f"COUNT(P₀^{one} ∧ {'' if holds else '¬'}P₁)"
            cells = [TRUTH[one, holds], *(counts[one, holds] for counts in found.values())]
            yield f"| {one:02b}{holds} | {query} | {' | '.join(f'{count:,.0f}' for count in cells)} |"
    yield ""
    yield "Table 2, what splitting by P₁ gains a record:\n"
    yield "| | true | perturbed | IBT | EIBT |\n|---|---|---|---|---|"
    for criterion in CRITERIA:
        gains = [_gain(counts, criterion) for counts in (TRUTH, *found.values())]
        yield f"| {criterion} | {' | '.join(f'{gain:.4f}' for gain in gains)} |"
    yield ""


def _gain(counts: Array, criterion: str) -> float:
    whole, parts = counts.sum(axis=1), (counts[:, 0], counts[:, 1])
    return float(CRITERIA[criterion](whole, parts) / whole.sum())  # type: ignore[index]
