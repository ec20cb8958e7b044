from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import kakuran as kk
from kakuran.cli import app
from kakuran.design import expected_error, group_sizes
from kakuran.release import read_manifest, write_table
from kakuran.samples import census
from kakuran.schema import open_source
from kakuran.studio import Desk
from kakuran.studio.desk import _is_at_end
from kakuran.words import words_in

SAY = words_in("en")


def column(desk, name):
    return desk.draft.schema.to_dict()[name]


def released(desk, target, lang="en", **told):
    """What was read off the data is said to be public, and the release is made."""
    desk.confirm(desk.to_dict()["read_off"], is_public=True)
    return desk.release(str(target), lang, **told)


def test_what_is_said_of_a_column_is_said_in_toml_too_and_the_other_way_round(desk):
    desk.edit("age", {"low": 0, "high": 120})
    assert "low = 0\nhigh = 120" in desk.to_dict()["toml"]
    desk.write(desk.to_dict()["toml"].replace("high = 120", "high = 130"))
    assert column(desk, "age")["high"] == 130


def test_every_change_is_undone_and_redone_and_a_new_one_ends_what_could_be_redone(desk):
    drafts = [desk.draft]
    for work in (
        lambda: desk.edit("region", {"role": "keep"}),
        lambda: desk.wish(about="job"),
        lambda: desk.wish(k=20),
        lambda: desk.confirm(["sex"], is_public=True),
    ):
        work()
        drafts.append(desk.draft)
    for before in reversed(drafts[:-1]):
        desk.undo()
        assert desk.draft == before
    desk.undo()
    assert desk.draft == drafts[0]
    for after in drafts[1:]:
        desk.redo()
        assert desk.draft == after
    desk.undo()
    desk.edit("sex", {"role": "drop"})
    assert not desk.to_dict()["can_redo"]


def test_all_that_nobody_will_study_is_left_out_at_once(desk):
    desk.wish(about="job", tell=3)
    before = desk.draft
    desk.leave_out_others(["job", "sex"])
    assert {one.name for one in desk.draft.schema.perturbed} == {"job", "sex"}
    assert (desk.draft.schema.about, desk.draft.schema.tell) == ("job", None)
    assert [one["is_chosen"] for one in desk.choice(SAY)["designs"]].count(True) == 1
    desk.undo()
    assert desk.draft == before


def test_a_slider_that_was_moved_for_long_is_undone_at_once(desk):
    for k in range(2, 40):
        desk.wish(k=k)
    desk.undo()
    assert desk.draft.k == 10


def test_a_column_that_was_dropped_comes_back_as_it_was_drafted(desk):
    before = column(desk, "job")
    desk.edit("job", {"role": "drop"})
    assert column(desk, "job") == {"role": "drop"}
    desk.edit("job", {"role": None})
    assert column(desk, "job") == before


def test_a_number_becomes_categories_and_a_number_again(desk):
    desk.edit("age", {"type": "categorical"})
    assert column(desk, "age")["values"] == list(range(15, 95))
    desk.edit("age", {"type": "numeric"})
    assert column(desk, "age") == {"type": "numeric", "low": 15, "high": 94, "step": 1}


def test_a_domain_that_was_read_off_the_data_is_marked_until_it_is_said_or_said_to_be_public(desk):
    assert desk.to_dict()["read_off"] == ["sex", "age", "job", "region"]
    desk.edit("age", {"low": 0})
    assert "age" in desk.to_dict()["read_off"], "its upper bound is still somebody's age"
    desk.edit("age", {"high": 120})
    desk.confirm(["sex", "job"], is_public=True)
    assert desk.to_dict()["read_off"] == ["region"]


@pytest.mark.parametrize("say", [lambda desk: desk.confirm(["age"], is_public=True), Desk.find_privately])
@pytest.mark.parametrize(
    "changes", [[{"role": None}, {"type": "numeric"}, {"type": "categorical"}], [{"role": "drop"}, {"role": None}]]
)
def test_a_domain_that_is_read_off_anew_is_not_public_because_another_one_was(desk, say, changes):
    say(desk)
    assert "age" not in desk.to_dict()["read_off"]
    for one in changes:
        desk.edit("age", one)
    assert "age" in desk.to_dict()["read_off"]
    desk.confirm(["age"], is_public=True)
    desk.edit("age", {"missing": "category"})
    assert "age" not in desk.to_dict()["read_off"], "the domain is the one that was called public"


