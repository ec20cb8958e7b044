"""The report of a release: for everybody from the release alone, or for its steward beside the originals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kakuran.answers import tell_by_tell
from kakuran.audit import Audit, ColumnLoss, Distance, TruePeople, capacity_of_counts, wrong_cells
from kakuran.charts import COLOUR_OF, Series, bar_chart
from kakuran.counts import Cells, Tally, every_code
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.design import DELTA, Plan, expected_error
from kakuran.engine import count_tables
from kakuran.errors import KakuranError, ReleaseError
from kakuran.release import Manifest, Release, read_release
from kakuran.report.contents import MOST_ACROSS, Contents, View, look_at
from kakuran.report.page import (
    Html,
    bars_beside_table,
    beside,
    folded,
    page,
    pair_section,
    paragraph,
    picture,
    section,
    table,
)
from kakuran.report.rows import in_draw, plan_rows, risk_after, risk_before
from kakuran.schema import Categorical, Dropped, Layout, Numeric, Source, Weight, clipped_of, open_source
from kakuran.typing import Array, Indices, Progress
from kakuran.words import Phrase, Words, words_in

MOST_CELLS = 40
"""Cells of one column that are shown."""
MOST_COLUMNS = 6
"""Columns whose counts are unfolded."""
MOST_UNFOLDED = 2
"""Pairs of columns whose counts are."""
MOST_ON_PAPER = 8
"""Columns of a table that fit on a sheet."""


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
    release : Release or path
        In memory, or the path of one of any size, which is read as a stream.
    original : frame, path or any other source, optional
        The true table, to compare with.
    audit : Audit, optional
        The outcome of `kakuran.audit`, to show.
    command : str, optional
        What was typed to make it, to show.
    answer : sequence of str, optional
        Sections, made with `kakuran.report.page`, that go first: what was asked of the release.
    lang : str, optional
        ``"en"`` or ``"ja"``.
    progress : callable, optional
        Told how many records were read.

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
        raise ReleaseError(Phrase("an empty release has nothing to report"))
    contents = look_at(release, originals, progress)
    is_internal = originals is not None or audit is not None or command is not None
    plan, sources = manifest.plan, say("with_originals" if is_internal else "alone")
    verdict = _verdict(plan, say)
    return page(
        say,
        say("title", n=manifest.records),
        *([*answer, *verdict] if answer else []),
        section(say("promise"), *_promise(manifest, say)),
        section(say("how"), *_mechanisms(plan, say)),
        _one_way_section(contents, say),
        _two_way_section(contents, say),
        "" if originals is None else _loss_section(contents, release, originals, say),
        "" if audit is None else _audit_section(audit, say),
        opening=[] if answer else verdict,
        internal=say("internal") if is_internal else "",
        warnings=[
            *_warnings(manifest, say),
            *([] if originals is None else map(say.of, clipped_of(originals, plan.schema))),
        ],
        numbers=[
            (say("records"), f"{manifest.records:,}"),
            (say("columns"), f"{len(plan.schema.released)}"),
            *promised_numbers(plan, say),
            *([(say("central_epsilon"), f"{manifest.central():.3g}")] if manifest.is_central else []),
            (say("calibration"), say(plan.calibration)),
        ],
        limits=_limits(plan, say),
        command=command,
        footer=say("made_by", version=version("kakuran"), alone=sources),
    )


def _verdict(plan: Plan, say: Words) -> list[Html]:
    """What the release is good for: in a sentence, and in a picture of how wrong tables of it are expected to be."""
    expected = expected_error(plan.tells, plan.n, plan.about)
    named = "verdict" if plan.certainty is None else "verdict_certain"
    sentence = paragraph(say(named, what=expected.verdict, k=plan.k, certainty=plan.certainty), kind="verdict")
    possible = {"one": expected.one_way, "two": expected.two_way, "margins": expected.by_margins}
    ways = (possible | {"three": expected.three_way}) if len(plan.schema.perturbed) > 2 else possible
    if len(plan.schema.perturbed) < 2:
        return [sentence]
    names, shares = [say(f"expected_{name}") for name in ways], np.array([*ways.values()])
    figure = bar_chart(names, [Series(say("wrong_share"), shares, COLOUR_OF["reconstructed"])], written="{x:.0%}")
    rows = [[name, f"{share:.1%}"] for name, share in zip(names, shares, strict=True)]
    return [
        sentence,
        beside(
            picture(figure, say("expected_picture")),
            table(_expected_caption(plan, say), [say("expected_of"), say("wrong_share")], rows),
        ),
    ]


def _expected_caption(plan: Plan, say: Words) -> str:
    """With the column that tables of several columns have, where the release is about one."""
    return say("expected_caption") if plan.about is None else say("expected_about", about=plan.about)


def _warnings(manifest: Manifest, say: Words) -> list[str]:
    reasons = [("seeded", manifest.seeded), ("kept_order", manifest.order == "kept")]
    return [say("unsafe", why=say(name)) for name, applies in reasons if applies]


def _promise(manifest: Manifest, say: Words) -> list[str]:
    plan = manifest.plan
    kept = say.listed(attribute.name for attribute in plan.schema.kept)
    weight = plan.schema.weight
    return [
        *(paragraph(sentence, kind="lead") for sentence in _about_k(plan, say)),
        paragraph(_about_epsilon(plan, say), kind="lead"),
        paragraph(_about_central(manifest, say), kind="lead"),
        paragraph(say("of_people", unit=plan.unit, person=plan.schema.person), kind="lead") if plan.unit else "",
        paragraph(say("among", kept=kept)) if kept else "",
        paragraph(say("estimates", level=DEFAULT_LEVEL), kind="note"),
        paragraph(say("not_weighed", weight=weight.name), kind="note") if weight else "",
    ]


def _about_k(plan: Plan, say: Words) -> list[str]:
    """What k bounds, and what it does not where it holds with certainty."""
    if plan.certainty is None:
        return [say("k", k=plan.k, who=say(f"who_{plan.calibration}"))]
    return [say("k_certain", k=plan.k, certainty=plan.certainty), say("k_certain_not", every=plan.k_for(plan.n))]


def _about_central(manifest: Manifest, say: Words) -> str:
    """The central ε, or why none holds."""
    try:
        epsilon = manifest.central()
    except KakuranError as why:
        return say("no_central", why=say.error(why))
    if math.isinf(epsilon):
        return ""  # as ε₀ is, of which that was said
    named = "central_people" if manifest.plan.unit else "central"
    return say(named, epsilon=f"{epsilon:.3g}", delta=f"{DELTA:f}")


def promised_numbers(plan: Plan, say: Words) -> list[tuple[str, str]]:
    """k, how surely it holds, and the ε₀ of each record, with their names."""
    return [
        ("k", f"{plan.k:g}"),
        *([] if plan.certainty is None else [(say("certainty"), f"{plan.certainty:.10g}")]),
        *([] if plan.guaranteed_epsilon is None else [(say("local_epsilon"), _number(plan.guaranteed_epsilon))]),
    ]


def _about_epsilon(plan: Plan, say: Words) -> str:
    if not math.isfinite(plan.epsilon):
        return say("epsilon_infinite")
    if plan.guaranteed_epsilon is None:
        return say("epsilon_of_data", epsilon=_number(plan.epsilon))
    ratio = f"{math.exp(min(plan.epsilon, 700)):,.3g}"
    of = "epsilon" if plan.schema.rows_a_person == 1 else "epsilon_rows"
    return say(of, epsilon=_number(plan.epsilon), ratio=ratio)


def _mechanisms(plan: Plan, say: Words) -> list[Html]:
    perturbed = {row[0]: row for row in plan_rows(plan, say)}
    rows = []
    for attribute in plan.schema:
        _, kind, symbol, value, epsilon = perturbed.get(attribute.name, [""] * 5)
        if attribute.name not in perturbed:
            kept = "is_class" if isinstance(attribute, Weight) else "is_kept"
            kind = say("is_dropped" if isinstance(attribute, Dropped) else kept)
        parameter = f"{symbol} = {value}" if symbol else ""
        rows.append([attribute.name, domain_of(attribute, say), kind, parameter, epsilon])
    header = [say("column"), say("domain"), say("mechanism"), say("parameter"), "ε"]
    facts = {"epsilon": _number(plan.epsilon), "sets": len(plan.tells)}
    caption = say("how_told" if plan.layout.told else "how_caption", **facts)
    return [
        table(caption, header, rows, text_columns=3),
        paragraph(say("mechanisms"), kind="note"),
        *(paragraph(say.of(told), kind="warning") for told in plan.scattered),
    ]


def domain_of(attribute: Categorical | Numeric | Dropped, say: Words) -> str:
    """What a column may hold, in words."""
    if isinstance(attribute, Dropped):
        return ""
    if isinstance(attribute, Categorical):
        return say("ordered_values" if attribute.ordered else "values", count=attribute.points)
    if attribute.is_even:
        return say("range", low=attribute.low, high=attribute.high, step=attribute.step)
    bounds = {"low": attribute.written(attribute.low), "high": attribute.written(attribute.high)}
    return say("bands" if attribute.has_mean else "periods", count=attribute.points, **bounds)


def _limits(plan: Plan, say: Words) -> list[str]:
    kept = say.listed(attribute.name for attribute in plan.schema.kept)
    return [
        say("limit_groups"),
        say("limit_again"),
        *([] if plan.certainty is None else [say("limit_certain", draws=1 / (1 - plan.certainty))]),
        say("limit_domains"),
        *([say("limit_kept", kept=kept)] if kept else []),
        *([say("limit_data")] if plan.calibration == "data-dependent" else []),
        say("limit_intervals"),
    ]


def _number(epsilon: float) -> str:
    return f"{epsilon:.4g}" if math.isfinite(epsilon) else "∞"


def _one_way_section(contents: Contents, say: Words) -> Html:
    """Every column: the counts side by side, as bars and as a table."""
    untold = [paragraph(say("nothing", column=name), kind="note") for name in contents.untold]
    columns = [_one_way(view, say) for view in contents.columns]
    return section(say("one_way"), *_first(columns, MOST_COLUMNS, "more_columns", say), *untold)


def _first(parts: Sequence[Html], most: int, name: str, say: Words) -> list[Html]:
    """The first parts, and the others folded: a page is read from its top."""
    others = parts[most:]
    return [*parts[:most], *([folded(say(name, count=len(others)), *others)] if others else [])]


def _one_way(view: View, say: Words) -> Html:
    estimate, axis = view.estimate, view.estimate.axes[0]
    shown = _largest(estimate.counts)
    values = {kind: counts[shown] for kind, counts in _counts_of(view).items()}
    low, high = estimate.low[shown], estimate.high[shown]
    more = {
        say("interval", level=estimate.level): [
            f"{one:,.0f}–{other:,.0f}" for one, other in zip(low, high, strict=True)
        ],
        "": [say.of(Phrase("unclear")) if is_unclear else "" for is_unclear in estimate.unclear[shown]],
    }
    bars = bars_beside_table(
        say,
        say("picture_of", column=axis.name, series=say.listed(map(say, values))),
        say("counts_of", column=axis.name),
        say("value"),
        [say.of(axis.labels[place]) for place in shown],
        values,
        interval=(low, high),
        more=more,
    )
    left_out = paragraph(say("more", shown=len(shown), cells=axis.size), kind="note") if len(shown) < axis.size else ""
    method = paragraph(say("estimator", reason=estimate.reason), kind="note")
    return section(axis.name, bars, left_out, method, level=3)


def _largest(counts: Array) -> list[int]:
    """The largest cells, in their own order."""
    if len(counts) <= MOST_CELLS:
        return list(range(len(counts)))
    return sorted(np.argsort(-counts, kind="stable")[:MOST_CELLS].tolist())


def _two_way_section(contents: Contents, say: Words) -> Html:
    """The pairs that belong together most: heatmaps and a table each."""
    facts = {"count": contents.searched, "all": contents.possible, "most": MOST_ACROSS}
    words = [paragraph(say(_why(contents), **facts))]
    if 0 < contents.searched < contents.possible:
        words.append(paragraph(say("two_way_few", **facts), kind="note"))
    pairs = [_pair(view, say) for view in contents.pairs]
    return section(say("two_way"), *words, *_first(pairs, MOST_UNFOLDED, "more_pairs", say))


def _why(contents: Contents) -> str:
    if contents.pairs:
        return "two_way_why" if contents.pairs[0].original is None else "two_way_true"
    if not contents.searched:
        return "two_way_unknown"
    return "two_way_none" if contents.searched == contents.possible else "two_way_none_seen"


def _pair(view: View, say: Words) -> Html:
    down, across = ((axis.name, [say.of(label) for label in axis.labels]) for axis in view.estimate.axes)
    return pair_section(say, down, across, _counts_of(view), *_pair_tables(view, say), unclear=view.estimate.unclear)


def _counts_of(view: View) -> dict[str, Array]:
    """The counts to compare, the truth first where it is known."""
    known = {} if view.original is None else {"original": view.original}
    return known | {"naive": view.estimate.naive, "reconstructed": view.estimate.counts}


def _pair_tables(view: View, say: Words) -> list[Html]:
    """The numbers of a heatmap, cut into tables that fit on paper."""
    down, across = view.estimate.axes
    also = "" if view.original is None else say("pair_original")
    caption = say("pair_caption", one=down.name, other=across.name, level=view.estimate.level, also=also)
    parts = np.array_split(np.arange(across.size), math.ceil(across.size / MOST_ON_PAPER))
    return [
        table(
            caption,
            [f"{down.name} ╲ {across.name}", *(say.of(across.labels[column]) for column in columns)],
            [
                [say.of(label), *(_cell(view, row, column, say) for column in columns)]
                for row, label in enumerate(down.labels)
            ],
            kind="compact",
        )
        for columns in parts
    ]


def _cell(view: View, row: int, column: int, say: Words) -> Html:
    estimate, place = view.estimate, (row, column)
    lines = [
        f"<strong>{estimate.counts[place]:,.0f}{' ?' if estimate.unclear[place] else ''}</strong>",
        f"{estimate.low[place]:,.0f}–{estimate.high[place]:,.0f}",
        *([] if view.original is None else [f"{say('original')} {view.original[place]:,.0f}"]),
    ]
    return Html("<br>".join(lines))


def _loss_section(contents: Contents, release: Release, original: Source, say: Words) -> Html:
    """ILD of every column, and how many people are counted in the wrong cell, naively and reconstructed."""
    lost = column_losses(release, original)
    names = [view.estimate.axes[0].name for view in contents.columns]
    wrong = {
        "naive": np.array([wrong_cells(view.original, view.estimate.naive) for view in contents.columns]),
        "reconstructed": np.array([wrong_cells(view.original, view.estimate.counts) for view in contents.columns]),
    }
    rows = [
        [
            one.name,
            f"{one.lost:z.3f}",
            *(f"{values[names.index(one.name)]:.1%}" if one.name in names else "—" for values in wrong.values()),
        ]
        for one in lost
    ]
    header = [say("column"), "ILD", say("naive_wrong"), say("reconstructed_wrong")]
    series = [Series(say(kind), values, COLOUR_OF[kind]) for kind, values in wrong.items()]
    figure = bar_chart(names, series, written="{x:.0%}")
    return section(
        say("loss"),
        paragraph(say("loss_why")),
        beside(picture(figure, say("loss_picture")), table(say("loss_caption"), header, rows)),
    )


def column_losses(release: Release, original: Source) -> list[ColumnLoss]:
    """S3's ILD of every released column, from how often each value occurs."""
    plan, attributes = release.plan, release.plan.schema.released
    tables = [[every_code(attribute, plan.reach(attribute.name))] for attribute in attributes]
    told = (reduce(Tally.merge, tallies) for tallies in tell_by_tell(release.records.tallies, plan, tables, int))
    true = _true_values(plan, original, tables)
    return [
        ColumnLoss(attribute.name, _capacity(plan, attribute, *before), _capacity(plan, attribute, *_values_in(tally)))
        for attribute, before, tally in zip(attributes, true, told, strict=True)
    ]


