"""A claim, what was measured for it, and the bar it has to reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HEADER = "| claim | ours | peer | ratio | bar | met? |\n|---|---|---|---|---|---|\n"


@dataclass(frozen=True)
class Claim:
    """One row of the table; without a bar it is shown for information."""

    text: str
    ours: str
    peer: str
    ratio: str = "—"
    bar: str = "—"
    is_met: bool | None = None

    def __str__(self) -> str:
        met = {True: "yes", False: "**no**", None: "—"}[self.is_met]
        return f"| {self.text} | {self.ours} | {self.peer} | {self.ratio} | {self.bar} | {met} |"


def faster(text: str, ours: float, peer: float, peer_name: str, at_least: float) -> Claim:
    """So many times as fast as a peer; times are in seconds per value."""
    ratio = peer / ours
    return Claim(
        text,
        f"{ours * 1e9:.2f} ns",
        f"{peer_name}: {peer * 1e9:,.2f} ns",
        f"{ratio:,.2f}×",
        f"≥ {at_least:g}×",
        ratio >= at_least,
    )


def not_measured(text: str, ours: float, reason: str, at_least: float) -> Claim:
    """A peer that could not take part: the bar is not met, and the table says why."""
    return Claim(text, f"{ours * 1e9:.2f} ns", reason, bar=f"≥ {at_least:g}×", is_met=False)


def at_most_times(text: str, ours: float, peer: float, unit: str, peer_name: str, bar: float | None = None) -> Claim:
    """No more than so many times what a peer takes."""
    ratio = ours / peer
    return Claim(
        text,
        f"{ours:.2f} {unit}",
        f"{peer_name}: {peer:.2f} {unit}",
        f"{ratio:.2f}×",
        "—" if bar is None else f"≤ {bar:g}×",
        None if bar is None else ratio <= bar,
    )


def within(text: str, ours: float, peer: float, peer_name: str, seconds: float) -> Claim:
    """Done within so many seconds, beside what a naive version would take."""
    return Claim(
        text,
        f"{ours:.2f} s",
        f"{peer_name}: {peer:,.0f} s",
        f"{peer / ours:,.0f}×",
        f"≤ {seconds:g} s",
        ours <= seconds,
    )


def faster_run(
    text: str, ours: float, peer: float, peer_name: str, at_least: float, *, is_finished: bool = True
) -> Claim:
    """So many times as fast as a peer, or more if it was stopped; times are in seconds for the whole run."""
    ratio, more = peer / ours, "" if is_finished else "> "
    return Claim(
        text,
        f"{ours:.3f} s",
        f"{peer_name}: {more}{peer:,.2f} s",
        f"{more}{ratio:,.0f}×",
        f"≥ {at_least:g}×",
        ratio >= at_least,
    )


def at_most(text: str, ours: float, bar: float, unit: str = "", beside: str = "—") -> Claim:
    """No more than a bar: seconds, a loss, a percentage."""
    return Claim(text, f"{ours:.4g} {unit}".strip(), beside, bar=f"≤ {bar:g} {unit}".strip(), is_met=ours <= bar)


def no_peer(text: str, ours: str, reason: str, bar: str) -> Claim:
    """A peer that could not take part in a whole run: the bar is not met, and the table says why."""
    return Claim(text, ours, reason, bar=bar, is_met=False)


def table(claims: Iterable[Claim]) -> str:
    """The claims as a Markdown table."""
    return HEADER + "".join(f"{claim}\n" for claim in claims)
