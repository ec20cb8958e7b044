import base64
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.audit import Links
from kakuran.audit.auditing import _judged
from kakuran.release import Manifest, Release
from kakuran.report.answers import estimate_answer
from kakuran.report.contents import departure, look_at, most_telling
from kakuran.samples import census, census_schema
from kakuran.schema import schema as counting
from kakuran.words import Phrase, words_in


@pytest.fixture(scope="module")
def public(release):
    return kk.release_report(release)


@pytest.fixture(scope="module")
def audit(release, people):
    return kk.audit(people, release, most_pairs=1e6)


@pytest.fixture(scope="module")
def compared(release, people):
    return kk.release_report(release, original=people)


@pytest.fixture(scope="module")
def steward(release, people, audit):
    return kk.release_report(release, original=people, audit=audit, command="kakuran perturb people.csv")


def test_a_report_is_one_well_formed_page_that_asks_nothing_of_the_network(public, steward, read):
    for page in (public, steward):
        found = read(page)
        assert found.links
        assert all(link.startswith(("data:image/svg+xml;base64,", "#part-")) for link in found.links)
        assert "script" not in {tag for tag, _ in found.tags}
        policy = next(a["content"] for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
        assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        assert "@import" not in page
        assert "url(" not in page


def test_a_public_report_says_what_of_k_is_left_after_a_second_release(public):
    """As the ledger has it: k holds for each, but not where records of both can be joined."""
    assert "k holds for each of them" in public
    assert "k does not survive" not in public


def test_pictures_have_words_for_those_who_do_not_see_them_and_a_table_with_their_numbers(public, read):
    tags = read(public).tags
    pictures = [attributes for tag, attributes in tags if tag == "img"]
    assert len(pictures) == sum(tag == "figure" for tag, _ in tags)
    assert all(len(picture["alt"]) > 20 for picture in pictures)
    assert sum(tag == "caption" for tag, _ in tags) == len(pictures) + 1  # and the table of mechanisms
    assert {attributes.get("scope") for tag, attributes in tags if tag == "th"} == {"row", "col"}


def test_its_numbers_are_those_of_the_api(release, public, read):
    words = read(public).text
    estimate = release.crosstab("job")
    for count, low, high in zip(estimate.counts, estimate.low, estimate.high, strict=True):
        assert f"{count:,.0f}" in words
        assert f"{low:,.0f}–{high:,.0f}" in words
    assert f"{release.epsilon:.4g}" in words
    assert f"ρ = {release.plan['job'].retention:.4g}" in words
    assert f"ρ, b = {release.plan['age'].retention:.4g}, {release.plan['age'].half_width}" in words


def test_the_public_report_is_that_of_the_file_to_the_byte_whatever_the_original_was(release, public, tmp_path):
    release.save(tmp_path / "out.parquet")
    release.save(tmp_path / "elsewhere.csv")
    assert kk.release_report(tmp_path / "out.parquet") == public
    assert kk.release_report(tmp_path / "elsewhere.csv") == public


def test_nothing_of_the_originals_is_in_a_public_report():
    planted = [f"planted-{place}" for place in range(2_000)]
    table = pa.table({"name": planted, "job": ["clerk", "nurse"] * 1_000, "pay": [3141.59] * 2_000})
    schema = kk.Schema(
        [kk.Dropped("name"), kk.Categorical("job", ["clerk", "nurse"]), kk.Numeric("pay", 0, 9_999.99, step=0.01)]
    )
    page = kk.release_report(kk.perturb(table, kk.calibrate(schema, n=2_000, k=1_500, tell="all")))
    drawn = "".join(base64.b64decode(found).decode() for found in re.findall(r"base64,([^\"]*)", page))
    for text in (page, drawn):
        assert "planted" not in text
        assert "3141.59" not in text  # no place in a picture is as far out, whatever was drawn
        assert "original" not in text.lower()
        assert "INTERNAL" not in text


def test_the_stewards_report_is_marked_and_compares_with_the_originals(steward, release, people, read):
    words = read(steward).text
    assert "INTERNAL – not for publication" in words
    assert "kakuran perturb people.csv" in words
    jobs = people.column("job").value_counts().to_pylist()
    assert all(f"{job['counts']:,}" in words for job in jobs)
    assert "links that were right, one by one" in words


def test_anything_beyond_the_release_makes_a_report_internal():
    table = pa.table({"sex": ["female", "male"] * 50})
    plan = kk.calibrate(kk.Schema([kk.Categorical("sex", ["female", "male"])]), n=100, k=2, tell="all")
    release = kk.perturb(table, plan)
    assert "INTERNAL" not in kk.release_report(release)
    for extra in ({"original": table}, {"audit": kk.audit(table, release)}, {"command": "kakuran perturb"}):
        assert "INTERNAL" in kk.release_report(release, **extra)


def test_the_stewards_losses_are_those_of_the_measures(steward, release, people, read):
    words = read(steward).text
    for column, distance in (("job", "discrete"), ("age", "euclidean")):
        lost = kk.information_loss(people.select([column]), release.table.select([column]), distance)
        assert f"{lost:.3f}" in words
    truth = np.array([row["counts"] for row in people.column("sex").value_counts().to_pylist()])
    order = [row["values"] for row in people.column("sex").value_counts().to_pylist()]
    estimate = release.crosstab("sex")
    wrong = 1 - kk.l1_accuracy(truth[[order.index(label) for label in estimate.axes[0].labels]], estimate.counts) / 100
    assert f"{wrong:.1%}" in words


def test_a_file_of_originals_is_read_like_a_frame_and_neither_it_nor_the_release_is_ever_held_whole(
    release, people, compared, tmp_path, monkeypatch
):
    import pyarrow.parquet as pq

    pq.write_table(people, tmp_path / "people.parquet")
    release.save(tmp_path / "out.parquet")
    monkeypatch.setattr("kakuran.schema.sources.base.BATCH", 1_000)
    monkeypatch.setattr("kakuran.release.release.ROWS_IN_MEMORY", 1_000)
    largest = []
    encode = counting.encode_columns
    monkeypatch.setattr(pq, "read_table", None)

    def watched(*given, **options):
        largest.append(len(given[1]))
        return encode(*given, **options)

    monkeypatch.setattr(counting, "encode_columns", watched)
    assert kk.release_report(tmp_path / "out.parquet", original=tmp_path / "people.parquet") == compared
    assert max(largest) == 1_000


def test_a_file_whose_manifest_speaks_of_other_records_is_refused(release, tmp_path):
    import pyarrow.parquet as pq

    release.save(tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    pq.write_table(
        table.slice(0, 50).replace_schema_metadata(pq.read_metadata(tmp_path / "out.parquet").metadata),
        tmp_path / "cut.parquet",
    )
    with pytest.raises(kk.ReleaseError, match="50 records, but its manifest speaks of 4,000"):
        kk.release_report(tmp_path / "cut.parquet")


def test_originals_of_other_people_are_refused(release, people):
    with pytest.raises(kk.ReleaseError, match="do not belong together"):
        kk.release_report(release, original=people.slice(0, 100))


def test_a_release_that_must_not_be_published_says_so(release, public):
    assert "drawn from a known seed" in public
    kept = Release(release.table, Manifest(release.plan, release.n, "kept", seeded=False))
    assert "keep their original order" in kk.release_report(kept)


def test_markup_in_names_and_values_stays_text(read):
    table = pa.table({"<b>": ["<script>alert(1)</script>", "\"&'"] * 50})
    schema = kk.Schema([kk.Categorical("<b>", ["<script>alert(1)</script>", "\"&'"])])
    page = kk.release_report(kk.perturb(table, kk.calibrate(schema, n=100, k=2, tell="all")))
    assert "<script" not in page
    assert "<script>alert(1)</script>" in read(page).text


def test_dollars_in_names_and_values_are_no_formulas():
    odd = r"$\frac{$"
    table = pa.table({odd: [odd, "$"] * 500, "other": [odd, "$"] * 500})
    schema = kk.Schema([kk.Categorical(name, [odd, "$"]) for name in (odd, "other")])
    release = kk.perturb(table, kk.calibrate(schema, n=1_000, k=2, tell="all"))
    page = kk.release_report(release, answer=[estimate_answer(release.crosstab(odd, "other"), None, words_in("en"))])
    drawn = [base64.b64decode(found).decode() for found in re.findall(r"base64,([^\"]*)", page)]
    assert len(drawn) == 6  # one of them for narrow screens, and one of how wrong tables are expected to be
    assert sum(r"$\frac{$" in one for one in drawn) == 5


def test_kept_replaced_and_dropped_columns_are_told_apart(read):
    n = 600
    schema = kk.Schema(
        [
            kk.Dropped("name"),
            kk.Categorical("region", ["north", "south"], role="keep"),
            kk.Categorical("job", ["clerk", "nurse"]),
            kk.Categorical("sex", ["female", "male"]),
        ]
    )
    table = pa.table(
        {"name": ["x"] * n, "region": ["north", "south"] * (n // 2), "job": ["clerk"] * n, "sex": ["male"] * n}
    )
    plan = kk.calibrate(schema, n=300, k=10, mechanisms={"sex": kk.RetentionReplacement(2, 0.0)}, tell="all")
    words = read(kk.release_report(kk.perturb(table, plan))).text
    assert "hidden among those who share their region" in words
    assert "sex was replaced entirely" in words
    assert "dropped: not in the release" in words


def test_a_release_that_tells_nothing_at_all_says_so(read):
    schema = kk.Schema([kk.Categorical("sex", ["female", "male"])])
    plan = kk.calibrate(schema, n=100, k=2, mechanisms={"sex": kk.RetentionReplacement(2, 0.0)}, tell="all")
    table = pa.table({"sex": ["female", "male"] * 50})
    assert "tells nothing" in read(kk.release_report(kk.perturb(table, plan), original=table)).text


def test_wide_tables_show_their_largest_cells_and_japanese_labels_are_no_trouble(read):
    values = [f"職業{place}" for place in range(60)]
    schema = kk.Schema([kk.Categorical("仕事", values), kk.Categorical("性別", ["女", "男"])])
    table = pa.table({"仕事": values * 50, "性別": ["女", "男"] * 1_500})
    page = kk.release_report(kk.perturb(table, kk.calibrate(schema, n=3_000, k=2, tell="all")), lang="ja")
    found = read(page)
    assert found.tags[0] == ("html", {"lang": "ja"})
    assert "60 個のセルのうち大きい方から 40 個" in found.text


def test_what_an_audit_finds_wrong_is_said_in_japanese(release, audit, english_on):
    broken = replace(audit, worst_posterior=0.5, impossible=3, links=Links(np.array([0.5, 0.01]), is_exact=False))
    failed = replace(broken, problems=_judged(broken, release).problems)
    labels = {label for one in census_schema() for label in [one.name, *getattr(one, "values", ())]}
    assert english_on(kk.release_report(release, audit=failed, lang="ja"), *labels) == set()


def test_pairs_of_independent_columns_are_shown_once_in_a_hundred_releases():
    """Of 400 releases 4 are expected; 17 or more have a chance of 1 in 10⁶."""
    dice = np.random.default_rng(0)
    shown = 0
    for _ in range(400):
        columns = dice.integers(0, 4, (3, 2_000))
        tables = [np.zeros((4, 4)) for _ in range(3)]
        for table, (one, other) in zip(tables, [(0, 1), (0, 2), (1, 2)], strict=True):
            np.add.at(table, (columns[one], columns[other]), 1)
        shown += bool(most_telling(tables))
    assert shown < 17


def test_columns_that_belong_together_score_high_and_empty_rows_do_not_matter():
    assert departure(np.array([[90.0, 10], [10, 90]])) > 8
    assert departure(np.array([[90.0, 10, 0], [10, 90, 0], [0, 0, 0]])) == departure(np.array([[90.0, 10], [10, 90]]))
    assert departure(np.array([[5.0, 5]])) == 0


def test_a_pair_that_belongs_together_is_found_in_the_release_alone():
    schema = kk.Schema([one for one in census_schema() if one.name in ("sex", "job")])
    table = census(20_000).select(["sex", "job"])
    contents = look_at(kk.perturb(table, kk.calibrate(schema, n=20_000, k=2, tell="all")))
    assert [[axis.name for axis in pair.estimate.axes] for pair in contents.pairs] == [["job", "sex"]]
    assert departure(contents.pairs[0].estimate.naive) > 15  # far beyond the 2.3 that would do


def test_a_report_opens_with_a_verdict_and_a_picture_then_says_what_follows(public, read):
    before, _, after = public.partition('<p class="verdict">')
    assert before.partition("<main>")[2].count("<p") == 1  # that its seed is known
    assert re.search(r"^Good for .* in the wrong cell.*; nobody can be linked .* above 1/3\.</p>", after)
    assert after.index("<figure>") < after.index('<dl class="facts">') < after.index("<nav") < after.index("<h2")
    named = re.findall(r'<a href="#(part-\d)">(.*?)</a>', public)
    assert named == re.findall(r'<h2 id="(part-\d)">(.*?)</h2>', public)
    assert len(named) >= 4


def test_a_report_of_a_release_about_a_column_speaks_of_its_tables():
    schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "ill", "old")])
    table = pa.table({name: ["no", "yes"] * 500 for name in schema.names})
    plan = kk.calibrate(schema, n=1_000, k=2, tell=2, about="ill")
    page = kk.release_report(kk.perturb(table, plan))
    assert "pairs with ill (" in page
    assert "pairs without ill: " in page
    assert "those of two and three columns with ill" in page


def test_a_report_of_many_columns_folds_all_but_the_first():
    schema = kk.Schema([kk.Categorical(f"c{place}", ["no", "yes"]) for place in range(9)])
    table = pa.table({name: ["no", "yes"] * 1_000 for name in schema.names})
    page = kk.release_report(kk.perturb(table, kk.calibrate(schema, n=2_000, k=2)))
    unfolded = re.sub("<details>.*?</details>", "", page, flags=re.DOTALL)
    assert page.count("<h3>") == 9 + page.count("<picture>")
    assert unfolded.count("<h3>") == 6 + unfolded.count("<picture>")
    assert "3 more columns" in page


def test_unclear_is_not_called_what_data_call_unknown():
    said = words_in("ja")
    assert [text for text in [*said.named.values(), *said.translated.values()] if "不明" in text] == []
    assert said.of(Phrase("unclear")) == "判別不能"


@pytest.fixture(scope="module")
def many_columns():
    """A release about the noisiest of eighteen columns, with which one other goes."""
    dice, n = np.random.default_rng(2), 4_000
    names = [f"c{place:02}" for place in range(17)]
    table = {name: dice.choice(["no", "yes"], n) for name in names}
    table["outcome"] = np.where(dice.random(n) < 0.85, table["c03"], dice.choice(["no", "yes"], n))
    levels = {name: ["no", "perhaps", "surely", "yes"] for name in names} | {"outcome": ["no", "yes"]}
    schema = kk.Schema([kk.Categorical(name, values) for name, values in levels.items()])
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(pa.table(table), kk.calibrate(schema, n=n, k=5, tell=2, about="outcome"), seed=1)


def test_the_column_that_a_release_is_about_is_among_those_whose_pairs_are_looked_at(many_columns, rough_models):
    contents = look_at(many_columns)
    assert [{axis.name for axis in view.estimate.axes} for view in contents.pairs] == [{"outcome", "c03"}]


def test_no_pair_is_said_to_depart_only_of_those_looked_at(many_columns, rough_models, monkeypatch):
    monkeypatch.setattr("kakuran.report.contents.MOST_SEARCHED", 2)
    page = kk.release_report(many_columns)
    assert "No pair of columns departs" not in page
    assert "None of the 2 pairs of columns that were looked at" in page
    assert "2 of 153 pairs" in page


@pytest.fixture(scope="module")
def certain():
    """A release whose k holds with certainty."""
    return kk.perturb(census(4_000), kk.calibrate(census_schema(), n=4_000, k=10, certainty=0.999999))


def test_both_epsilons_are_printed_with_whom_each_is_against(certain, people, read):
    usual = kk.perturb(people, kk.calibrate(census_schema(), n=4_000, k=10))
    for release in (usual, certain):
        for given in ({}, {"original": people}):
            words = " ".join(read(kk.release_report(release, **given)).text.split())
            assert f"local ε₀ {release.epsilon:.4g} central ε {release.manifest.central():.3g}" in words
            assert "against an attacker who knows which record is yours, or the collector's server" in words
            assert "against an attacker who sees the whole shuffled release and knows everybody else" in words


def test_where_no_central_epsilon_holds_the_report_says_why(release, people, read):
    fitted = kk.perturb(people, kk.calibrate(census_schema(), data=people, k=3, calibration="data-dependent"))
    for made, why in ((release, "seed or order is known"), (fitted, "its parameters depend on the table")):
        words = read(kk.release_report(made)).text
        assert "No central ε holds" in words
        assert why in words


def test_a_report_says_what_k_with_certainty_bounds_and_what_not(certain, release, read):
    words = read(kk.release_report(certain)).text
    assert (
        "with probability 0.999999 over the draw, whoever names a row for a person is right at most once in 10, given "
        "the release and the whole true table" in words
    )
    for unbounded in ("a false table", "one of these three rows", "in the table at all", "the value"):
        assert unbounded in words
    assert f"k = {certain.plan.k_for(4_000):.3g}" in words
    assert "whatever they believe" not in words
    assert "nobody who sees this release can link" not in words
    in_every_draw = read(kk.release_report(release)).text
    assert "whatever they believe" in in_every_draw
    assert "certain" not in in_every_draw


def test_certainty_is_said_in_japanese_too(certain, english_on):
    page = kk.release_report(certain, lang="ja")
    assert "0.999999" in page
    labels = [label for one in census_schema() for label in [one.name, *getattr(one, "values", ())]]
    assert english_on(page, *labels) == set()
