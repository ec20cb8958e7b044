"""A peer that follows the protocol up to some message and then says something else, in every state there is.

What must come of it: a refusal in words of ours, or a run that ends as usual where the peer may say what it said (its
moments are its own to state). And we must have sent nothing that an honest run would not have sent up to there.

KAKURAN_FUZZ_RUNS=10000 runs it for longer.
"""

import dataclasses
import functools
import hashlib
import os
import random
import struct
import threading
import warnings

import numpy as np
import pyarrow as pa
import pytest

from kakuran.errors import KakuranError
from kakuran.vertical import Party, VerticalPlan, predict_together
from kakuran.vertical.messages import HEADER_SIZE, WIRE_VERSION, Message, _encode_value, decode
from kakuran.vertical.transport import linked_pair

RUNS = int(os.environ.get("KAKURAN_FUZZ_RUNS", "120"))
RECORDS = 36
"""Few: messages are as many and of the same shape, and blinding ids is what takes long."""
KINDS = Message.__subclasses__()


def framed(code, body):
    """A frame of any body, however long, under a valid digest."""
    content = struct.pack("<4sHHI", b"KKRN", WIRE_VERSION, code, len(body)) + body
    return content + hashlib.sha256(content).digest()


def flipped(frame, rng, _):
    """Some bytes of the body changed."""
    body = bytearray(frame[HEADER_SIZE:-32])
    for _ in range(rng.choice((1, 1, 8))):
        body[rng.randrange(len(body))] ^= rng.randrange(1, 256)
    return [framed(decode(frame).code, bytes(body))]


def another_value(value, rng):
    """A value of the same type that nobody expects."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((0, -1, value + 1, 2**62, -(2**63)))
    if isinstance(value, float):
        return rng.choice((0.0, -value, 1e308, float("inf"), float("nan")))
    if isinstance(value, str):
        return rng.choice(("", value + "x", "\0" * 100, "{}", "[" * 5000))
    if isinstance(value, bytes):
        random_bytes = rng.randbytes(len(value))
        return rng.choice((b"", value[:-1], value + b"\0", random_bytes, value[::-1], bytes(len(value))))
    odd = rng.choice((0.0, 1e300, -1.0, 7.0)) if value.dtype.kind == "f" else rng.choice((0, -1, 2**40))
    return rng.choice((np.full_like(value, odd), value[:0], value.ravel(), np.zeros((3, 3), value.dtype), -value))


def another_field(frame, rng, _):
    """One field with another value, encoded without looking at its limit."""
    message = decode(frame)
    names = [field.name for field in dataclasses.fields(message)]
    changed = rng.choice(names)
    values = {name: getattr(message, name) for name in names}
    values[changed] = another_value(values[changed], rng)
    return [framed(message.code, b"".join(_encode_value(value) for value in values.values()))]


def another_kind(frame, rng, _):
    return [framed(rng.choice(KINDS).code, frame[HEADER_SIZE:-32])]


def oversized(frame, rng, _):
    kind = type(decode(frame))
    return [framed(kind.code, bytes(min(kind.limit, 1 << 22) + 1))]


def truncated(frame, rng, _):
    return [frame[: rng.randrange(len(frame))]]


def repeated(frame, rng, _):
    return [frame, frame]


def replayed(frame, rng, said):
    return [rng.choice(said["sent"] or [frame])]


def reflected(frame, rng, said):
    return [rng.choice(said["received"] or [frame])]


def closed(frame, rng, _):
    return [None]


CHANGES = (
    flipped, another_field, another_field, another_kind, oversized, truncated, repeated, replayed, reflected, closed,
)  # fmt: skip


def tampering(link, at, change, rng):
    """The peer's end of a line, on which the message of this number is changed."""
    write, read, said = link._write, link._read, {"sent": [], "received": []}

    def changed_write(frame):
        frames = change(frame, rng, said) if len(said["sent"]) == at else [frame]
        said["sent"].append(frame)
        for each in frames:
            link.close() if each is None else write(each)

    def noted_read(*arguments):
        said["received"].append(read(*arguments))
        return said["received"][-1]

    link._write, link._read = changed_write, noted_read


@functools.cache
def tables():
    rng = np.random.default_rng(1)
    ids, values = np.arange(RECORDS), rng.normal(size=(RECORDS, 3))
    return {
        "alice": pa.table({"id": ids, "a": values[:, 0]}),
        "bob": pa.table({"id": ids, "b": values[:, 1], "y": values.sum(axis=1)}),
    }


@functools.cache
def plan(protocol):
    return VerticalPlan.of({"alice": ["a"], "bob": ["b"]}, target="y", holder="bob", protocol=protocol, search="none")


def fitting(protocol):
    return lambda name, links: Party(name, plan(protocol), tables()[name]).fit(links)


@functools.cache
def fits():
    return {name: outcome for name, (outcome, _) in talk(fitting("gram")).items()}


def predicting(name, links):
    return predict_together(links, plan("gram"), fits()[name], tables()[name], receiver="bob")


TALKS = {"gram": fitting("gram"), "residual": fitting("residual"), "predict": predicting}


def talk(side, cheat=None, tamper=None):
    """What becomes of each side, and the kinds of messages it sent; errors that are not ours are raised."""
    links = dict(zip(("alice", "bob"), linked_pair("alice", "bob", 2.0), strict=True))
    peers, ended = {"alice": "bob", "bob": "alice"}, {}
    if cheat is not None:
        tamper(links[cheat])

    def run(name):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome = side(name, {peers[name]: links[name]})
        except BaseException as error:
            outcome = error
            links[name].close()
        ended[name] = outcome, [entry.kind for entry in links[name].transcript.entries if entry.direction == "sent"]

    threads = [threading.Thread(target=run, args=(name,)) for name in links]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return ended


@functools.cache
def honest(which):
    ended = talk(TALKS[which])
    assert not any(isinstance(outcome, BaseException) for outcome, _ in ended.values()), ended
    return {name: sent for name, (_, sent) in ended.items()}


def in_turn(sent, allowed):
    """Whether these are the first messages of an honest run; rounds of S2's protocol may be more or fewer."""
    if "FittedPart" in sent:
        start, after = sent.index("FittedPart"), {"FittedPart", "Space", "Estimates", "InterceptPart"}
        return sent[:start] == allowed[:start] and after.issuperset(sent[start:])
    return sent == allowed[: len(sent)]


@pytest.mark.parametrize("which", TALKS)
@pytest.mark.parametrize("cheat", ["alice", "bob"])
def test_whatever_a_peer_says_we_refuse_it_or_end_as_usual_and_send_nothing_out_of_turn(which, cheat):
    victim, refused = "bob" if cheat == "alice" else "alice", 0
    fits()  # before threads ask for them
    for run in range(RUNS // (2 * len(TALKS))):
        rng = random.Random(f"{which} {cheat} {run}")
        at, change = rng.randrange(len(honest(which)[cheat])), rng.choice(CHANGES)
        case = f"{which}: {cheat}, message {at} ({honest(which)[cheat][at]}), {change.__name__}, run {run}"
        ended = talk(TALKS[which], cheat, lambda link, at=at, change=change, rng=rng: tampering(link, at, change, rng))
        assert victim in ended, f"still running: {case}"
        outcome, sent = ended[victim]
        if isinstance(outcome, BaseException):
            assert isinstance(outcome, KakuranError), f"{case}: {outcome!r}"
            assert str(outcome), case
            refused += 1
        allowed = honest(which)[victim]
        while sent and sent[-1] == "Refusal":
            sent.pop()
        assert in_turn(sent, allowed), case
    assert refused > 0
