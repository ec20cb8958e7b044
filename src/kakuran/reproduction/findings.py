"""What a paper's experiments came to when run again: the report, and a verdict on every table and figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["yes", "in part", "no", "drawing", "not run"]
"""Whether ours agrees with the paper's; a drawing has no numbers to agree with."""

PAPERS = {
    "s0": "Mixtures behind perturbed numbers",
    "s1": "Wide tables released through their factors",
    "s2": "Variable selection across two companies",
    "s3": "Information loss by distance",
    "s4": "Counts for trees, all classes at once",
}


@dataclass(frozen=True)
class Finding:
    """One table or figure of a paper, and how near ours comes to it."""

    item: str
    shows: str
    verdict: Verdict
    how_close: str


@dataclass(frozen=True)
class Reproduced:
    """A report in Markdown, and the verdicts it comes to."""

    text: str
    findings: tuple[Finding, ...]


def overview(found: Mapping[str, Reproduced]) -> str:
    """One line a table or figure, of every paper that was run."""
    return "\n".join(_overview(found))


def _overview(found: Mapping[str, Reproduced]) -> Iterator[str]:
    counted = [finding.verdict for reproduced in found.values() for finding in reproduced.findings]
    yield "# The papers, run again"
    yield ""
    yield (
        "Every table and figure of the five papers. *Yes*: the numbers, or what the paper says of a figure it prints "
        "without numbers, come out. *In part* and *no* say what does not, and why. *Drawing*: nothing to measure; "
        "ours shows the same on live data."
    )
    yield ""
    yield ", ".join(f"{counted.count(verdict)} {verdict}" for verdict in dict.fromkeys(counted)) + "."
    for name, reproduced in found.items():
        yield ""
        yield f"## {name.upper()}: {PAPERS[name]}"
        yield ""
        yield f"`kakuran reproduce {name}` · [all of it]({name}.md)"
        yield ""
        yield "| | shows | reproduces? | how close |"
        yield "|---|---|---|---|"
        for finding in reproduced.findings:
            yield f"| {finding.item} | {finding.shows} | {finding.verdict} | {finding.how_close} |"
    yield ""
