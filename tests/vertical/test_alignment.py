"""Records are matched by ids nobody shows."""

import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kakuran.errors import DataError, ProtocolError
from kakuran.vertical import Limits, VerticalPlan, alignment
from kakuran.vertical.alignment import Blinding, Matching, _receive_places, align, as_points, canonical_ids, intersect
from kakuran.vertical.messages import AlignmentCheck, Kept
from kakuran.vertical.party import side_by_side
from kakuran.vertical.transport import linked_pair


def aligned(tables):
    """Every party's ids in the common order."""
    names = list(tables)
    plan = plan_of(names)
    rows = side_by_side(names, lambda name, links: align(links, plan, name, tables[name]), timeout=10.0)
    return {name: [tables[name][row] for row in rows[name]] for name in names}


def plan_of(names, **limits):
    columns = {name: [f"column {at}"] for at, name in enumerate(names)}
    return VerticalPlan.of(columns, target="y", holder=names[0], limits=Limits(**limits))


def as_ids(numbers):
    return [b"%d" % number for number in numbers]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 25), min_size=1, max_size=20), min_size=2, max_size=4).filter(
        lambda sets: set.intersection(*sets)
    )
)
def test_all_parties_end_with_the_same_shared_ids_in_the_same_order(sets):
    tables = {f"party {at}": as_ids(sorted(held)) for at, held in enumerate(sets)}
    ordered = list(aligned(tables).values())
    assert all(ids == ordered[0] for ids in ordered)
    assert set(ordered[0]) == set(as_ids(set.intersection(*sets)))


@pytest.mark.parametrize("points_a_message", [1, 7, 20])
def test_lists_longer_than_a_message_are_matched_too(points_a_message, monkeypatch):
    monkeypatch.setattr(alignment, "_CHUNK", points_a_message)
    tables = {"alice": as_ids(range(50)), "bob": as_ids(range(40, 60))}
    assert sorted(aligned(tables)["alice"]) == sorted(as_ids(range(40, 50)))


def test_the_common_order_is_not_the_order_of_the_ids():
    ordered = aligned({"alice": as_ids(range(100)), "bob": as_ids(range(100))})["alice"]
    assert ordered != as_ids(range(100))


def test_parties_without_a_shared_id_are_told_so():
    with pytest.raises(ProtocolError, match=r"no id is shared with .*written alike"):
        aligned({"alice": as_ids(range(5)), "bob": as_ids(range(5, 10))})


def test_blinding_commutes_and_differs_between_runs():
    ours, theirs = Blinding(), Blinding()
    hidden = theirs.hide([b"7", b"8"], b"salt")
    assert (ours.hide_again(hidden) == theirs.hide_again(ours.hide([b"7", b"8"], b"salt"))).all()
    assert ours.hide_again(hidden[:1]) != theirs.hide_again(ours.hide([b"8"], b"salt"))
    assert ours.hide([b"7"], b"salt") != Blinding().hide([b"7"], b"salt")
    assert ours.hide([b"7"], b"salt") != ours.hide([b"7"], b"pepper")


def test_a_point_off_the_curve_is_refused():
    blinding, refused = Blinding(), 0
    for number in range(40):
        try:
            blinding.hide_again(as_points(number.to_bytes(32, "big")))
        except ProtocolError:
            refused += 1
    assert 0 < refused < 40


@pytest.mark.parametrize("places", [[3], [-1], [0, 0], [[0], [0]], 7, [0, 1, 2, 0]])
def test_places_that_cannot_be_kept_are_refused_without_waiting_for_more(places):
    link, other = linked_pair("alice", "bob", 0.1)
    kept = np.array(places, np.int64)
    other.send(Kept(kept, last=kept.size < 4))
    with pytest.raises(ProtocolError, match="bob kept records that we do not share"):
        _receive_places(link, 3)


def test_a_peer_whose_records_are_in_another_order_is_found_out():
    link, other = linked_pair("alice", "bob", 5.0)
    plan = plan_of(["alice", "bob"])

    def bob():
        intersect(other, as_ids(range(4)), Matching(plan.fingerprint.encode(), 100), speaks_first=False)
        other.receive(AlignmentCheck)
        other.send(AlignmentCheck(4, bytes(32)))

    thread = threading.Thread(target=bob)
    thread.start()
    with pytest.raises(ProtocolError, match="not in the order of bob's"):
        align({"bob": link}, plan, "alice", as_ids(range(4)))
    thread.join()


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["mary", "john", "mary"], "records that repeat an id: 1"),
        (["mary ", "mary", "john"], "records that repeat an id: 1"),
        (["mary", None, "john"], "missing ids: 1"),
        (["mary", "  ", "john"], "blank ids: 1"),
        ([1.0, 2.0, 3.0], "ids are double"),
    ],
)
def test_bad_ids_are_refused_by_problem_and_not_by_person(column, words):
    with pytest.raises(DataError, match=words) as refused:
        canonical_ids(pa.chunked_array([column]), "customer")
    assert "mary" not in str(refused.value)


def test_numbers_and_text_that_read_alike_are_the_same_id():
    numbers = canonical_ids(pa.chunked_array([np.array([7, 12])]), "id")
    texts = canonical_ids(pa.chunked_array([pa.array([" 7", "12"]).dictionary_encode()]), "id")
    assert numbers == texts
