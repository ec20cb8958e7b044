"""The report of an advice."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from kakuran.advice import NAMES, Advice, Outlook, draw_errors
from kakuran.report.page import code, facts, page, paragraph, picture, points, section, table
from kakuran.words import Words, words_in


def advice_report(advice: Advice, command: str | None = None, *, lang: str = "en") -> str:
    """One standalone HTML page about which method to use; what was tried on data is marked as internal."""
    say = words_in(lang)
    first, *others = map(say.of, advice.sentences)
    curves = sorted((one for one in advice.curves if one.errors is not None), key=lambda one: (one.method, one.k))
    numbers = [
        (say("people"), f"{advice.n:,}"),
        ("k", f"{advice.k:g}"),
        (say("guess_wrong"), f"{advice.guess:.1%}"),
    ]
    return page(
        say("advice_title", k=advice.k),
        *([paragraph(say("advice_internal"), kind="internal")] if advice.from_data else []),
        facts(numbers),
        paragraph(first, kind="lead"),
        points(others),
        section(say("this_k"), table(say("wrong_cell"), *outlook_rows(advice.outlooks, say), text_columns=2)),
        section(
            say("other_k"),
            picture(
                draw_errors(advice, say.of), say("advice_picture"), narrow=draw_errors(advice, say.of, narrow=True)
            ),
            table(say("wrong_cell"), *curve_rows(curves, say), text_columns=2),
        ),
        *([] if command is None else [section(say("command"), code(command))]),
        lang=lang,
        footer=say("made", version=version("kakuran")),
    )


def outlook_rows(outlooks: Sequence[Outlook], say: Words) -> tuple[list[str], list[list[str]]]:
    """What methods would do at one k, as a header and rows of text."""
    header = [say("method"), say("promised"), say("error"), say("one_way_error"), say("two_way_error")]
    return header, [[say.of(NAMES[one.method]), say.of(one.promise), *_shares(one)] for one in outlooks]


def curve_rows(curves: Sequence[Outlook], say: Words) -> tuple[list[str], list[list[str]]]:
    """What methods would do at several k, as a header and rows of text."""
    (method, promise, *header), rows = outlook_rows(curves, say)
    several = [[*row[:2], f"{one.k:g}", *row[2:]] for one, row in zip(curves, rows, strict=True)]
    return [method, promise, "k", *header], several


def _shares(outlook: Outlook) -> list[str]:
    """People in the wrong cell: over all tables, over one-way and over two-way tables."""
    errors = outlook.errors
    found = [None] * 3 if errors is None else [errors.both, errors.one_way, errors.two_way]
    return ["—" if share is None else f"{share:.1%}" for share in found]
