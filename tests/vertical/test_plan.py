"""Plans say everything, and a fingerprint tells two apart."""

import dataclasses
import re

import numpy as np
import pytest

from kakuran.errors import ProtocolError
from kakuran.samples import companies
from kakuran.vertical import Limits, Terms, VerticalPlan, agree, own_key
from kakuran.vertical.disclosure import fewest_people
from kakuran.vertical.own import OwnColumns

PLAN = VerticalPlan(
    (Terms("ängström & co", ("a", 'b"'), "no", "YQ=="), Terms("bob", ("c", "d"), "member", "Yg==")),
    target="y",
    holder="bob",
    forced=("a",),
)


def test_a_plan_comes_back_as_it_was_saved(tmp_path):
    PLAN.save(tmp_path / "plan.toml")
    loaded = VerticalPlan.load(tmp_path / "plan.toml")
    assert loaded == PLAN
    assert loaded.fingerprint == PLAN.fingerprint


def test_a_plan_that_is_not_there_says_how_to_make_one(tmp_path):
    with pytest.raises(
        ProtocolError, match=r"plan\.toml: no such plan; the first party makes it with .kakuran vertical init"
    ):
        VerticalPlan.load(tmp_path / "plan.toml")


@pytest.mark.parametrize(
    "change",
    [
        {"target": "z"},
        {"criterion": "bic"},
        {"protocol": "residual"},
        {"intercept": False},
        {"least": 1},
        {"forced": ()},
        {"ranking": "s2"},
        {"search": "none"},
        {"accelerated": False},
        {"limits": Limits(smallest_group=9)},
        {"parties": (dataclasses.replace(PLAN.parties[0], certificate="Yw=="), PLAN.parties[1])},
        {"parties": PLAN.parties[::-1]},
        {"parties": (dataclasses.replace(PLAN.parties[0], most_ids=900), PLAN.parties[1])},
    ],
)
def test_every_word_of_a_plan_changes_its_fingerprint_and_is_kept(change, tmp_path):
    other = dataclasses.replace(PLAN, **change)
    assert other.fingerprint != PLAN.fingerprint
    other.save(tmp_path / "plan.toml")
    assert VerticalPlan.load(tmp_path / "plan.toml") == other


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"protocol": "magic"}, "protocol must be one of gram, residual, got 'magic'"),
        ({"criterion": "r2"}, "criterion must be one of aic, aicc, bic"),
        ({"least": -1}, "least must be a whole number"),
        ({"limits": Limits(smallest_group=-3)}, "smallest_group must be a number not below 0"),
        (
            {"limits": Limits(largest_leverage=float("nan"))},
            "largest_leverage must be a number not below 0 and at most .*, got nan",
        ),
        ({"limits": Limits(smallest_group=10**400)}, "smallest_group must be a number .* got a larger one"),
        ({"target": "c"}, "two columns 'c'"),
        ({"protocol": "residual", "search": "forward"}, "can only search backward"),
        ({"ranking": "s2", "search": "both"}, "rule for leaving variables out"),
        ({"parties": (*PLAN.parties, Terms("carol", ("e",), "id")), "protocol": "residual"}, "for two parties"),
        ({"parties": (PLAN.parties[0], Terms("bob", (), "id"))}, "bob brings no column"),
        ({"parties": (PLAN.parties[0], Terms("bob", ("c",), "id", "", -1))}, "bob's most_ids must be a whole number"),
        ({"parties": (PLAN.parties[0], Terms("bob", ("c", "id"), "id"))}, "cannot be an explanatory column"),
        ({"parties": (PLAN.parties[0], Terms("bob", ("", "c"), "id"))}, "names something ''.*--column"),
        ({"parties": (PLAN.parties[0], Terms("bob\nall is well", ("c",), "id"))}, r"something 'bob\\nall is well'"),
        ({"target": "y\u2028z"}, r"something 'y\\u2028z'"),
        ({"parties": (PLAN.parties[0], Terms(PLAN.parties[0].name, ("c",), "id"))}, "one name"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused(change, words):
    with pytest.raises(ProtocolError, match=words):
        dataclasses.replace(PLAN, **change)


def test_a_plan_is_complete_once_all_have_joined():
    draft = VerticalPlan((Terms("alice", ("a",), "id"),), "y", "")
    with pytest.raises(ProtocolError, match="only alice is in the plan"):
        draft.check_complete()
    with pytest.raises(ProtocolError, match="nobody in the plan holds the target"):
        draft.joined_by(Terms("bob", ("b",), "id"), holds_target=False).check_complete()
    joined = draft.joined_by(Terms("bob", ("b",), "id"), holds_target=True)
    joined.check_complete()
    assert joined.holder == "bob"
    with pytest.raises(ProtocolError, match="both bob and carol hold"):
        joined.joined_by(Terms("carol", ("c",), "id"), holds_target=True)
    with pytest.raises(ProtocolError, match="already has a party 'bob'"):
        joined.joined_by(Terms("bob", ("c",), "id"), holds_target=False)
    with pytest.raises(ProtocolError, match="'z' is to be forced in"):
        dataclasses.replace(joined, forced=("z",)).check_complete()
    with pytest.raises(ProtocolError, match="no party 'dave', only alice, bob"):
        joined.terms("dave")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('columns = ["c", "d"]', 'columns = "cd"', "[parties.bob]: columns must be a list of names, got 'cd'"),
        ('forced = ["a"]', 'forced = "a"', "[plan]: forced must be a list of names, got 'a'"),
        ("intercept = true", 'intercept = "no"', "[plan]: intercept must be true or false, got 'no'"),
        ('target = "y"', "target = 3", "[plan]: target must be a text, got 3"),
        ('target = "y"', "", "[plan] does not say target"),
        ('id = "member"', "", "[parties.bob] does not say id"),
        ("least = 2", "leest = 2", "[plan]: unknown setting 'leest'. Did you mean 'least'?"),
        ("smallest_group = 20", 'smallest_group = "few"', "[limits]: smallest_group must be a number, got 'few'"),
        ("[parties.bob]", "[[parties.bob]]", "[parties.bob]: expected a table of settings, got ["),
        ("[plan]", "[paln]", "[plan]: expected a table of settings, got nothing"),
    ],
)
def test_a_word_of_a_file_that_cannot_be_meant_is_named(tmp_path, before, after, words):
    PLAN.save(path := tmp_path / "plan.toml")
    text = path.read_text(encoding="utf-8").replace('parties."bob"', "parties.bob")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(ProtocolError, match=re.escape(f"{path}: {words}")):
        VerticalPlan.load(path)


