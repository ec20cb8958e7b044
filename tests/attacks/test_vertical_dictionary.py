"""Ids that can be counted through: a partner without a list of customers tries all numbers of six digits.

It cannot be told from one whose ids are written otherwise. What it tries is shown, bounded and remembered.
"""

import sqlite3
import threading

import numpy as np
import pytest

from kakuran.errors import GuardError, ProtocolError
from kakuran.samples import companies
from kakuran.vertical import Limits, Party, Terms, VerticalPlan, agree, alignment, predict_together
from kakuran.vertical.alignment import Matching, align, intersect
from kakuran.vertical.earlier import EarlierRuns
from kakuran.vertical.messages import Blinded, Reblinded, SetSize
from kakuran.vertical.party import side_by_side
from kakuran.vertical.transport import linked_pair

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

OURS = [b"%06d" % number for number in np.random.default_rng(1).choice(10**6, 2_000, replace=False)]


def guess(link, ids, salt=b"salt"):
    """Which of these ids the other side has; what it is shown of ours is blinded by yet another secret."""
    secret, other, size = alignment.Blinding(), alignment.Blinding(), len(ids) // 2
    count = link.swap(SetSize(size), speaks_first=False).ids
    theirs = alignment._swap_points(link, Blinded, secret.hide(ids, salt), 2 * count, False, 1)
    known = secret.hide_again(theirs)
    answers = alignment._swap_points(link, Reblinded, other.hide_again(theirs), 2 * size, False, 1)
    return {ids[place] for place in np.flatnonzero(np.isin(answers, known))}


def tried(numbers, earlier, told, **limits):
    """What a run in which the partner tries these numbers tells it, and what we say."""
    link, other = linked_pair("victim", "thief", 20.0)
    found, said = set(), []
    guesses = [b"%06d" % number for number in numbers]

    def thief():
        try:
            found.update(guess(other, guesses))
        except ProtocolError:
            other.close()

    thread = threading.Thread(target=thief)
    thread.start()
    try:
        intersect(link, OURS, Matching(b"salt", 10**6, 1, earlier, notify=told.append, **limits), speaks_first=True)
    except (ProtocolError, GuardError) as error:
        said.append(str(error))
        link.close()
    thread.join()
    return found, said[0]


def test_whoever_tries_all_ids_is_shown_remembered_and_stopped_for_the_rest_of_the_year(tmp_path):
    earlier, told = EarlierRuns(tmp_path / "runs"), []
    found, said = tried(range(400_000, 420_000), earlier, told, ids_per_year=15_000)
    assert found == set(OURS) & {b"%06d" % number for number in range(400_000, 420_000)}  # this much remains
    assert (
        said
        == "no id is shared with thief, which brought 10,000; are they written alike on both sides, or is it guessing?"
    )
    assert told == ["thief brings 10,000 ids to compare with ours"]
    found, said = tried(range(420_000, 440_000), EarlierRuns(tmp_path / "runs"), told, ids_per_year=15_000)
    assert not found
    assert said.startswith("thief brings 10,000 ids, after 10,000 that were tried on ours within a year, more than")
    with sqlite3.connect(tmp_path / "runs") as file:
        assert file.execute("SELECT party, theirs, ours, shared FROM alignments").fetchall() == [
            ("thief", 10_000, 2_000, 0)
        ]
        file.execute("UPDATE alignments SET day = '2001-01-01'")
    found, _ = tried(range(420_000, 440_000), EarlierRuns(tmp_path / "runs"), told, ids_per_year=15_000)
    assert found


def test_an_alignment_that_breaks_off_is_remembered(tmp_path):
    link, other = linked_pair("victim", "thief", 5.0)
    other.send(SetSize(500))
    other.close()
    with pytest.raises(ProtocolError):
        intersect(link, OURS, Matching(b"salt", 10**6, 1, EarlierRuns(tmp_path / "runs")), speaks_first=True)
    with sqlite3.connect(tmp_path / "runs") as file:
        assert file.execute("SELECT theirs, shared FROM alignments").fetchall() == [(500, None)]


def test_a_party_brings_no_more_ids_than_the_plan_says_of_it():
    plan = VerticalPlan((Terms("a", ("x",), "id", "", 3_000), Terms("b", ("z",), "id", "", 1_000)), "y", "b")
    link, other = linked_pair("a", "b", 5.0)
    other.send(SetSize(1_001))
    with pytest.raises(ProtocolError, match="b wants to bring 1,001 ids; the plan's most_ids is 1,000 for it"):
        align({"b": link}, plan, "a", OURS)
    with pytest.raises(ProtocolError, match="we bring 2,000 ids; the plan's most_ids is 1,000 for us"):
        align({"a": other}, plan, "b", OURS)


@pytest.mark.parametrize(("records", "most"), [(300, 1_000), (1_234, 2_500), (40_000, 80_000)])
def test_the_plan_leaves_room_for_twice_the_ids_a_party_has_when_it_joins(records, most, tmp_path):
    bank = companies(40)[0].to_pandas().drop(columns="customer")
    table = bank.iloc[np.arange(records) % len(bank)].assign(customer=np.arange(records))
    plan = agree(tmp_path / "plan.toml", "bank", table, "customer", target="spending")
    assert plan.most_ids("bank") == most


def test_fits_and_predictions_count_what_was_tried(tmp_path):
    tables = dict(zip(("bank", "shop"), companies(300), strict=True))
    columns = {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]}
    ids = {name: table.num_rows for name, table in tables.items()}
    plan = VerticalPlan.of(
        columns, target="spending", holder="shop", ids="customer", limits=Limits(ids_per_year=2 * max(ids.values()))
    )

    def fit(name, links):
        return Party(name, plan, tables[name], memory=tmp_path / name).fit(links)

    def predict(name, links):
        return predict_together(links, plan, fits[name], tables[name], receiver="shop", memory=tmp_path / name)

    fits = side_by_side(list(plan.names), fit)
    side_by_side(list(plan.names), predict)
    with pytest.raises(GuardError, match="tried on ours within a year"):
        side_by_side(list(plan.names), predict)