@pytest.mark.parametrize(
    ("odd", "changes"),
    [([37.25], {"step": 1, "clip": True}), ([-9] * 9, {"missing_codes": [-9, -8]})],
    ids=["decimals that one person typed", "codes of those who skipped"],
)
def test_steps_and_missing_codes_are_read_off_the_data_whatever_the_bounds(tmp_path, odd, changes):
    write_table(tmp_path / "a.csv", pa.table({"age": [*range(20, 90)] * 4 + odd}))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "a.csv"))
    desk.edit("age", {"low": 0, "high": 120})
    assert desk.to_dict()["read_off"] == ["age"]
    desk.edit("age", changes)
    assert desk.to_dict()["read_off"] == []


def test_why_the_draft_has_a_column_as_it_has_it_is_shown_in_the_language_of_the_page(tmp_path):
    write_table(tmp_path / "a.csv", pa.table({"mail": ["a@example.org", "b@example.org"] * 20, "x": ["y", "n"] * 20}))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "a.csv"))
    assert desk.to_dict(SAY)["remarks"] == {"mail": "holds e-mail addresses"}
    assert desk.to_dict(words_in("ja"))["remarks"] == {"mail": "メールアドレスを含みます"}
    assert desk.draft.schema["mail"] == kk.Dropped("mail")


def test_nothing_is_released_before_all_that_was_read_off_the_data_is_said_to_be_public(desk, tmp_path):
    target = tmp_path / "out.parquet"
    desk.confirm(["sex", "age", "job"], is_public=True)
    with pytest.raises(kk.SchemaError, match="of 'region' were read off the data and would be published"):
        desk.release(str(target), "en")
    assert not target.exists()
    assert desk.to_dict()["toml"].count("drafted = true") == 1
    desk.write(desk.to_dict()["toml"].replace("drafted = true\n", ""))
    assert desk.to_dict()["read_off"] == []
    desk.release(str(target), "en")
    assert "drafted" not in (tmp_path / "out-schema.toml").read_text(encoding="utf-8").split("\n\n", 1)[1]
    desk.undo()
    assert desk.to_dict()["read_off"] == ["region"]


def test_a_release_is_no_longer_about_a_column_that_is_not_told(desk):
    desk.wish(about="job")
    desk.edit("job", {"role": "keep"})
    assert desk.draft.schema.about is None


def test_odd_columns_are_found_and_a_remedy_mends_them(folder):
    desk = Desk(folder)
    desk.open(str(folder / "odd.parquet"))
    assert ("job", "missing") not in {(one["column"], one["kind"]) for one in desk.to_dict()["odd"]}
    desk.edit("job", {"missing": "error"})
    odd = {(one["column"], one["kind"]): one["remedies"] for one in desk.to_dict()["odd"]}
    assert {("member", "identifier"), ("job", "missing")} <= set(odd)
    desk.edit("member", odd["member", "identifier"][0]["changes"])
    desk.edit("job", odd["job", "missing"][0]["changes"])
    left = {(one["column"], one["kind"]) for one in desk.to_dict()["odd"]}
    assert left.isdisjoint({("member", "identifier"), ("job", "missing")})
    assert [one["column"] for one in desk.to_dict()["misfits"]] == []


@pytest.mark.parametrize("is_banded", [False, True], ids=["on a grid", "in bands"])
def test_nines_that_stand_for_nothing_are_found_at_either_end_and_a_click_takes_them_for_missing(tmp_path, is_banded):
    income = [7_000 + 13 * place for place in range(300)]
    rows = {"income": [*income, *[999] * 60], "score": [*[place % 10 for place in range(300)], *[999] * 60]}
    write_table(tmp_path / "staff.parquet", pa.table(rows))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "staff.parquet"))
    if is_banded:
        desk.edit("income", {"bands": [999, 8_000, 12_000], "low": None, "high": None})
    for odd in desk.to_dict()["odd"]:
        assert (odd["kind"], odd["count"]) == ("code", 999)
        desk.edit(odd["column"], odd["remedies"][0]["changes"])
    found = {one.name: (one.low, one.high, one.missing_codes) for one in desk.draft.schema}
    high = 12_000 if is_banded else income[-1]
    assert found == {"income": (7_000, high, (999,)), "score": (0, 9, (999,))}
    assert desk.to_dict()["odd"] == desk.to_dict()["misfits"] == []


def test_a_number_that_some_have_more_often_than_others_is_no_code(tmp_path):
    ages = [*range(20, 100), *[99] * 9]
    write_table(tmp_path / "old.parquet", pa.table({"age": ages * 2}))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "old.parquet"))
    assert desk.to_dict()["odd"] == []


