"""A fit as one standalone page: model, selection path, leakage meter, transcript."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from kakuran.vertical.picture import draw_path

if TYPE_CHECKING:
    from kakuran.vertical.fit import VerticalFit

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2a44; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .2rem .7rem; text-align: right }
th:first-child, td:first-child { text-align: left } thead { border-bottom: 2px solid #1f2a44 }
code { font-size: .8rem; word-break: break-all } svg { max-width: 100%; height: auto }
"""


def render(fit: VerticalFit) -> str:
    """The page, with its picture inside."""
    quality = fit.quality
    facts = [
        ("shared records", f"{quality.records:,}"),
        ("protocol", fit.protocol),
        ("R²", f"{quality.r_squared:.4f} (adjusted {quality.adjusted_r_squared:.4f})"),
        ("AIC, AICc, BIC", f"{quality.aic:.2f}, {quality.aicc:.2f}, {quality.bic:.2f}"),
        ("intercept", "none" if fit.intercept is None else f"{fit.intercept:.6g}"),
        ("condition number", f"{quality.condition:.3g}; {quality.digits} digits of the coefficients can be relied on"),
        ("plan", fit.fingerprint),
    ]
    sections = [
        _table(["", ""], facts),
        "<h2>All columns, standardised</h2>",
        _table(["column", "party", "coefficient", "std. error", "t", "p", "95 % interval", "VIF"], all_columns(fit)),
        "<h2>Our own columns, in their own units</h2>",
        _table(["column", "coefficient", "std. error", "95 % interval"], _own_columns(fit)),
        "<h2>How the columns were chosen</h2>",
        _picture(fit),
        "<h2>What the others could have learned of our columns</h2>",
        "<ul>" + "".join(f"<li>{escape(said)}</li>" for said in fit.exposure.sentences()) + "</ul>",
        _table(["our column", "share that can be rebuilt"], [(n, f"{s:.1%}") for n, s in fit.exposure.shares.items()]),
        "<h2>Transcript</h2>",
        *(_transcript(transcript) for transcript in fit.transcripts),
    ]
    title = escape(f"{fit.party}: regression on {len(fit.chosen)} columns")
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    return f"{head}<h1>{title}</h1>{''.join(sections)}</html>\n"


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


def _picture(fit: VerticalFit) -> str:
    content = io.StringIO()
    draw_path(fit).savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()[content.getvalue().index("<svg") :]


def _transcript(transcript: Mapping[str, Any]) -> str:
    rows = [(kind, direction, f"{size:,}", digest) for direction, kind, size, digest in transcript["messages"]]
    total = (
        f"{transcript['bytes_sent']:,} bytes sent to {transcript['peer']}, {transcript['bytes_received']:,} received"
    )
    table = _table(["message", "", "bytes", "SHA-256"], rows)
    return f"<details><summary>{escape(total)}, {len(rows):,} messages</summary>{table}</details>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
