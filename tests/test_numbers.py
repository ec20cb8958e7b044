"""Numbers on the pages are those that commands print, and the page that says which command names every other page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WRITTEN = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.relative_to(DOCS).parts[0] not in ("reproduction", "benchmarks", "reference")
]
"""Pages that people write; the others are printed by commands or taken from the code."""

TIME_OR_MEMORY = re.compile(r"\d\.\d+ ?(?:ns|ms|s|min|minutes|seconds|秒|分|[KMG]i?B)\b|\d× as (?:fast|slow)")
WORDS_ONLY = {
    "index.md", "ja/index.md", "notebooks.md", "numbers.md", "decisions/index.md", "decisions/certified-maximum.md",
    "decisions/collector-store.md", "decisions/compiled-loops.md", "decisions/house.md", "decisions/kept-columns.md",
    "decisions/links.md", "decisions/package-names.md", "how-to-add/answer.md", "how-to-add/file-format.md",
    "how-to-add/mechanism.md", "decisions/reports.md", "decisions/shuffled-releases.md", "decisions/sources.md",
    "decisions/spark-draws-once.md", "decisions/spark-rows.md", "guides/files.md", "guides/other-programs.md",
    "guides/pipelines.md",
    "ja/ppc.md",
}  # fmt: skip


def rows(path, *beginnings):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(beginnings)]


def typed(path):
    """The code on a page, without what is said about it."""
    blocks = re.findall(r"^```\w+\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [re.sub(r" +#.*", "", line) for block in blocks for line in block.splitlines()]


def test_every_page_with_numbers_is_named_where_they_are_said_to_come_from():
    named = set(re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "numbers.md").read_text(encoding="utf-8")))
    pages = {str(page.relative_to(DOCS)) for page in WRITTEN}
    assert pages - named == WORDS_ONLY


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "README.ja.md", *WRITTEN], ids=lambda page: page.name)
def test_times_and_memory_stand_in_the_benchmarks_alone(page):
    assert not TIME_OR_MEMORY.findall(page.read_text(encoding="utf-8"))


def test_the_guide_to_wide_tables_has_the_table_that_is_printed():
    real = ("| groceries", "| online retail", "| MovieLens")
    told = rows(DOCS / "guides/wide-tables.md", *real)
    assert told
    assert told == rows(DOCS / "reproduction/s1.md", *real)


def test_both_readmes_tell_to_type_the_same():
    assert typed(ROOT / "README.md") == typed(ROOT / "README.ja.md")


@pytest.mark.parametrize("tutorial", ["analyst", "retailer", "survey-owner", "two-companies"])
def test_a_tutorial_in_japanese_tells_to_type_what_the_tested_english_one_does(tutorial):
    assert typed(DOCS / f"ja/{tutorial}.md") == typed(DOCS / f"tutorials/{tutorial}.md")


def test_tables_as_people_have_them_are_walked_in_japanese_by_the_same_commands_and_schemas():
    english, japanese = (
        re.findall(r"^```(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        for page in ("guides/tables.md", "ja/tables.md")
    )
    assert len(english) == 18
    assert english == japanese


def test_everything_in_japanese_calls_things_by_the_same_names():
    pages = [ROOT / "README.ja.md", *(DOCS / "ja").glob("*.md"), ROOT / "src/kakuran/words/ja.toml"]
    others = re.compile("対応付け|単純集計|(?<!条)件数|値域|母数|維持・置換|欠損|カテゴリ(?!ー)|クラスタ(?!ー)")
    assert {page.name: others.findall(page.read_text(encoding="utf-8")) for page in pages} == {
        page.name: [] for page in pages
    }


def test_both_readmes_lead_to_the_same_pages():
    english, japanese = (
        set(re.findall(r"\]\(([^)]+)\)", (ROOT / name).read_text(encoding="utf-8")))
        for name in ("README.md", "README.ja.md")
    )
    translated = {
        "README.ja.md": "README.md",
        "docs/index.md": "docs/ja/index.md",
        **{
            f"docs/tutorials/{name}.md": f"docs/ja/{name}.md"
            for name in ("steward", "analyst", "retailer", "survey-owner", "two-companies")
        },
    }
    assert {translated.get(link, link) for link in english} <= japanese
