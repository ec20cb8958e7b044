"""Take the pictures of reports and advice: `python docs/pictures/report.py`.

Releases a made-up census, writes the steward's report, opens it in Chromium, on screen and on paper, and writes what is
to be seen to docs/images. The draw is seeded, so that the pictures change only when the report does.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

import kakuran as kk
from kakuran.release import Manifest, Release
from kakuran.samples import census, census_schema

IMAGES = Path(__file__).parents[1] / "images"
PEOPLE, K = 50_000, 10
COMMAND = f"kakuran perturb people.csv -s schema.toml --k {K} -o out.parquet --report report.html"


def main() -> None:
    """Release, report, look."""
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "report.html"
        page.write_text(report(), encoding="utf-8")
        chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        photograph(browser, page)
        browser.close()
    kk.advise(census_schema(), data=census(5_000), k=K).plot().savefig(IMAGES / "advice.png", dpi=110)


def report() -> str:
    """The steward's report of a release that was drawn as if for publication, but from a seed."""
    people, plan = census(PEOPLE), kk.calibrate(census_schema(), n=PEOPLE, k=K)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kk.NotForPublicationWarning)
        drawn = kk.perturb(people, plan, seed=0)
    release = Release(drawn.table, Manifest(plan, PEOPLE, "shuffled", seeded=False))
    outcome = kk.audit(people, release, most_pairs=1e8)
    return kk.release_report(release, original=people, audit=outcome, command=COMMAND)


def photograph(browser: Browser, page: Path) -> None:
    """What the steward sees first, and a pair of columns."""
    window = browser.new_page(viewport={"width": 1100, "height": 1500})
    window.goto(page.as_uri())
    window.screenshot(path=IMAGES / "report.png")
    pair = window.locator("section section", has=window.get_by_role("heading", name="job × sex"))
    pair.locator("figure").screenshot(path=IMAGES / "report-pair.png")


if __name__ == "__main__":
    main()
