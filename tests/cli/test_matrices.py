"""The commands for wide tables, microaggregation, information loss and anonymity checks."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import kakuran as kk


@pytest.fixture
def baskets(folder):
    """300 baskets of three kinds, with some noise, in all three layouts."""
    rng = np.random.default_rng(0)
    kinds = np.kron(np.eye(3, dtype=int), np.ones((100, 4), int))
    bought = kinds ^ (rng.random(kinds.shape) < 0.02)
    items = [f"item {place}" for place in range(12)]
    lines = [",".join(item for item, has in zip(items, row, strict=True) if has) for row in bought]
    (folder / "baskets.txt").write_text("\n".join(lines) + "\n")
    rows, columns = np.nonzero(bought)
    long = pa.table({"who": rows + 7000, "what": np.array(items)[columns], "many": rng.integers(1, 5, len(rows))})
    pq.write_table(long, folder / "long.parquet")
    wide = pa.table({"who": np.arange(300), **{item: bought[:, place] for place, item in enumerate(items)}})
    pyarrow.csv.write_csv(wide, folder / "wide.csv")
    return bought


def rows_of(path):
    return Counter(line for line in path.read_text().split("\n")[:-1])


def test_baskets_come_out_as_baskets_each_shared_by_at_least_k(kakuran, folder, baskets):
    made = kakuran("factorise", "baskets.txt", "--layout", "baskets", "--k", 10, "-o", "out.txt", "--plot", "loss.png")
    assert made.returncode == 0, made.stderr
    released = rows_of(folder / "out.txt")
    assert released.total() == 300
    assert min(released.values()) >= 10
    for words in ("an empty table", "plain microaggregation", "(chosen)"):
        assert words in made.stdout
    manifest = json.loads((folder / "out.txt.release.json").read_text())
    assert (manifest["k"], manifest["rows"], manifest["for_publication"]) == (10, 300, True)
    assert (folder / "loss.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("protect", ["perturb", "aggregate"])
def test_a_public_report_names_no_item_that_the_release_withholds(kakuran, folder, baskets, protect):
    lines = (folder / "baskets.txt").read_text().split("\n")
    lines[5] += ",morning-after pill"
    (folder / "baskets.txt").write_text("\n".join(lines))
    to = ("-o", "out.txt", "--protect", protect, "--report", "report.html", "--public")
    made = kakuran("factorise", "baskets.txt", "--layout", "baskets", "--k", 10, *to)
    assert made.returncode == 0, made.stderr
    report, released = (folder / "report.html").read_text(), (folder / "out.txt").read_text()
    assert "morning-after pill" not in released
    named = {
        item for item in ("morning-after pill", *(f"item {place}" for place in range(12))) if f">{item}<" in report
    }
    assert named == {item for line in released.splitlines() for item in line.split(",") if item}


def test_baskets_are_read_with_the_delimiter_and_the_encoding_that_are_named(kakuran, folder):
    (folder / "baskets.txt").write_bytes("牛乳;パン, 食\n牛乳\n".encode("cp932") * 10)
    told = ("--delimiter", ";", "--encoding", "cp932")
    made = kakuran("factorise", "baskets.txt", "--layout", "baskets", "--k", 2, "-o", "out.txt", *told)
    assert made.returncode == 0, made.stderr
    assert "20 rows, 2 items" in made.stderr


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_baskets_with_semicolons_or_tabs_are_seen_to_have_them(kakuran, folder, delimiter):
    (folder / "baskets.txt").write_text(f"nuts, salted{delimiter}beer{delimiter}tea\nbeer\n\n" * 10)
    made = kakuran("factorise", "baskets.txt", "--layout", "baskets", "--k", 2, "-o", "out.txt")
    assert made.returncode == 0, made.stderr
    assert "30 rows, 3 items" in made.stderr


def test_a_release_no_better_than_nothing_is_said_to_be_so(kakuran, baskets):
    made = kakuran("factorise", "wide.csv", "--id", "who", "--k", 300, "--rank", 3, "-o", "out.csv", "--dry-run")
    assert "an empty table would be as good" in made.stderr


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_a_wide_release_is_told_from_one_to_reconstruct(kakuran, baskets, output):
    kakuran("factorise", "wide.csv", "--id", "who", "--k", 10, "--rank", 3, "-o", output)
    refused = kakuran("crosstab", output, "item 1")
    assert refused.returncode == 5
    assert "read it like any table" in refused.stderr


@pytest.mark.parametrize(
    ("layout", "text", "words"),
    [
        ("wide", "beer,tea,rice\nbeer,tea\n", "--layout baskets"),
        ("wide", "who,what\n1,tea\n", "--layout long"),
        ("wide", "tea,rice\n1,\n,1\n", "column 'tea': 1 missing or infinite. Write 0 where there is nothing."),
        ("long", "who,what,many\n1,,1\n", "column 'what': 1 blank"),
        ("long", "who,what,many\n,tea,1\n2,tea,1\n", "column 'who': 1 blank"),
        ("long", "day,who,what\n1,1,tea\n", "column 'what': does not hold numbers. Name the columns"),
        ("baskets", "".join(f"C{n},beer,tea\n" for n in range(20)), "like an id"),
        ("baskets", "beer|tea\nrice|tea\n", "no line holds two items when split at ','"),
    ],
)
def test_a_table_of_another_shape_is_refused_with_the_way_out(kakuran, folder, layout, text, words):
    (folder / "odd.csv").write_text(text)
    refused = kakuran("factorise", "odd.csv", "--layout", layout, "--k", 2, "-o", "o.csv")
    assert refused.returncode == 3
    assert words in refused.stderr


@pytest.mark.parametrize(
    ("file", "layout"),
    [
        ("baskets.txt", "baskets"),
        ("long.parquet", "long"),
        ("pairs.csv", "long"),
        ("uneven.csv", "baskets"),
        ("yes.csv", "wide"),
    ],
)
def test_the_layout_is_guessed_and_shown(kakuran, folder, baskets, file, layout):
    (folder / "pairs.csv").write_text("who,what\n" + "".join(f"{row % 9},{row % 5 + 40}\n" for row in range(90)))
    (folder / "uneven.csv").write_text("beer,tea,rice\nbeer,tea\n" * 10)
    (folder / "yes.csv").write_text("beer,tea\n" + "0,1\n1,1\n" * 10)
    made = kakuran("factorise", file, "--k", 2, "-o", "out.csv", "--dry-run", "--rank", 1)
    assert f"note: layout: {layout} (" in made.stderr


def test_a_layout_that_is_not_plain_to_see_is_asked_for(refused, folder):
    (folder / "sales.csv").write_text("day,who,what,pieces\n1,ann,tea,2\n2,bob,rice,1\n")
    refused(("factorise", "sales.csv", "--k", 2, "-o", "out.csv"), 3, "say --layout")


def test_the_long_layout_numbers_people_anew(kakuran, folder, baskets):
    made = kakuran(
        "factorise", "long.parquet", "--layout", "long", "--kind", "counts", "--k", 5, "-o", "out.parquet", "--json"
    )
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    assert told["losses"][told["protect"]] <= told["losses"]["microaggregation"]
    released = pq.read_table(folder / "out.parquet")
    assert released.column_names == ["who", "what", "many"]
    assert set(released.column("who").to_pylist()) <= set(range(1, 301))
    manifest = json.loads(pq.read_schema(folder / "out.parquet").metadata[b"kakuran-matrix"])
    assert manifest["kind"] == "counts"
    assert "losses" not in manifest


def test_the_wide_layout_leaves_names_of_people_out(kakuran, folder, baskets):
    made = kakuran("factorise", "wide.csv", "--id", "who", "--k", 10, "--rank", 3, "-o", "out.csv")
    assert made.returncode == 0, made.stderr
    released = pyarrow.csv.read_csv(folder / "out.csv")
    assert released.column_names == [f"item {place}" for place in range(12)]
    assert kk.check_anonymity(released, released.column_names).k >= 10


def test_perturbed_factors_carry_their_plan(kakuran, folder, baskets):
    made = kakuran(
        "factorise", "wide.csv", "--id", "who", "--k", 3, "--protect", "perturb", "--rank", 3, "-o", "out.parquet"
    )
    assert made.returncode == 0, made.stderr
    manifest = json.loads(pq.read_schema(folder / "out.parquet").metadata[b"kakuran-matrix"])
    assert manifest["plan"]["columns"]["u0"]["mechanism"]["kind"] == "retention"
    assert manifest["plan"]["epsilon"] == pytest.approx(0.5 * np.log(299 / 2), abs=1e-4)


def test_a_dry_run_shows_the_losses_and_writes_nothing(kakuran, listing, baskets):
    before = listing()
    shown = kakuran("factorise", "wide.csv", "--id", "who", "--k", 10, "--rank", 3, "-o", "out.csv", "--dry-run")
    assert "plain microaggregation" in shown.stdout
    assert listing() == before


def test_microaggregation_then_check_then_loss(kakuran, folder):
    made = kakuran(
        "microaggregate", "people.csv", "--k", 8, "-c", "age", "-c", "region", "-o", "masked.parquet", "--json"
    )
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    assert told["k"] >= 8
    assert "as they were: sex, job" in made.stderr
    passed = kakuran("check", "masked.parquet", "-q", "age", "-q", "region", "--sensitive", "job", "--k", 8, "--json")
    assert passed.returncode == 0, passed.stderr
    found = json.loads(passed.stdout)
    assert found["k"] == told["k"]
    assert found["sensitive"]["job"]["distinct_l"] >= 1
    lost = kakuran("loss", "people.csv", "masked.parquet", "--json", "--plot", "loss.png")
    assert lost.returncode == 0, lost.stderr
    columns = json.loads(lost.stdout)["columns"]
    assert columns["sex"]["lost"] == columns["job"]["lost"] == 0
    assert columns["age"]["lost"] == pytest.approx(told["lost"]["age"])
    assert (folder / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_order_is_kept_only_on_request(kakuran, folder):
    for flag in ((), ("--keep-order",)):
        made = kakuran("microaggregate", "people.csv", "--k", 5, "-c", "age", "-o", "masked.csv", "--force", *flag)
        assert made.returncode == 0, made.stderr
        same = (
            pyarrow.csv.read_csv(folder / "masked.csv")
            .column("job")
            .equals(pyarrow.csv.read_csv(folder / "people.csv").column("job"))
        )
        assert same is bool(flag)
        assert ("not for publication" in made.stderr) is bool(flag)


def test_a_tree_in_the_schema_generalises_and_measures(kakuran, folder):
    schema = (folder / "schema.toml").read_text()
    tree = 'tree = { Japan = ["edge", "middle"], edge = ["north", "south"], middle = ["east", "centre", "west"] }'
    (folder / "tree.toml").write_text(schema.rstrip() + "\n" + tree + "\n")
    made = kakuran(
        "microaggregate", "people.csv", "--k", 30, "-c", "region", "-c", "age", "-s", "tree.toml", "-o", "m.csv"
    )
    assert made.returncode == 0, made.stderr
    regions = set(pyarrow.csv.read_csv(folder / "m.csv").column("region").to_pylist())
    assert regions & {"Japan", "edge", "middle"}
    lost = kakuran("loss", "people.csv", "m.csv", "-s", "tree.toml", "--json")
    assert 0 < json.loads(lost.stdout)["columns"]["region"]["lost"] <= 1


def test_a_check_that_fails_says_why_and_exits_with_1(kakuran):
    failed = kakuran(
        "check", "people.csv", "-q", "age", "-q", "job", "--sensitive", "region", "--k", 5, "--l", 3, "--t", 0.1
    )
    assert failed.returncode == 1
    for words in ("fewer than 5", "-diverse", "-close"):
        assert words in failed.stderr
    assert "smallest class" in failed.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("factorise", "wide.csv", "--k", 10, "-o", "o.csv"), 3, "'who': everybody has another number, like an id"),
        (("factorise", "wide.csv", "--k", 10, "-o", "o.csv", "--layout", "tall"), 2, "baskets, long or wide"),
        (("factorise", "wide.csv", "--k", 10, "-o", "o.csv", "--rank", "many"), 2, "whole number from 1 on, or auto"),
        (("factorise", "people.csv", "--k", 10, "-o", "o.csv"), 3, "--id"),
        (("factorise", "none.txt", "--k", 10, "-o", "o.txt", "--layout", "baskets"), 3, "no such file"),
        (("factorise", "long.parquet", "--k", 10, "-o", "o.csv", "--layout", "long", "-c", "x"), 3, "'x'"),
        (("factorise", "wide.csv", "--k", 999, "-o", "o.csv", "--id", "who"), 4, "more than the 300 records"),
        (("factorise", "wide.csv", "--k", 10, "-o", "o.txt", "--id", "who"), 5, ".parquet or a .csv"),
        (("factorise", "wide.csv", "--k", 10, "-o", "wide.csv", "--id", "who"), 5, "--force"),
        (("factorise", "wide.csv", "--k", 10, "-o", "wide.csv", "--id", "who", "--force"), 5, "original itself"),
        (("factorise", "wide.csv", "--k", 10, "-o", "o.csv", "--id", "nobody"), 3, "'nobody'"),
        (("microaggregate", "people.csv", "--k", 1, "-o", "o.csv"), 4, "hides nobody"),
        (("microaggregate", "people.csv", "--k", 5, "-c", "height", "-o", "o.csv"), 3, "'height'"),
        (("microaggregate", "people.csv", "--k", 5, "--method", "kmeans", "-o", "o.csv"), 4, "unknown method"),
        (("microaggregate", "people.csv", "--k", 5, "-o", "people.csv", "--force"), 5, "original itself"),
        (("loss", "people.csv", "wide.csv"), 3, "one of the two tables only"),
        (("loss", "people.csv", "people.csv", "--distance", "job"), 2, "COLUMN=VALUE"),
        (("check", "people.csv", "-q", "height"), 3, "'height'"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("baskets")
def test_a_mistake_gets_one_clear_sentence_and_its_exit_code(refused, arguments, code, words):
    refused(arguments, code, words)


def test_negative_counts_are_named(kakuran, folder):
    (folder / "returns.csv").write_text("who,what,many\n1,tea,2\n2,tea,-3\n")
    refused = kakuran("factorise", "returns.csv", "--layout", "long", "--k", 2, "--kind", "counts", "-o", "o.csv")
    assert refused.returncode == 3
    assert "column 'many': 1 negative, for example -3" in refused.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_of_groups_says_how_it_is_asked_and_so_do_commands_for_releases(kakuran, folder, ending):
    people = pq.read_table(folder / "people.parquet").slice(0, 200).select(["job", "sex"])
    pq.write_table(people, folder / "few.parquet")
    groups = f"groups.{ending}"
    made = kakuran("microaggregate", "few.parquet", "--k", 5, "-o", groups)
    assert f"its k is shown by kakuran check {groups}" in made.stderr
    shown = json.loads(kakuran("check", groups, "--json").stdout)
    assert shown["k"] >= 5
    for command in (("crosstab", groups, "job"), ("audit", "few.parquet", groups), ("count", groups, "job == 'care'")):
        refused = kakuran(*command)
        assert refused.returncode == 5
        assert "a plain table, as microaggregate and synthesise write it" in refused.stderr
        assert "Traceback" not in refused.stderr
