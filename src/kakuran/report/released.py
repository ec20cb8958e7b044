"""The report of a release: for everybody from the release alone, or for its steward beside the originals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kakuran.calibration import Plan
from kakuran.counts import Progress
from kakuran.errors import ReleaseError
from kakuran.release import Audit, Manifest, Release, read_release
from kakuran.report.audited import audit_section
from kakuran.report.contents import LEVEL, look_at
from kakuran.report.lost import loss_section
from kakuran.report.page import Html, code, facts, page, paragraph, points, section, table
from kakuran.report.rows import plan_rows
from kakuran.report.views import one_way_section, two_way_section
from kakuran.report.words import Words, words_in
from kakuran.schema import Categorical, Dropped, Numeric, open_source


def release_report(
    release: Release | str | Path,
    *,
    original: Any = None,
    audit: Audit | None = None,
    command: str | None = None,
    answer: Sequence[str] = (),
    lang: str = "en",
    progress: Progress = int,
) -> str:
    """One standalone HTML page about a release, with tables and pictures, to read on screen or on paper.

    Given nothing but the release it is a function of the release alone and as public as that. With `original`, `audit`
    or `command` it is the steward's, and marked as internal.

    Parameters
    ----------
    release : in memory, or the path of one of any size, which is read as a stream
    original : the true table, to compare with: a frame, a path or any other source
    audit : the outcome of `kakuran.audit`, to show
    command : what was typed to make it, to show
    answer : sections, made with `kakuran.report.page`, that go first: what was asked of the release
    lang : ``"en"`` or ``"ja"``
    progress : told how many records were read

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> table = pa.table({"job": ["clerk", "nurse", "nurse", "nurse"] * 500})
    >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=2000, k=10)
    >>> release = kk.perturb(table, plan)
    >>> page = kk.release_report(release)
    >>> "A release of 2,000 perturbed records" in page, "INTERNAL" in page
    (True, False)
    >>> "INTERNAL" in kk.release_report(release, original=table)
    True
    """
    release = release if isinstance(release, Release) else read_release(release)
    originals = None if original is None else open_source(original)
    manifest, say = release.manifest, words_in(lang)
    if not manifest.records:
        raise ReleaseError("an empty release has nothing to report")
    contents = look_at(release, originals, progress)
    is_internal = originals is not None or audit is not None or command is not None
    parts = [
        *([paragraph(say("internal"), kind="internal")] if is_internal else []),
        *_warnings(manifest, say),
        _summary(manifest, say),
        *answer,
        section(say("promise"), *_promise(manifest.plan, say)),
        section(say("how"), *_mechanisms(manifest.plan, say)),
        one_way_section(contents, say),
        two_way_section(contents, say),
        *([] if originals is None else [loss_section(contents, release, originals, say)]),
        *([] if audit is None else [audit_section(audit, say)]),
        section(say("limits"), points(_limits(manifest.plan, say))),
        *([] if command is None else [section(say("command"), code(command))]),
    ]
    sources = say("with_originals" if is_internal else "alone")
    footer = say("made_by", version=version("kakuran"), alone=sources)
    return page(say("title", n=manifest.records), *parts, lang=lang, footer=footer)


def _warnings(manifest: Manifest, say: Words) -> list[Html]:
    reasons = [("seeded", manifest.seeded), ("kept_order", manifest.order == "kept")]
    return [paragraph(say("unsafe", why=say(name)), kind="warning") for name, applies in reasons if applies]


def _summary(manifest: Manifest, say: Words) -> Html:
    plan = manifest.plan
    return facts(
        [
            (say("records"), f"{manifest.records:,}"),
            (say("columns"), f"{len(plan.schema.released)}"),
            ("k", f"{plan.k:g}"),
            ("ε", _number(plan.epsilon)),
            (say("calibration"), say(plan.calibration)),
        ]
    )


def _promise(plan: Plan, say: Words) -> list[Html]:
    kept = say.listed(attribute.name for attribute in plan.schema.kept)
    ratio = f"{math.exp(min(plan.epsilon, 700)):,.3g}"
    epsilon = (
        say("epsilon", epsilon=_number(plan.epsilon), ratio=ratio)
        if math.isfinite(plan.epsilon)
        else say("epsilon_infinite")
    )
    return [
        paragraph(say("k", k=plan.k, who=say(f"who_{plan.calibration}")), kind="lead"),
        paragraph(epsilon, kind="lead"),
        *([paragraph(say("among", kept=kept))] if kept else []),
        paragraph(say("estimates", level=LEVEL), kind="note"),
    ]


def _mechanisms(plan: Plan, say: Words) -> list[Html]:
    perturbed = {row[0]: row for row in plan_rows(plan, say)}
    rows = []
    for attribute in plan.schema:
        _, kind, symbol, value, epsilon = perturbed.get(attribute.name, [""] * 5)
        if attribute.name not in perturbed:
            kind = say("is_dropped" if isinstance(attribute, Dropped) else "is_kept")
        parameter = f"{symbol} = {value}" if symbol else ""
        rows.append([attribute.name, _domain(attribute, say), kind, parameter, epsilon])
    header = [say("column"), say("domain"), say("mechanism"), say("parameter"), "ε"]
    caption = say("how_caption", epsilon=_number(plan.epsilon))
    return [
        table(caption, header, rows, text_columns=3),
        paragraph(say("mechanisms"), kind="note"),
        *(paragraph(say.of(told), kind="warning") for told in plan.scattered),
    ]


def _domain(attribute: Categorical | Numeric | Dropped, say: Words) -> str:
    if isinstance(attribute, Numeric):
        return say("range", low=attribute.low, high=attribute.high, step=attribute.step)
    return "" if isinstance(attribute, Dropped) else say("values", count=len(attribute.values))


def _limits(plan: Plan, say: Words) -> list[str]:
    kept = say.listed(attribute.name for attribute in plan.schema.kept)
    return [
        say("limit_groups"),
        say("limit_again"),
        say("limit_domains"),
        *([say("limit_kept", kept=kept)] if kept else []),
        *([say("limit_data")] if plan.calibration == "data-dependent" else []),
        say("limit_intervals"),
    ]


def _number(epsilon: float) -> str:
    return f"{epsilon:.4g}" if math.isfinite(epsilon) else "∞"
