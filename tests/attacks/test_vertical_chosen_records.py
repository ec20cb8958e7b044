"""A partner that chooses whose records take part, and learns from what we refuse, resume or are told by a third."""

import contextlib
import threading

import numpy as np
import pyarrow as pa
import pytest

from kakuran.errors import GuardError, ProtocolError
from kakuran.vertical import Limits, Party, VerticalPlan, alignment, party as party_module
from kakuran.vertical.alignment import Matching, intersect
from kakuran.vertical.checkpoints import Checkpoints
from kakuran.vertical.messages import FittedPart, Kept, MaskedPart, Space, Target, numbers
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.party import side_by_side
from kakuran.vertical.residual import MOST_ROUNDS, Residual, accelerate
from kakuran.vertical.transport import linked_pair

RNG = np.random.default_rng(4)
PEOPLE = 200
ANSWERS = (RNG.random(PEOPLE) < 0.5).astype(float)
PLAN = VerticalPlan.of(
    {"victim": ["answer", "v"], "cheat": ["c"]},
    target="y",
    holder="cheat",
    search="none",
    limits=Limits(bits_per_bit_told=0),  # so that 60 people are enough for a yes/no column
)
VICTIM = pa.table({"id": range(PEOPLE), "answer": ANSWERS, "v": RNG.normal(size=PEOPLE)})


def refusal(chosen, folder=None):
    """Why the victim stops when the cheat brings these people, and what the cheat is told of it."""
    chosen, told = np.asarray(chosen), {}
    cheat = pa.table({"id": chosen, "c": RNG.normal(size=len(chosen)), "y": RNG.normal(size=len(chosen))})

    def one(name, links):
        state = folder / name if folder is not None and name == "victim" else None
        try:
            return Party(name, PLAN, VICTIM if name == "victim" else cheat, state=state).fit(links)
        except (GuardError, ProtocolError, ValueError) as error:
            told[name] = str(error)

    side_by_side(list(PLAN.names), one)
    return told


def test_two_people_are_too_few_whatever_they_answered_and_the_partner_is_told_the_same():
    """It used to be told another reason where two people were alike: 39 such runs read 40 of 40 answers."""
    alike = np.flatnonzero(ANSWERS == 1)[:2]
    different = [np.flatnonzero(ANSWERS == 1)[0], np.flatnonzero(ANSWERS == 0)[0]]
    told = [refusal(pair) for pair in (alike, different)]
    assert told[0] == told[1]
    assert "2 shared records for 3 columns" in told[0]["victim"]


def test_one_person_more_or_less_is_refused_before_the_guard_looks_at_values(tmp_path):
    """Walking along the edge of what the guard lets pass read 150 of 150 answers in 229 runs that were refused."""
    yes, no = np.flatnonzero(ANSWERS == 1), np.flatnonzero(ANSWERS == 0)
    (tmp_path / "victim").mkdir()
    on_the_edge = [*yes[:19], *no[:41]]
    assert "'answer' has only 19 records on one side" in refusal(on_the_edge, tmp_path)["victim"]
    for other in ([*yes[:20], *no[:40]], [*yes[:19], *no[:40], no[41]]):
        told = refusal(other, tmp_path)
        assert "would speak of" in told["victim"]
        assert told["cheat"] == "victim stopped: it cannot go on"


def test_runs_that_are_cut_off_and_resumed_come_to_an_end(tmp_path, monkeypatch):
    """Cut off after the sums were read, and resumed with another column each time: 30 of them read 60 of 60 people."""
    (tmp_path / "victim").mkdir()
    monkeypatch.setattr(party_module, "check_moments", lambda *_: (_ for _ in ()).throw(ProtocolError("cut off")))
    told = [refusal(range(60), tmp_path)["victim"] for _ in range(6)]
    assert told[:2] == ["cut off"] * 2
    assert all("a sum for every" in words for words in told[2:])


