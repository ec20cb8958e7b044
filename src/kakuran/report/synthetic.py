"""A synthetic table on disk, and the page beside it: what it is, how good it is, and what must not be read from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kakuran.answers import SyntheticQuality, SyntheticTable
from kakuran.design import expected_error
from kakuran.release import beside, check_table, write_records
from kakuran.report.page import Html, code, page, paragraph, points, section, table
from kakuran.report.released import domain_of, promised_numbers
from kakuran.schema import ABOUT, Numeric
from kakuran.words import LANGUAGES, Words, words_in
from kakuran.writing import check_free

METADATA_KEY = "kakuran.synthetic"
_READERS = {".csv": "csv", ".xlsx": "excel", ".sav": "spss", ".dta": "stata"}
"""What pandas calls the readers of files that are not Parquet."""
_WAYS = ("one_way_error", "two_way_error", "three_way_error")
_NEVER = ("people", "errors", "rare", "triples", "fine", "link", "safer")
"""What must not be read from made-up records."""


def about_path(path: str | Path) -> Path:
    """Where the page about a synthetic table lies."""
    return beside(Path(path), ".about.html")


def check_synthetic(path: str | Path, *, force: bool) -> None:
    """Refuse to write a synthetic table to files of the wrong kind, that exist already, or have nowhere to be."""
    check_table(Path(path), force=force)
    check_free(about_path(path), force=force)


def save_synthetic(
    synthetic: SyntheticTable, path: str | Path, *, lang: str = "en", force: bool = False
) -> SyntheticQuality:
    """Write made-up records as CSV, Parquet, Excel, SPSS or Stata, and beside them a page that says what they are.

    CSV opens right in Excel, also a Japanese one. The page is called as the table: ``plain.about.html`` beside
    ``plain.csv``, and ``plain.xlsx.about.html`` beside ``plain.xlsx``, which says it in a sheet, too.

    Parameters
    ----------
    synthetic : SyntheticTable
        The records; they are never all in memory.
    path : str or Path
        A ``.csv``, ``.parquet``, ``.xlsx``, ``.sav`` or ``.dta`` file.
    lang : str, optional
        Of the page: ``"en"`` or ``"ja"``.
    force : bool, optional
        Replace files that exist already.

    Returns
    -------
    SyntheticQuality
        How far the records are expected to be from the truth.

    Examples
    --------
    >>> import tempfile, kakuran as kk
    >>> from pathlib import Path
    >>> from kakuran.samples import census, census_schema
    >>> release = kk.perturb(census(2_000), kk.calibrate(census_schema(), n=2_000, k=5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     quality = kk.save_synthetic(release.synthesise(), Path(folder, "plain.csv"))
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['plain.about.html', 'plain.csv']
    """
    check_synthetic(path, force=force)
    quality = synthetic.quality()
    said = about_synthetic(synthetic, quality, Path(path).name, lang=lang)
    note = {METADATA_KEY: json.dumps(_described(synthetic), ensure_ascii=False)}
    schema = synthetic.schema.with_metadata({ABOUT: "\n".join(_inside(synthetic, about_path(path).name))})
    write_records(Path(path), schema, synthetic.batches(), note, (about_path(path), said))
    return quality


def _inside(synthetic: SyntheticTable, beside: str) -> Iterator[str]:
    """What those should know who open the table alone; in every language."""
    for say in map(words_in, LANGUAGES):
        yield say("inside_synthetic")
        yield say("synthetic_warning")
        yield say("synthetic_what", n=synthetic.n)
        yield say("inside_synthetic_page", page=beside)


def _described(synthetic: SyntheticTable) -> dict[str, Any]:
    """What stands in a Parquet file's own metadata."""
    say = words_in("en")
    return {
        "what": say("synthetic_what", n=synthetic.n),
        "never": [say(f"synthetic_never_{name}", n=synthetic.n) for name in _NEVER],
        "records": synthetic.n,
        "copies": len(synthetic),
        "release": {"records": synthetic.source_records, "k": synthetic.plan.k, "epsilon": synthetic.plan.epsilon},
        "model": synthetic.reason,
        "kakuran": version("kakuran"),
    }


def about_synthetic(
    synthetic: SyntheticTable, quality: SyntheticQuality, name: str | None = None, *, lang: str = "en"
) -> str:
    """One standalone HTML page about made-up records.

    Parameters
    ----------
    synthetic : SyntheticTable
        The records.
    quality : SyntheticQuality
        How far they are expected to be from the truth.
    name : str, optional
        What the file is called that holds them.
    lang : str, optional
        ``"en"`` or ``"ja"``.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.report import about_synthetic
    >>> from kakuran.samples import census, census_schema
    >>> release = kk.perturb(census(2_000), kk.calibrate(census_schema(), n=2_000, k=5))
    >>> drawn = release.synthesise()
    >>> "No row is a person" in about_synthetic(drawn, drawn.quality())
    True
    """
    say, plan = words_in(lang), synthetic.plan
    surely = "" if plan.certainty is None else say("with_certainty", certainty=plan.certainty)
    return page(
        say,
        say("synthetic_title", n=synthetic.n),
        section(
            say("synthetic_is"),
            paragraph(say("synthetic_what", n=synthetic.n), kind="lead"),
            paragraph(say("synthetic_from", records=synthetic.source_records, k=plan.k, surely=surely)),
            paragraph(say("estimator", reason=synthetic.reason), kind="note"),
        ),
        _good(synthetic, quality, say),
        section(say("synthetic_never"), points(say(f"synthetic_never_{name}", n=synthetic.n) for name in _NEVER)),
        _copies(synthetic, name, say),
        section(
            say("one_way"),
            table(say("domain"), [say("column"), say("domain")], _columns(synthetic, say), text_columns=2),
        ),
        warnings=[say("synthetic_warning")],
        numbers=[
            (say("records"), f"{synthetic.n:,}"),
            (say("synthetic_copies"), f"{len(synthetic):,}"),
            *promised_numbers(plan, say),
        ],
    )


def _good(synthetic: SyntheticTable, quality: SyntheticQuality, say: Words) -> Html:
    """How good the records are expected to be."""
    verdict = expected_error(synthetic.plan.tells, synthetic.source_records, synthetic.plan.about).verdict
    columns = (quality.ways, quality.expected, quality.by_chance, quality.pmse, quality.pmse_ratio)
    rows = [
        [say(_WAYS[way - 1]), f"{expected:.1%}", f"{chance:.1%}", f"{pmse:.2g}", f"{ratio:,.1f}"]
        for way, expected, chance, pmse, ratio in zip(*columns, strict=True)
    ]
    header = ["", *(say(f"synthetic_{name}") for name in ("expected", "by_chance", "pmse", "pmse_ratio"))]
    return section(
        say("synthetic_good"),
        paragraph(say("good_for", what=verdict)),
        table(say("synthetic_wrong"), header, rows),
        paragraph(say("synthetic_how"), kind="note"),
    )


def _copies(synthetic: SyntheticTable, name: str | None, say: Words) -> Html:
    """How to use several copies."""
    if len(synthetic) == 1:
        return section(say("synthetic_intervals"), paragraph(say("synthetic_one_copy")))
    numbers = [one.name for one in synthetic.plan.schema.released if isinstance(one, Numeric)]
    typed = say(
        "synthetic_use",
        reader=_READERS.get(Path(name or "plain.csv").suffix, "parquet"),
        file=name or "plain.csv",
        copy=synthetic.columns[0],
        column=numbers[0] if numbers else synthetic.columns[1],
    )
    return section(say("synthetic_intervals"), paragraph(say("synthetic_several", copies=len(synthetic))), code(typed))


def _columns(synthetic: SyntheticTable, say: Words) -> list[list[str]]:
    """Every column and what it may hold."""
    return [[one.name, domain_of(one, say)] for one in synthetic.plan.schema.released]
