"""A peer that knows none of our ids and claims all of our records.

While points were shown in turns, a peer that handed ours back and echoed our answers shared every record of ours with
us, whichever of the two spoke first.
"""

import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from kakuran.errors import ProtocolError
from kakuran.vertical import alignment
from kakuran.vertical.alignment import Blinding, Matching, _swap_points, intersect
from kakuran.vertical.messages import Blinded, Commitment, Opening, Reblinded, SetSize
from kakuran.vertical.transport import linked_pair

IDS = [b"secret %d" % number for number in range(40)]
MATCHING = Matching(b"salt", 1000)
BOTH_ORDERS = pytest.mark.parametrize("we_speak_first", [True, False])


def against(cheat, we_speak_first, ids=IDS):
    """Why we refuse a peer; None if we do not."""
    ours, theirs = linked_pair("honest", "cheat", 60.0)

    def run():
        with suppress(ProtocolError):
            cheat(theirs, not we_speak_first)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        intersect(ours, ids, MATCHING, speaks_first=we_speak_first)
    except ProtocolError as error:
        return str(error)
    finally:
        ours.close()
        thread.join()
    return None


def echo_a_round(link, kind, speaks_first):
    """Says what we say, if it hears it before it has to speak."""
    if speaks_first:
        link.send(Commitment(bytes(32)))
        link.receive(Commitment)
        link.send(kind(bytes(64 * len(IDS))))
        link.send(Opening(bytes(32)))
    else:
        for echoed in (Commitment, kind, Opening):
            link.send(link.receive(echoed))


def echo(link, speaks_first):
    """Does so in every round."""
    link.swap(SetSize(len(IDS)), speaks_first=speaks_first)
    for kind in (Blinded, Reblinded):
        echo_a_round(link, kind, speaks_first)


@BOTH_ORDERS
def test_a_peer_that_echoes_everything_is_refused(we_speak_first):
    assert "other blinded ids than those it was bound to" in against(echo, we_speak_first)


def echo_of_answers(link, speaks_first):
    """Brings points of its own, and hands our answers back as its answers."""
    link.swap(SetSize(len(IDS)), speaks_first=speaks_first)
    points = Blinding().hide([b"stranger %d" % at for at in range(2 * len(IDS))], b"salt")
    _swap_points(link, Blinded, points, 2 * len(IDS), speaks_first, 1)
    echo_a_round(link, Reblinded, speaks_first)


@BOTH_ORDERS
def test_a_peer_that_echoes_our_answers_only_is_refused(we_speak_first):
    assert "other blinded ids than those it was bound to" in against(echo_of_answers, we_speak_first)


@pytest.fixture
def hidden(monkeypatch):
    """The points we hide our ids in, as no peer could see them before it is bound to its own."""
    made, hide = [], Blinding.hide

    def remember(self, identifiers, salt):
        points = hide(self, identifiers, salt)
        if identifiers is IDS:
            made.append(points)
        return points

    monkeypatch.setattr(Blinding, "hide", remember)
    return made


@BOTH_ORDERS
def test_our_own_points_are_refused_even_from_one_that_was_bound_to_them(we_speak_first, hidden):
    def cheat(link, speaks_first):
        link.swap(SetSize(len(IDS)), speaks_first=speaks_first)
        while not hidden:
            time.sleep(0.001)
        strangers = Blinding().hide([b"stranger %d" % at for at in range(len(IDS))], b"salt")
        _swap_points(link, Blinded, np.concatenate([hidden[0], strangers]), 2 * len(IDS), speaks_first, 1)

    assert against(cheat, we_speak_first) == "cheat handed our own blinded ids back to us"


