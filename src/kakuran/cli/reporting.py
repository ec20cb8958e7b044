"""What commands have in common that leave a report."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kakuran.cli.console import progress, say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kakuran.release import Audit
    from kakuran.schema.sources import Source

MOST_AUDITED = 1_000_000
"""Records up to which a report plays the attacker, who needs the whole table in memory."""

MOST_PAIRS = 1e8
"""What he may compare for a report; `kakuran audit` plays him in full."""


def report_release(
    report: Path,
    release: Path,
    *,
    original: Source | None = None,
    audit: Audit | None = None,
    public: bool = True,
    lang: str = "en",
) -> None:
    """Write the report of a release: for everybody, or for its steward, with what was typed."""
    from kakuran.release.files import read_manifest
    from kakuran.report import release_report

    read = read_manifest(release).records * (1 if public else 2)
    with progress("reporting", read) as advance:
        if public:
            page = release_report(release, lang=lang, progress=advance)
        else:
            page = release_report(release, original=original, audit=audit, command=typed(), lang=lang, progress=advance)
    leave(report, page, public=public)


def report_answer(report: Path, release: Path, answer: str, lang: str) -> None:
    """Write what was asked of a release, and the release's own report after it."""
    from kakuran.release.files import read_manifest
    from kakuran.report import release_report

    with progress("reporting", read_manifest(release).records) as advance:
        page = release_report(release, answer=[answer], lang=lang, progress=advance)
    leave(report, page, public=True)


def leave(report: Path, page: str, *, public: bool) -> None:
    """Write a report, and say where it is and who may see it."""
    from kakuran.writing import write_text

    write_text(report, page)
    say(f"wrote {report}{'' if public else ': internal, not for publication'}")


def leave_picture(path: Path, figure: Figure) -> None:
    """Write a picture, and say where it is."""
    from kakuran.writing import whole_or_nothing

    with whole_or_nothing(path) as folder:
        figure.savefig(folder / path.name, dpi=144)
    say(f"drew {path}")


def quick_audit(original: Source, release: Path) -> Audit | None:
    """The audit of random records, or nothing where the table is too large for it."""
    from kakuran.release import audit, read_release
    from kakuran.release.files import read_manifest
    from kakuran.schema.reading import read_table

    if read_manifest(release).records > MOST_AUDITED:
        say("the report has no audit: the table is large; play it with kakuran audit")
        return None
    released = read_release(release)
    truth = read_table(original, released.plan.schema)
    with progress("attacking", None) as advance:
        return audit(truth, released, most_pairs=MOST_PAIRS, progress=advance)


def typed() -> str:
    """The command as it was typed."""
    return shlex.join(["kakuran", *sys.argv[1:]])