def test_a_number_is_told_in_bands_and_on_a_grid_again(desk):
    desk.edit("age", {"bands": [0, 18, 65, 120], "low": None, "high": None})
    assert desk.draft.schema["age"].points == 3
    assert "age" not in desk.to_dict()["read_off"]
    desk.edit("age", {"bands": None, "low": 0, "high": 120})
    assert desk.draft.schema["age"].points == 121


def test_bands_are_offered_with_what_they_gain_and_made_by_what_the_offer_says(desk):
    desk.edit("age", {"low": 0, "high": 150})
    (offer,) = desk.bands()
    counts = {"age": np.bincount(desk.draft.schema.encode(desk.opened.table)["age"])}
    proposal = kk.propose_bands(desk.draft.schema, n=desk.opened.rows, k=10, counts=counts)[0]
    assert (offer["column"], offer["after"]) == ("age", proposal.after.relative)
    assert offer["shares"] == list(proposal.shares)
    assert offer["after"] < offer["before"]
    desk.edit(offer["column"], offer["changes"])
    assert desk.draft.schema["age"] == proposal.column
    assert desk.bands() == []
    banded = desk.draft
    desk.undo()
    desk.make_bands(["sex"])
    assert desk.draft != banded
    desk.make_bands(["age", "sex"])
    assert desk.draft == banded


def test_bands_have_round_ends_even_where_somebody_calls_the_extremes_public(tmp_path):
    incomes = 2_870 + np.random.default_rng(0).integers(0, 131_726, 3_000)
    incomes[:2] = 2_870, 134_595
    write_table(tmp_path / "people.csv", pa.table({"income": incomes, "sex": ["f", "m"] * 1_500}))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "people.csv"))
    ends = [desk.bands()[0]["changes"]["bands"][place] for place in (0, -1)]
    desk.confirm(["income"], is_public=True)
    assert (ends, desk.bands()[0]["changes"]["bands"][-1]) == ([0, 140_000], 140_000)


def test_a_heap_is_offered_as_a_band_of_its_own(tmp_path):
    gains = np.where(np.arange(3_000) % 10 < 9, 0, np.random.default_rng(0).integers(1, 90_000, 3_000))
    write_table(tmp_path / "people.csv", pa.table({"gain": gains, "sex": ["f", "m"] * 1_500}))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "people.csv"))
    (offer,) = desk.bands()
    assert (offer["heap"], offer["changes"]["bands"][:2]) == (0, [0, 1])
    assert offer["shares"][0] == pytest.approx(0.9)


def test_a_column_weighs_in_round_classes_and_is_a_number_again(desk):
    desk.edit("age", {"role": "weight"})
    weight = desk.draft.schema["age"]
    assert isinstance(weight, kk.Weight)
    assert (weight.classes[0], weight.classes[-1]) == (0, 100)
    desk.edit("age", {"classes": [0, 40, 200], "values": None})
    desk.edit("age", {"perturb": True})
    assert desk.draft.schema["age"] == kk.Weight("age", [0, 40, 200], perturb=True)
    assert "age" not in desk.to_dict()["read_off"]
    desk.edit("age", {"role": None})
    assert desk.draft.schema["age"] == desk.opened.inferred["age"]


def test_whose_a_row_is_can_be_said_and_then_people_are_counted(tmp_path):
    rows = pa.table({"who": [f"p{row // 2}" for row in range(400)], "job": ["care", "farm", "none", "care"] * 100})
    write_table(tmp_path / "visits.parquet", rows)
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "visits.parquet"))
    desk.edit("who", {"role": "person"})
    desk.wish(rows_a_person=2)
    schema = desk.draft.schema
    assert (schema.person, schema.rows_a_person, schema.to_dict()["who"]) == ("who", 2, {"role": "drop"})
    told, plan = desk.choice(SAY), kk.calibrate(schema, n=200, k=10)
    assert (told["n"], told["epsilon"], told["central"]) == (200, plan.epsilon, None)
    desk.wish(rows_a_person=1)
    assert desk.choice(SAY)["epsilon"] == kk.calibrate(desk.draft.schema, n=200, k=10).epsilon
    desk.edit("who", {"role": "drop"})
    assert (desk.draft.schema.person, desk.draft.schema.rows_a_person, desk.choice(SAY)["n"]) == (None, 1, 400)
    gaps = rows.set_column(0, "who", pa.array([None, *rows.column("who").to_pylist()[1:]]))
    write_table(tmp_path / "gaps.parquet", gaps)
    desk.open(str(tmp_path / "gaps.parquet"))
    desk.edit("who", {"role": "person"})
    assert [one["column"] for one in desk.to_dict()["misfits"]] == ["who"]


