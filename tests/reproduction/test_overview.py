"""The page on reproduction says of every table and figure what the command says."""

import re
from pathlib import Path

from kakuran.reproduction import s3, s4
from kakuran.reproduction.findings import PAPERS, overview

PAGES = Path(__file__).parents[2] / "docs/reproduction"


def items_of(text):
    rows = [re.match(r"\| ((?:Table|Figure|Examples)[^|]*) \|", line) for line in text.splitlines()]
    return [row.group(1) for row in rows if row]


def test_every_table_and_figure_of_the_papers_has_a_line_and_a_verdict(items):
    page = (PAGES / "index.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (S\d)", page, flags=re.MULTILINE)[1:]
    assert {name.lower(): items_of(text) for name, text in zip(parts[::2], parts[1::2], strict=True)} == items
    assert "not run" not in page
    assert page.endswith("Made by `kakuran reproduce all --data FOLDER`.\n")
    for name in PAPERS:
        assert f"`kakuran reproduce {name}`" in page


def test_what_does_not_depend_on_the_size_of_a_run_is_on_the_page_word_by_word(tmp_path):
    found = s3.reproduce(tmp_path, quick=True)
    assert found.text in (PAGES / "s3.md").read_text(encoding="utf-8")
    assert overview({"s3": found}).partition("## S3")[2] in (PAGES / "index.md").read_text(encoding="utf-8") + "\n"
    queries = "\n".join(s4.report())
    assert queries in (PAGES / "s4.md").read_text(encoding="utf-8")


def test_every_picture_on_a_page_is_there():
    for name in PAPERS:
        pictures = re.findall(r"\]\((.*?\.png)\)", (PAGES / f"{name}.md").read_text(encoding="utf-8"))
        assert pictures
        assert all((PAGES / picture).exists() for picture in pictures)