def three(middle):
    """A and C share no id; the middle one holds all of both. What each of the outer ones ends with."""
    names = ("a", "b", "c")
    plan = VerticalPlan.of({name: [f"{name} 1"] for name in names}, target="y", holder="b")
    ids = {"a": [b"a%d" % at for at in range(12)], "c": [b"c%d" % at for at in range(12)]}

    def one(name, links):
        try:
            return middle(links, plan, ids) if name == "b" else alignment.align(links, plan, name, ids[name])
        except ProtocolError as error:
            return str(error)

    return side_by_side(list(names), one, timeout=5.0)


def test_a_middle_party_cannot_make_two_others_share_records_they_do_not_have_in_common():
    """Both used to count all their records as shared, and the fit went on."""

    def middle(links, plan, ids):
        matching = Matching(plan.fingerprint.encode(), 100, 30)
        with_a = intersect(links["a"], ids["a"], matching, speaks_first=False)
        with_c = intersect(links["c"], ids["c"], matching, speaks_first=True)
        links["a"].send(Kept(np.arange(12), last=True))
        alignment._check(links["c"], with_c, 30)
        alignment._check(links["a"], with_a, 30)

    ended = three(middle)
    assert {ended["a"], ended["c"]} == {
        "no id is shared with c, which brought 12; are they written alike on both sides, or is it guessing?",
        "no id is shared with a, which brought 12; are they written alike on both sides, or is it guessing?",
    }


def test_a_middle_party_cannot_pair_the_others_records_as_it_likes():
    """Shifting one order by one record told it both others' parts of every prediction."""
    names = ("a", "b", "c")
    plan = VerticalPlan.of({name: [f"{name} 1"] for name in names}, target="y", holder="b")
    ids = [b"%d" % at for at in range(12)]

    def middle(links):
        matching = Matching(plan.fingerprint.encode(), 100, 30)
        with_a = intersect(links["a"], ids, matching, speaks_first=False)
        with_c = intersect(links["c"], [ids[row] for row in with_a.rows], matching, speaks_first=True)
        shifted = np.roll(with_c.rows, 1)
        links["a"].send(Kept(shifted, last=True))
        alignment._check(links["c"], with_c, 30)
        alignment._check(links["a"], with_a.at(shifted), 30)

    def one(name, links):
        try:
            return middle(links) if name == "b" else alignment.align(links, plan, name, ids)
        except ProtocolError as error:
            return str(error)

    ended = side_by_side(list(names), one, timeout=5.0)
    assert "not in the order" in ended["a"]
    assert "not in the order" in ended["c"]


@pytest.mark.parametrize("kept", [[], [0, 1]])
def test_lists_of_kept_records_that_go_on_for_ever_are_refused_at_the_first(kept):
    link, other = linked_pair("alice", "bob", 0.5)
    other.send(Kept(np.array(kept, np.int64), last=False))
    with pytest.raises(ProtocolError, match="bob kept records that we do not share"):
        alignment._receive_places(link, 5000)


def test_no_record_shared_by_all_is_a_refusal():
    link, other = linked_pair("alice", "bob", 0.5)
    other.send(Kept(np.array([], np.int64), last=True))
    with pytest.raises(ProtocolError, match="no record is shared by all"):
        alignment._receive_places(link, 5)


@pytest.mark.parametrize("kind", [FittedPart, Target, MaskedPart, Space])
def test_a_message_longer_than_is_due_is_refused_before_it_is_read(kind):
    """One of 1,000 MB, where some hundred bytes were due, took 4.1 GB."""
    link, other = linked_pair("alice", "bob", 0.5)
    more = np.zeros(1000, np.int64 if kind is MaskedPart else np.float64)
    other.send(kind(more, False) if kind is FittedPart else kind(more))
    with pytest.raises(ProtocolError, match=rf"bob sent {kind.__name__} of 8,.* bytes where at most 336 are due"):
        link.receive(kind, most=numbers(10))