def test_risk_is_that_of_people_where_people_have_several_rows(tmp_path):
    visits = {"a": ["x", "x", "y"], "b": ["x", "z"], "c": ["z"], "d": ["y"]}  # only b and c share z, but all share
    rows = [(who, place) for who, places in visits.items() for place in places]
    write_table(tmp_path / "visits.parquet", pa.table({"who": [w for w, _ in rows], "place": [p for _, p in rows]}))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "visits.parquet"))
    desk.edit("place", {"role": None})
    desk.edit("who", {"role": "person"})
    assert desk.risk() == {"uniques": 0, "smallest_class": 2, "prosecutor": 1 / 2, "worst": 1 / 2}
    desk.edit("who", {"role": "drop"})
    assert desk.risk()["prosecutor"] == 3 / 7


def test_a_file_without_names_is_given_them_and_its_script_gives_them_too(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("".join(f"{20 + row % 50};{'fm'[row % 2]};{row % 7},5\n" for row in range(400)))
    desk = Desk(tmp_path)
    desk.open(str(path), names="age,sex,pay")
    assert desk.opened.table.column_names == ["age", "sex", "pay"]
    assert (desk.opened.rows, desk.opened.cards["pay"].edges[-1]) == (400, 6.5)
    made = released(desk, tmp_path / "out.parquet")
    assert "--names age,sex,pay" in made["commands"]
    assert "names='age,sex,pay'" in made["python"]


def test_a_whole_disk_is_not_looked_through_for_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.rglob", lambda *_: pytest.fail("looks through all of it"))
    with pytest.raises(kk.SchemaError, match="too much lies in it"):
        Desk(tmp_path).open("/")
    monkeypatch.undo()
    monkeypatch.setattr("kakuran.schema.sources.opening.MOST_BELOW", 2)
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("x\n1\n")
    with pytest.raises(kk.SchemaError, match="too much lies in it"):
        Desk(tmp_path).open(str(tmp_path))


def test_a_release_is_entered_into_the_ledger_beside_it_and_its_script_says_so(tmp_path):
    write_table(tmp_path / "census.parquet", census(2_000))
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "the town", k=10, epsilon=1)
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "census.parquet"))
    (found,) = desk.to_dict()["ledgers"]
    made = released(desk, tmp_path / "out.parquet", ledger=found)
    assert (made["ledger"]["people"], made["ledger"]["k"]) == ("the town", 10)
    assert made["ledger"]["epsilon"] == ledger.account().epsilon > 0
    assert f"--ledger {found}" in made["commands"]
    assert f"ledger={found!r}" in made["python"]
    desk.wish(k=5)
    with pytest.raises(kk.CalibrationError, match="the town"):
        desk.release(str(tmp_path / "more.parquet"), "en", ledger=found)
    assert not (tmp_path / "more.parquet").exists()


def test_what_a_second_release_leaves_of_the_promise_is_said_before_and_a_ledger_begins_with_the_first(tmp_path):
    write_table(tmp_path / "census.csv", census(2_000))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "census.csv"))
    first = desk.to_dict()
    assert (Path(first["targets"]).name, first["made_before"]) == ("census-release.csv", [])
    made = released(desk, first["targets"])
    assert [file["kind"] for file in made["files"]][:2] == ["release", "manifest"]
    desk.wish(k=20)
    second = desk.to_dict()
    assert (Path(second["targets"]).name, second["made_before"]) == ("census-release-2.csv", [None])
    left = desk.joined()
    assert (left["number"], left["apart"]) == (2, pytest.approx(10))
    assert 1 < left["joined"] < 2
    desk.start_ledger()
    (ledger,) = desk.to_dict()["ledgers"]
    assert desk.to_dict()["made_before"] == [ledger]
    desk.release(second["targets"], "en", ledger=ledger)
    account = kk.Ledger(ledger).account()
    assert [entry.state for entry in account.entries] == ["made", "made"]
    assert (account.k, account.epsilon) == (left["apart"], left["epsilon"])


def test_domains_found_privately_need_no_word_of_the_steward_and_are_entered_with_the_release(tmp_path):
    write_table(tmp_path / "all.csv", census(20_000))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "all.csv"))
    desk.wish(about="job", k=20)
    assert desk.to_dict()["read_off"]
    desk.find_privately()
    shown = desk.to_dict()
    assert shown["read_off"] == shown["misfits"] == shown["made_before"] == []
    assert (shown["wishes"]["private"], shown["wishes"]["about"]) == ((0.1, 1e-7), "job")
    assert "private = [0.1, 1e-07]" in shown["toml"]
    assert column(desk, "sex")["other"] == "other"
    left = desk.joined()
    assert left["number"] == 1
    ledger = kk.Ledger.create(tmp_path / "all.ledger", "all", k=10)
    desk.edit("region", {"role": "drop"})
    desk.release(str(tmp_path / "out.parquet"), "en", ledger=str(ledger.path))
    account = ledger.account()
    assert [entry.spending.kind for entry in account.entries] == ["domains", "perturbed"]
    assert account.k == pytest.approx(20)
    assert read_manifest(tmp_path / "out.parquet").plan.schema.private == (0.1, 1e-7)
    assert kk.Schema.load(tmp_path / "out-schema.toml").private == (0.1, 1e-7)
    desk.undo()
    desk.undo()
    assert desk.to_dict()["read_off"], "what was said before is a draft again"