def test_one_column_is_a_list_of_one():
    with pytest.raises(ProtocolError, match=r"bank brings a list of columns, as \['age'\]"):
        VerticalPlan.of({"bank": "age", "shop": ["visits"]}, target="spending", holder="shop")


@pytest.mark.parametrize("text", ["", "[plan]\nformat = 9", "[plan]\nformat = 1\nnonsense = 3\n[parties.a]", "]["])
def test_a_file_that_is_no_plan_is_refused(tmp_path, text):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(ProtocolError, match=r"plan\.toml"):
        VerticalPlan.load(tmp_path / "plan.toml")


def test_two_companies_agree_without_a_command(tmp_path):
    (bank, shop), path = companies(50), tmp_path / "plan.toml"
    with pytest.raises(ProtocolError, match="names the --target"):
        agree(path, "bank", bank, "customer")
    first = agree(path, "bank", bank, "customer", ["income"], target="spending", least=1)
    assert (first.names, first.least, own_key(path, "bank").exists()) == (("bank",), 1, True)
    with pytest.raises(ProtocolError, match="settled by the first party, bank"):
        agree(path, "shop", shop, "customer", least=2)
    both = agree(path, "shop", shop, "customer")
    assert VerticalPlan.load(path) == both
    assert both.names == ("bank", "shop")
    assert "customer" not in both.columns


def test_limits_that_refuse_less_are_named():
    assert Limits().weakened == Limits(smallest_group=40, largest_leverage=0.1, exposed_directions=1).weakened == []
    off = Limits(records_per_variable=0, smallest_group=0, largest_leverage=1, bits_per_bit_told=0, most_ids=10**9)
    assert len(off.weakened) == 5
    assert len(Limits(ids_per_year=10**9).weakened) == 1
    assert off.weakened[1] == "the plan's limit smallest_group is 0, not 20: our guard refuses less"


def test_without_any_limit_two_runs_still_have_to_differ_in_somebody():
    """No limits at all ended in an error of numpy's at the second run."""
    plan = dataclasses.replace(PLAN, limits=Limits(records_per_variable=0, smallest_group=0, bits_per_bit_told=0))
    own = OwnColumns(("a",), np.arange(30.0)[:, None])
    assert fewest_people(own, plan, sums=2) == 1
