"""A fit as one standalone page: model, selection path, leakage meter, transcript."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from kakuran.report.page import Html, facts, folded, page, paragraph, picture, points, section, table
from kakuran.report.words import Words, words_in
from kakuran.vertical.picture import draw_path

if TYPE_CHECKING:
    from kakuran.vertical.fit import VerticalFit


def render(fit: VerticalFit, lang: str = "en") -> str:
    """The page, with its picture inside."""
    say, quality = words_in(lang), fit.quality
    about = [
        (say("protocol"), fit.protocol),
        (say("adjusted"), f"{quality.adjusted_r_squared:.4f}"),
        (
            say.listed(("AIC", "AICc", "BIC")),
            say.listed(f"{one:.2f}" for one in (quality.aic, quality.aicc, quality.bic)),
        ),
        (say("intercept"), say("no_intercept") if fit.intercept is None else f"{fit.intercept:.6g}"),
        (say("condition"), say("digits", condition=quality.condition, digits=quality.digits)),
        (say("plan"), fit.fingerprint),
    ]
    interval = say("interval", level=0.95)
    own = [say("column"), say("coefficient"), say("standard_error"), interval]
    every = [say("column"), say("party"), say("coefficient"), say("standard_error"), "t", "p", interval, "VIF"]
    rebuilt = [(say.of(name), f"{share:.1%}") for name, share in fit.exposure.by_column]
    return page(
        say("fit_title", target=fit.target, party=fit.party),
        paragraph(say("fit_internal"), kind="internal"),
        facts([(say("shared"), f"{quality.records:,}"), ("R²", f"{quality.r_squared:.4f}")]),
        table(say("fit"), ["", ""], about, text_columns=2),
        section(say("standardised"), table(say("every_party"), every, all_columns(fit), text_columns=2)),
        section(say("own_units"), table(say("own_columns"), own, _own_columns(fit))),
        section(say("path"), picture(draw_path(fit, say.of), _path_in_words(fit, say))),
        section(
            say("exposed"),
            points(map(say.of, fit.exposure.sentences())),
            table(say("rebuilt"), [say("our_column"), say("rebuilt_share")], rebuilt),
        ),
        section(say("transcript"), *(_transcript(transcript, say) for transcript in fit.transcripts)),
        lang=lang,
        footer=say("made", version=version("kakuran")),
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


def _path_in_words(fit: VerticalFit, say: Words) -> str:
    steps = [
        say(f"step_{step.action}", column=step.column, score=step.score) + ("" if step.accepted else say("not_taken"))
        for step in fit.selection.steps
    ]
    return say("path_picture", steps="; ".join(steps))


def _transcript(transcript: Mapping[str, Any], say: Words) -> Html:
    rows = [(kind, say(direction), f"{size:,}", digest) for direction, kind, size, digest in transcript["messages"]]
    summary = say(
        "travelled",
        peer=transcript["peer"],
        sent=transcript["bytes_sent"],
        received=transcript["bytes_received"],
        count=len(rows),
    )
    header = [say("message"), "", say("bytes"), "SHA-256"]
    return folded(summary, table(say("every_message"), header, rows, text_columns=2))