def test_a_ledger_begins_with_the_certainty_of_what_was_made_and_comes_next(tmp_path):
    write_table(tmp_path / "few.csv", census(900).select(["job", "sex"]))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "few.csv"))
    desk.wish(k=5, certainty=0.999999)
    released(desk, tmp_path / "first.csv")
    desk.start_ledger()
    (ledger,) = desk.to_dict()["ledgers"]
    desk.release(str(tmp_path / "second.csv"), "en", ledger=ledger)
    account = kk.Ledger(ledger).account()
    assert [entry.state for entry in account.entries] == ["made", "made"]
    assert account.certainty == pytest.approx(0.999998, abs=1e-9)


@pytest.mark.parametrize(("opened", "suggested"), [("a.tsv", ".csv"), ("a.xlsx", ".xlsx"), ("a.parquet", ".parquet")])
def test_a_release_is_of_the_kind_that_was_opened_unless_somebody_says_otherwise(tmp_path, opened, suggested):
    if opened.endswith(".tsv"):
        (tmp_path / opened).write_text("sex\tjob\n" + "f\ta\nm\tb\n" * 40)
    else:
        write_table(tmp_path / opened, pa.table({"sex": ["f", "m"] * 40, "job": ["a", "b"] * 40}))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / opened))
    assert desk.to_dict()["targets"] == str(tmp_path / f"a-release{suggested}")
    assert {".csv", ".xlsx", ".parquet"} == {*desk.to_dict()["kinds"]}


def test_errors_are_those_of_tables_with_what_the_release_is_about(desk):
    desk.wish(about="job", tell=2)
    by_pair = desk.choice(SAY)["tables"][1]
    assert "job" in by_pair["columns"]
    assert by_pair["tables"] == len(desk.draft.schema.perturbed) - 1


def test_values_outside_a_domain_are_told_before_anything_is_released(desk):
    desk.edit("sex", {"values": ["female"]})
    (misfit,) = desk.to_dict()["misfits"]
    assert misfit["column"] == "sex"
    assert "male" in misfit["message"]
    desk.undo()
    assert desk.to_dict()["misfits"] == []


def test_an_offices_file_is_read_as_it_is_written(folder):
    desk = Desk(folder)
    desk.open(str(folder / "office.csv"))
    opened = desk.to_dict()["opened"]
    assert (opened["told"]["encoding"], opened["told"]["delimiter"], opened["told"]["decimal"]) == ("cp932", ";", ",")
    assert opened["cards"]["地域"]["missing"] > 0
    assert opened["cards"]["額"]["edges"][-1] <= 40
    days = opened["cards"]["日付"]
    assert (days["are_days"], sum(days["heights"]), days["values"][0]) == (True, 1_500, "2024-01-01")
    assert desk.draft.schema.to_dict()["番号"] == {"role": "drop"}


def test_designs_are_those_that_python_compares_and_the_plan_is_calibrates(desk):
    desk.wish(k=5, about="job", purpose="one-way")
    told = desk.choice(SAY)
    found = kk.designs(desk.draft.schema, n=desk.opened.rows, k=5, about="job", purpose="one-way")
    assert [(one["tell"], one["two_way"]) for one in told["designs"]] == [
        (one.tell, one.expected.two_way) for one in found
    ]
    plan = kk.calibrate(desk.draft.schema, n=desk.opened.rows, k=5)
    assert (told["epsilon"], told["central"]) == (plan.epsilon, plan.central())
    assert [one["is_chosen"] for one in told["designs"]] == [True] + [False] * (len(found) - 1)