@BOTH_ORDERS
def test_a_peer_that_knows_one_id_cannot_claim_the_others_by_powers_of_it(we_speak_first, hidden):
    """It is even told which point is that id's; otherwise it would have to guess."""

    def cheat(link, speaks_first):
        link.swap(SetSize(len(IDS)), speaks_first=speaks_first)
        powers = [Blinding() for _ in range(2 * len(IDS))]
        claimed = np.concatenate([power.hide(IDS[:1], b"salt") for power in powers])
        ours = _swap_points(link, Blinded, claimed, 2 * len(IDS), speaks_first, 1)
        known = ours[ours == hidden[0][0]]
        answers = np.concatenate([power.hide_again(known) for power in powers])
        _swap_points(link, Reblinded, answers, 2 * len(IDS), speaks_first, 1)

    assert "did not blind all our ids alike" in against(cheat, we_speak_first)


def test_that_peer_would_share_all_records_if_ids_did_not_travel_twice():
    ours, powers = Blinding(), [Blinding() for _ in IDS]
    claimed = np.concatenate([power.hide(IDS[:1], b"salt") for power in powers])
    answers = np.concatenate([power.hide_again(ours.hide(IDS[:1], b"salt")) for power in powers])
    assert set(ours.hide_again(claimed).tolist()) == set(answers.tolist())


def test_what_we_are_bound_to_does_not_tell_which_point_belongs_to_an_id_the_peer_knows(hidden):
    """All points of the peer are powers of one id it knows; it tries each of ours as the one that gives our answers."""
    found = []

    def cheat(link, speaks_first):
        link.swap(SetSize(len(IDS)), speaks_first=speaks_first)
        powers = [Blinding() for _ in range(2 * len(IDS))]
        claimed = np.concatenate([power.hide(IDS[:1], b"salt") for power in powers])
        ours = _swap_points(link, Blinded, claimed, 2 * len(IDS), speaks_first, 1)
        said = link.transcript.digest(we_first=speaks_first)
        bound = link.receive(Commitment).digest
        for place in range(len(ours)):
            answers = np.concatenate([power.hide_again(ours[place : place + 1]) for power in powers])
            tries = (alignment._binding(said, nonce, answers, by_first=True) for nonce in (b"", bytes(32)))
            found.extend(place for tried_binding in tries if tried_binding == bound)
        tried.append(answers)

    tried = []
    assert "closed" in against(lambda link, first: (cheat(link, first), link.close()), True)
    assert len(tried) == 1
    assert not found


def test_a_peer_that_uses_the_places_of_doubles_for_guesses_is_refused_once_too_many_are_right():
    def cheat(link, speaks_first):
        link.swap(SetSize(len(IDS) // 2 + 5), speaks_first=speaks_first)
        blinding = Blinding()
        guesses = blinding.hide([*IDS, *(b"wrong %d" % at for at in range(10))], b"salt")
        ours = _swap_points(link, Blinded, guesses, 2 * len(IDS), speaks_first, 1)
        _swap_points(link, Reblinded, blinding.hide_again(ours), len(guesses), speaks_first, 1)

    assert against(cheat, True) == "cheat shares more ids than the 25 it said it brings"


@BOTH_ORDERS
def test_a_point_sent_twice_is_refused(we_speak_first):
    def cheat(link, speaks_first):
        link.swap(SetSize(len(IDS)), speaks_first=speaks_first)
        points = np.repeat(Blinding().hide([b"one"], b"salt"), 2 * len(IDS))
        _swap_points(link, Blinded, points, 2 * len(IDS), speaks_first, 1)

    assert against(cheat, we_speak_first) == "cheat sent a blinded id twice"


@pytest.mark.parametrize("count", [0, -1, 1001, 2**62])
def test_a_set_of_any_size_is_not_taken(count):
    assert "wants to bring" in against(lambda link, first: link.swap(SetSize(count), speaks_first=first), True)


def test_no_more_points_are_taken_than_were_declared():
    """150 messages of a megabyte used to be kept, one after the other, while the peer never said it was the last."""
    sent = []

    def flood(link, speaks_first):
        link.swap(SetSize(len(IDS)), speaks_first=speaks_first)
        link.swap(Commitment(bytes(32)), speaks_first=speaks_first)
        for _ in range(150):
            link.send(Blinded(bytes(1 << 19)))
            sent.append(1)

    assert "bytes of blinded ids where 2,560 are due" in against(flood, True)
