"""The page beside a synthetic table."""

import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.report import about_synthetic
from kakuran.samples import census, census_schema


@pytest.fixture(scope="module")
def drawn():
    return kk.perturb(census(800), kk.calibrate(census_schema(), n=800, k=10)).synthesise(n=100)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_page_is_well_formed_stands_alone_and_names_its_limits_in_both_languages(drawn, read, lang):
    page = read(about_synthetic(drawn, drawn.quality(), lang=lang))
    assert page.links == []
    assert page.text.count("pMSE") >= 3
    assert sum(tag == "li" for tag, _ in page.tags) == 7
    assert "k = 10" in page.text


def test_names_of_columns_cannot_write_the_page():
    schema = kk.Schema([kk.Categorical("<b>job", ["a", "b"]), kk.Categorical("other", ["a", "b"])])
    table = {"<b>job": ["a", "b"] * 200, "other": ["b", "a"] * 200}
    drawn = kk.perturb(pa.table(table), kk.calibrate(schema, n=400, k=2)).synthesise(copies=2)
    page = about_synthetic(drawn, drawn.quality(), "<i>.csv")
    assert "<b>job" not in page
    assert "<i>" not in page


def test_a_page_about_records_made_from_a_certain_release_says_how_certain():
    plan = kk.calibrate(census_schema(), n=2_000, k=10, certainty=0.999999)
    drawn = kk.perturb(census(2_000), plan).synthesise(n=100)
    page = about_synthetic(drawn, drawn.quality())
    assert "at k = 10 with certainty 0.999999." in page
    assert "local ε₀" in page