def _true_values(plan: Plan, original: Source, tables: Sequence[Sequence[Cells]]) -> list[tuple[Indices, Array]]:
    """The cells of every column that somebody is in, and how many are."""
    if plan.schema.person is None:
        layout = Layout(plan.schema, plan.layout.reaches, is_released=False)
        return [*map(_values_in, count_tables(original, layout, tables))]
    people = TruePeople.of(plan.schema, original)
    counted = [people.counts(axes) for axes in tables]
    return [(np.flatnonzero(counts), counts[counts > 0]) for counts in counted]


def _values_in(tally: Tally) -> tuple[Indices, Array]:
    (*_, cells), counts = tally.occupied()
    return cells, counts


def _capacity(plan: Plan, attribute: Categorical | Numeric, cells: Indices, counts: Array) -> float:
    values, distance = _values(attribute, cells - plan.reach(attribute.name))
    return capacity_of_counts(attribute.name, values, counts, distance, 2)


def _values(attribute: Categorical | Numeric, codes: Any) -> tuple[list[Any], Distance]:
    """The values of codes and how far they lie apart; where missing is a value, numbers are only alike or not."""
    if attribute.missing == "category":
        return codes.tolist(), "discrete"
    if isinstance(attribute, Numeric):
        return attribute.numbers_of(codes).tolist(), "euclidean"
    inside = np.clip(codes, 0, attribute.points - 1)
    return [attribute.values[code] for code in inside], attribute.tree or "discrete"


def _audit_section(audit: Audit, say: Words) -> Html:
    """What the strongest attacker achieved, before and after."""
    verdict = (
        [paragraph(say("audit_passed", k=audit.k), kind="passed")]
        if audit.passed
        else [paragraph(say("audit_failed", why=problem), kind="warning") for problem in audit.problems]
    )
    return section(
        say("audit"),
        *verdict,
        paragraph(say("audit_why")),
        *map(paragraph, in_draw(audit, say)),
        picture(
            audit.plot(say.of),
            say("audit_picture", worst=audit.worst_posterior, bound=audit.bound),
            narrow=audit.plot(say.of, narrow=True),
        ),
        beside(
            table(say("audit_before"), [say("risk"), say("value")], risk_before(audit, say)),
            table(
                say("audit_after", attacked=audit.attacked, n=audit.n),
                [say("risk"), say("probability")],
                risk_after(audit, say),
            ),
        ),
    )