def test_k_in_every_draw_and_with_certainty_stand_side_by_side_whichever_is_chosen(desk):
    n = desk.opened.rows
    for chosen in (None, 0.999999):
        desk.wish(k=10, certainty=chosen)
        every, certain = desk.beside()
        for told, certainty in ((every, None), (certain, 0.999999)):
            plan = kk.calibrate(replace(desk.draft.schema, certainty=certainty), n=n, k=10)
            assert told["certainty"] == certainty
            assert (told["epsilon"], told["central"]) == (plan.epsilon, plan.central())
            assert told["two_way"] == expected_error(plan.tells, n).two_way
            assert told["is_chosen"] == (certainty == chosen)
        assert certain["two_way"] < every["two_way"]
        told = desk.choice(SAY)
        assert told["certainty"] == chosen
        assert told["epsilon"] == (every if chosen is None else certain)["epsilon"]
    assert desk.to_dict()["wishes"]["certainty"] == 0.999999
    assert "certainty = 0.999999" in desk.to_dict()["toml"]


def test_the_page_learns_when_the_ceiling_on_the_central_epsilon_binds(desk):
    for k, tell in ((2, None), (200, None), (2, "all"), (200, 1)):
        desk.wish(k=k, tell=tell, certainty=0.999999)
        every, certain = desk.beside()
        without = kk.calibrate(desk.draft.schema, n=desk.opened.rows, k=k, tell=certain["tell"], central_ceiling=None)
        assert not every["is_capped"]
        assert certain["is_capped"] == (without.central() > 1)
    desk.wish(k=2)
    assert desk.beside()[1]["is_capped"]


def test_certainty_adds_up_over_the_groups_of_a_kept_column(desk):
    desk.edit("region", {"role": "keep"})
    desk.wish(k=5, certainty=0.999999)
    plan = kk.calibrate(desk.draft.schema, data=desk.opened.table, k=5)
    assert plan.failure(group_sizes(desk.draft.schema, desk.opened.table)) > 0
    assert desk.choice(SAY)["epsilon"] == plan.epsilon


def test_nothing_is_compared_with_certainty_where_people_have_several_records(tmp_path):
    rows = census(600).select(["job", "sex"])
    write_table(tmp_path / "rows.parquet", rows.append_column("who", pa.array([f"p{row % 300}" for row in range(600)])))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "rows.parquet"))
    desk.edit("who", {"role": "person"})
    desk.wish(k=5, rows_a_person=2)
    assert desk.beside() == []
    desk.wish(certainty=0.999999)
    with pytest.raises(kk.CalibrationError, match="one record per person"):
        desk.choice(SAY)


def test_a_release_with_certainty_is_what_its_script_makes(tmp_path):
    write_table(tmp_path / "few.csv", census(900).select(["job", "sex"]))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "few.csv"))
    desk.wish(k=5, certainty=0.999999)
    made = released(desk, tmp_path / "out.csv")
    assert "--k 5 --certainty 0.999999 " in made["commands"]
    assert "k=5, certainty=0.999999, data=source" in made["python"]
    clicked = read_manifest(tmp_path / "out.csv")
    assert clicked.plan.certainty == 0.999999
    exec(made["python"], {})
    assert read_manifest(tmp_path / "out.csv").plan.to_dict() == clicked.plan.to_dict()
    read = desk.read(str(tmp_path / "out.csv"))
    assert (read["certainty"], read["central"]) == (0.999999, clicked.central())


def test_a_curve_has_every_design_at_every_k_and_more_k_costs_more(desk):
    points = desk.curve()
    assert [point["k"] for point in points][:4] == [2, 3, 5, 10]
    assert points[0]["errors"]["2"] < points[-1]["errors"]["2"]


def test_a_kept_column_leaves_fewer_to_hide_among(desk):
    desk.edit("region", {"role": "keep"})
    assert desk.choice(SAY)["n"] < desk.opened.rows


def test_a_release_with_certainty_is_rehearsed(desk):
    desk.wish(certainty=0.999999)
    assert desk.rehearse("job", "sex", SAY)["wrong"] < 0.5


def test_a_rehearsal_is_near_the_truth_and_tells_how_near(desk):
    told = desk.rehearse("job", "sex", SAY)
    assert 0 < told["wrong"] < 0.25
    assert "<img alt=" in told["html"]
    assert told["html"].count("<tr>") == 1 + len(desk.draft.schema["job"].values) * 2


