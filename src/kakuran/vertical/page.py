"""A fit as one standalone page: model, selection path, leakage meter, transcript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kakuran.report.page import Html, facts, folded, page, paragraph, picture, points, section, table
from kakuran.vertical.picture import draw_path

if TYPE_CHECKING:
    from kakuran.vertical.fit import VerticalFit


def render(fit: VerticalFit) -> str:
    """The page, with its picture inside."""
    quality = fit.quality
    about = [
        ("protocol", fit.protocol),
        ("adjusted R²", f"{quality.adjusted_r_squared:.4f}"),
        ("AIC, AICc, BIC", f"{quality.aic:.2f}, {quality.aicc:.2f}, {quality.bic:.2f}"),
        ("intercept", "none" if fit.intercept is None else f"{fit.intercept:.6g}"),
        ("condition number", f"{quality.condition:.3g}; {quality.digits} digits of the coefficients can be relied on"),
        ("plan", fit.fingerprint),
    ]
    rebuilt = [(name, f"{share:.1%}") for name, share in fit.exposure.shares.items()]
    every = ["column", "party", "coefficient", "std. error", "t", "p", "95 % interval", "VIF"]
    own = ["column", "coefficient", "std. error", "95 % interval"]
    return page(
        f"{fit.target}, explained by {len(fit.chosen)} columns, as {fit.party} sees it",
        paragraph(
            "INTERNAL – for us alone: this page tells our own coefficients and how exposed we are.", kind="internal"
        ),
        facts([("shared records", f"{quality.records:,}"), ("R²", f"{quality.r_squared:.4f}")]),
        table("The fit", ["", ""], about, text_columns=2),
        section(
            "All columns, standardised", table("Coefficients of every party", every, all_columns(fit), text_columns=2)
        ),
        section("Our own columns, in their own units", table("Coefficients of ours", own, _own_columns(fit))),
        section("How the columns were chosen", picture(draw_path(fit), _path_in_words(fit))),
        section(
            "What the others could have learned of our columns",
            points(fit.exposure.sentences()),
            table("Rebuilt from all that was sent", ["our column", "share that can be rebuilt"], rebuilt),
        ),
        section("Transcript", *(_transcript(transcript) for transcript in fit.transcripts)),
    )


def all_columns(fit: VerticalFit) -> list[tuple[str, ...]]:
    """The chosen columns of all parties as rows of text."""
    found = fit.inference
    return [
        (
            name,
            fit.owners[name],
            f"{found.coefficients[at]:.4f}",
            f"{found.standard_errors[at]:.4f}",
            f"{found.t[at]:.2f}",
            f"{found.p[at]:.2g}" if found.p[at] > 1e-300 else "< 1e-300",
            f"{found.low[at]:.4f} … {found.high[at]:.4f}",
            f"{found.vif[at]:.2f}",
        )
        for at, name in enumerate(found.names)
    ]


def _own_columns(fit: VerticalFit) -> list[tuple[str, ...]]:
    return [
        (name, f"{own.coefficient:.6g}", f"{own.standard_error:.3g}", f"{own.low:.6g} … {own.high:.6g}")
        for name, own in fit.own.items()
    ]


def _path_in_words(fit: VerticalFit) -> str:
    steps = [
        f"{step.action} {step.column or ''}".strip() + f" {step.score:.2f}" + ("" if step.accepted else " (not taken)")
        for step in fit.selection.steps
    ]
    return "Selection path, with the criterion after every step: " + "; ".join(steps)


def _transcript(transcript: Mapping[str, Any]) -> Html:
    rows = [(kind, direction, f"{size:,}", digest) for direction, kind, size, digest in transcript["messages"]]
    total = (
        f"{transcript['bytes_sent']:,} bytes sent to {transcript['peer']}, {transcript['bytes_received']:,} received"
    )
    summary = f"{total}, {len(rows):,} messages"
    return folded(summary, table("Every message", ["message", "", "bytes", "SHA-256"], rows, text_columns=2))