def answering(columns, questions, **limits):
    """One side of S2's protocol, and what its meter says while the other asks what it likes."""
    near, far = linked_pair("victim", "cheat", 5.0)
    names = tuple(f"v{at}" for at in range(columns.shape[1]))
    plan = VerticalPlan.of(
        {"cheat": ["c"], "victim": list(names)},
        target="y",
        holder="cheat",
        protocol="residual",
        limits=Limits(**limits),
    )

    own = OwnColumns(names, columns).standardised(intercept=True)
    target = RNG.normal(size=len(columns))
    run = Residual(
        near,
        plan,
        own,
        (target - target.mean()) / target.std(),
        1.0,
        False,
        "cheat",
        Checkpoints(None, ""),
        lambda _: None,
    )
    ended = []

    def victim():
        try:
            run.run(None)
        except (GuardError, ProtocolError) as error:
            ended.append(str(error))
            near.close()

    thread = threading.Thread(target=victim)
    thread.start()
    with contextlib.suppress(ProtocolError):
        questions(far, run.target)
    thread.join()
    return run.meter.exposure().rank, ended[0]


def test_directions_hidden_in_the_last_digits_of_answers_are_counted():
    """At a size of 3·10⁻¹⁰ beside a known direction they told six columns to 3·10⁻⁷ while the meter said one."""

    def questions(link, target):
        def ask(vector):
            link.send(FittedPart(vector, settled=False))
            return link.receive(FittedPart).values

        first = ask(np.zeros(len(target)))
        large = first / np.linalg.norm(first) * 1e6
        for _ in range(4):
            ask(target - large - RNG.normal(size=len(target)) * 3e-5)

    rank, ended = answering(RNG.normal(size=(100, 6)), questions, exposed_directions=2)
    assert rank == 3
    assert "more than the 2 the plan allows" in ended


def test_directions_too_weak_to_count_are_not_sent():
    """Two questions with a large known part, whose difference is beneath the meter's 10⁻¹³, told the rest."""
    columns, read = RNG.normal(size=(300, 4)), []

    def questions(link, target):
        def ask(vector):
            link.send(FittedPart(vector, settled=False))
            return link.receive(FittedPart).values

        first = ask(np.zeros(len(target)))
        known = first / np.linalg.norm(first)
        read.append(known)
        for _ in range(3):
            hidden = RNG.normal(size=len(target))
            hidden /= np.linalg.norm(hidden)
            tries = []
            for _ in range(10):
                large = 3e12 * (1 + RNG.random()) * known
                tries.append((ask(-large - hidden) - ask(-large + hidden)) / 2)
            read.append(np.mean(tries, axis=0))

    rank, _ = answering(columns, questions, exposed_directions=1)
    assert rank == 1
    basis = np.linalg.qr(np.column_stack(read)).Q
    standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    unread = ((standard - basis @ (basis.T @ standard)) ** 2).mean(axis=0)
    assert unread.max() > 0.5  # all four were read to 0.01


def test_an_answering_side_does_not_answer_for_ever(monkeypatch):
    monkeypatch.setattr("kakuran.vertical.residual.MOST_ROUNDS", 20)
    assert MOST_ROUNDS > 20

    def questions(link, target):
        for _ in range(30):
            link.send(FittedPart(target * 0, settled=False))
            link.receive(FittedPart)

    _, ended = answering(RNG.normal(size=(100, 2)), questions)
    assert ended == "cheat has asked more than 20 times without settling"


def test_fits_of_no_columns_are_refused():
    """A side that asks divided by what the other answered, which may be nothing."""
    target = RNG.normal(size=50)
    with pytest.raises(ProtocolError, match="those of no columns"):
        accelerate(target, lambda vector: vector, lambda vector: -vector)


@pytest.mark.parametrize("scale", [1e-150, 1e-158, 1e120])
def test_a_target_that_cannot_be_computed_with_is_refused(scale):
    """Its variance is no number; the criterion ended in an error that was not ours."""
    plan = VerticalPlan.of({"victim": ["v"], "cheat": ["c"]}, target="y", holder="cheat", protocol="residual")
    own = OwnColumns(("v",), RNG.normal(size=(50, 1))).standardised(intercept=True)
    with pytest.raises(ProtocolError, match="cheat did not tell a scale of the target"):
        Residual(None, plan, own, own.values[:, 0], scale, True, "cheat", Checkpoints(None, ""), print)


def test_a_part_that_leaves_nothing_to_explain_is_refused():
    def questions(link, target):
        link.send(FittedPart(target, settled=True))
        link.receive(FittedPart)

    _, ended = answering(RNG.normal(size=(100, 2)), questions)
    assert "nothing of the target is left to explain" in ended