def test_a_release_equals_in_schema_plan_and_manifest_what_its_scripts_make(desk, tmp_path, short_pages):
    desk.edit("age", {"role": "drop"})
    desk.edit("region", {"role": "keep"})
    desk.wish(k=5, about="job")
    target = tmp_path / "clicked.parquet"
    made = released(desk, target, "ja")
    assert all(file["bytes"] for file in made["files"])
    typed, ran = tmp_path / "typed", tmp_path / "ran"
    schema = (tmp_path / "clicked-schema.toml").read_text(encoding="utf-8")
    for other in (typed, ran):
        other.mkdir()
        (other / "clicked-schema.toml").write_text(schema, encoding="utf-8")
    for line in made["commands"].replace(f"{tmp_path}/", f"{typed}/").splitlines():
        if line.startswith("kakuran "):
            done = CliRunner().invoke(app, shlex.split(line)[1:], catch_exceptions=False)
            assert done.exit_code == 0, done.output
    exec(made["python"].replace(f"{tmp_path}/", f"{ran}/"), {})
    clicked = read_manifest(target)
    for other in (typed, ran):
        manifest = read_manifest(other / "clicked.parquet")
        assert manifest.plan.to_dict() == clicked.plan.to_dict()
        assert replace(manifest, plan=clicked.plan) == clicked
    assert (typed / "clicked-public.html").read_text(encoding="utf-8").startswith('<!doctype html>\n<html lang="ja">')


@pytest.fixture
def small(tmp_path):
    """A desk with a small table, released, attacked and reported on."""
    write_table(tmp_path / "few.csv", census(300).select(["job", "sex"]))
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "few.csv"))
    desk.wish(k=5)
    released(desk, tmp_path / "out.csv")
    desk.attack(SAY)
    desk.report("en")
    return tmp_path


def run(*command):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=os.environ | {"PATH": path, "LANG": "C.UTF-8"}, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_its_scripts_run_as_they_are_where_everything_is_there_already_and_print_numbers(small):
    before = (small / "out.csv").read_bytes()
    for program, script in (("sh", "out-again.sh"), (sys.executable, "out-again.py")):
        for path in small.glob("out*.html"):
            path.write_text("old")
        code, told, errors = run(program, small / script)
        assert (code, "rror" in errors) == (0, False), errors
        assert re.search(r"0\.\d\d", told)
        after = (small / "out.csv").read_bytes()
        assert after != before  # drawn anew, once in 6^300 the same
        before = after
        assert (small / "out-public.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_what_holds_true_counts_or_what_was_said_is_for_the_steward_alone(small):
    assert {path.name: path.stat().st_mode & 0o077 for path in small.glob("out*")} == {
        **dict.fromkeys(("out.csv", "out.release.json", "out-schema.toml", "out-public.html"), 0o044),
        **dict.fromkeys(("out-internal.html", "out-again.sh", "out-again.py"), 0),
    }


def test_the_password_of_a_database_is_in_no_file_and_on_no_page_and_still_opens_it(tmp_path, monkeypatch):
    secrets = ("s3cretPW", "Zw9")
    address = "postgresql://alice:s3cretPW@db.example/people?password=Zw9&sslmode=require"
    few, asked = census(300).select(["job", "sex"]), []

    def opened(named, sql=None):
        asked.extend([named] * bool(sql))
        return open_source(few if sql else named)

    monkeypatch.setattr("kakuran.studio.desk.open_source", opened)
    desk = Desk(tmp_path)
    desk.open(address, "select * from people")
    shown = desk.to_dict()
    assert shown["opened"]["named"] == "postgresql://alice@db.example/people?sslmode=require"
    desk.open(shown["opened"]["named"], "select job, sex from people")  # as the page does with another query
    assert asked == [address, address]
    assert Path(shown["targets"]).name == "people-release.parquet"
    desk.start_ledger()
    desk.wish(k=5)
    made = released(desk, tmp_path / "out.parquet")
    desk.report("en")
    assert "set PGPASSWORD" in made["commands"]
    assert "set PGPASSWORD" in made["python"]
    assert "'postgresql://alice@db.example/people?sslmode=require'" in made["python"]
    written = [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    assert len(written) == 7
    for text in (json.dumps([made, shown]), repr(desk.opened), *written):
        assert not [secret for secret in secrets if secret in text]


def test_a_script_stops_at_the_first_command_that_fails(small):
    (small / "few.csv").unlink()
    code, told, errors = run("sh", small / "out-again.sh")
    assert (code, told, errors.count("error:")) == (3, "", 1)


def test_what_exists_is_not_replaced_unless_that_is_wanted(desk, tmp_path):
    target = tmp_path / "out.csv"
    (tmp_path / "out-public.html").write_text("mine")
    with pytest.raises(kk.ReleaseError, match="exists already"):
        released(desk, target)
    assert [path.name for path in tmp_path.iterdir()] == ["out-public.html"]
    desk.release(str(target), "en", force=True)
    assert len(kk.read_release(target).table) == desk.opened.rows


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "crosstab", "columns": ["job", "sex", ""], "where": "age > 30"},
        {"kind": "share", "columns": ["job"], "value": "care", "by": ["sex"]},
        {"kind": "mean", "columns": ["age"], "by": [""]},
        {"kind": "regress", "columns": ["age", "sex"]},
    ],
    ids=lambda asked: asked["kind"],
)
def test_the_code_beside_an_answer_gives_that_answer(desk, read_release, asked, capsys):
    told = read_release.ask(asked, SAY)
    space = {}
    exec(told["python"], space)
    assert isinstance(space["answer"], kk.Answer)
    printed = capsys.readouterr().out
    table = space["answer"].to_arrow()
    low, high = (table.column(name)[0].as_py() for name in table.column_names if name in ("low", "high"))
    assert all(f"{number:,.4g}" in printed or f"{number:,.0f}" in printed for number in (low, high))
    assert "<table>" in told["html"]
    assert told["csv"].splitlines()[0] == ",".join(f'"{name}"' for name in space["answer"].to_arrow().column_names)
    command = shlex.split(told["command"])
    assert command[0] == "kakuran"
    if asked["kind"] != "regress":
        done = CliRunner().invoke(app, [*command[1:], "--json"], catch_exceptions=False)
        cells = json.loads(done.stdout)
        assert cells == json.loads(json.dumps(space["answer"].to_dict()))


@pytest.mark.parametrize("kind", ["crosstab", "quantile"])
def test_records_that_weigh_are_counted_once_where_that_is_asked_for(tmp_path, kind):
    rows = census(2_000).select(["sex", "age"]).append_column("pay", pa.array([row % 10 for row in range(2_000)]))
    pay = kk.Numeric("pay", 0, 9, step=1)
    schema = kk.Schema([kk.Categorical("sex", ["female", "male"]), kk.Weight("age", [0, 40, 120]), pay])
    kk.perturb_file(rows, tmp_path / "out.parquet", kk.calibrate(schema, k=5, data=rows))
    desk = Desk(tmp_path)
    desk.read(str(tmp_path / "out.parquet"))
    told = desk.ask({"kind": kind, "columns": ["sex" if kind == "crosstab" else "pay"], "unweighed": True}, SAY)
    assert "weights=False" in told["python"]
    done = CliRunner().invoke(app, [*shlex.split(told["command"])[1:], "--json"], catch_exceptions=False)
    space = {}
    exec(told["python"], space)
    assert json.loads(done.stdout) == json.loads(json.dumps(space["answer"].to_dict()))


@pytest.fixture(scope="module")
def read_release(folder, tmp_path_factory):
    made = Desk(folder)
    made.open(str(folder / "census.parquet"))
    target = tmp_path_factory.mktemp("released") / "out.parquet"
    kk.perturb_file(folder / "census.parquet", target, kk.calibrate(made.draft.schema, n=made.opened.rows, k=5))
    made.read(str(target))
    return made


def test_an_estimate_at_an_end_of_its_interval_is_noticed():
    between, at_end = ({"count": [5.0, number], "low": [1.0, 2.0], "high": [9.0, 8.0]} for number in (4.0, 8.0))
    assert not _is_at_end(pa.table(between))
    assert _is_at_end(pa.table(at_end))
    assert not _is_at_end(pa.table({"income": [1]}))


def test_what_cannot_be_asked_is_said(read_release, folder):
    for asked in ({"kind": "secrets"}, {"kind": "crosstab", "columns": [""]}, {"kind": "regress", "columns": ["age"]}):
        with pytest.raises(kk.SchemaError):
            read_release.ask(asked, SAY)
    with pytest.raises(kk.ReleaseError, match="open one first"):
        Desk(folder).ask({"kind": "crosstab", "columns": ["job"]}, SAY)
    with pytest.raises(kk.SchemaError, match="open one first"):
        Desk(folder).edit("job", {})


def test_a_rehearsal_counts_people_where_people_are_released(tmp_path, monkeypatch):
    rows = pa.table(
        {
            "who": ["p0"] * 300 + [f"p{row}" for row in range(1, 301)],
            "a": ["x"] * 300 + ["y"] * 300,
            "b": ["u", "v"] * 300,
        }
    )
    write_table(tmp_path / "visits.parquet", rows)
    desk = Desk(tmp_path)
    desk.open(str(tmp_path / "visits.parquet"))
    desk.edit("who", {"role": "person"})
    shown = {}
    monkeypatch.setattr("kakuran.studio.desk.pair_section", lambda *_, **__: "")
    monkeypatch.setattr("kakuran.studio.desk.wrong_cells", lambda truth, found: shown.update(truth=truth, found=found))
    desk.rehearse("a", "b", SAY)
    assert shown["truth"].sum(axis=1) == pytest.approx([1, 300])
    assert shown["found"].sum() == pytest.approx(301)
