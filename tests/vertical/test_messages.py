"""Frames carry messages whole or not at all."""

import dataclasses
import hashlib
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from kakuran.errors import ProtocolError
from kakuran.vertical import messages
from kakuran.vertical.messages import (
    HEADER_SIZE,
    WIRE_VERSION,
    Blinded,
    FittedPart,
    Hello,
    InterceptPart,
    Message,
    Offer,
    decode,
    encode,
    read_header,
)

KINDS = Message.__subclasses__()
VALUES = {
    "str": st.text(max_size=20),
    "bytes": st.binary(max_size=64),
    "bool": st.booleans(),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(-1e99, 1e99),
    "NDArray[np.float64]": arrays(np.float64, (3, 2), elements=st.floats(-1e99, 1e99)),
    "NDArray[np.int64]": arrays(np.int64, 5),
}


@given(st.data(), st.sampled_from(KINDS))
def test_every_message_comes_back_as_it_was_sent(data, kind):
    sent = kind(**{field.name: data.draw(VALUES[field.type]) for field in dataclasses.fields(kind)})
    frame = encode(sent)
    assert read_header(frame[:HEADER_SIZE]) == (kind, len(frame) - HEADER_SIZE)
    received = decode(frame)
    assert type(received) is kind
    for field in dataclasses.fields(kind):
        np.testing.assert_array_equal(getattr(received, field.name), getattr(sent, field.name))


@given(st.data())
def test_a_frame_with_any_byte_changed_is_refused(data):
    frame = bytearray(encode(Blinded(bytes(64))))
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ProtocolError):
        decode(bytes(frame))


@given(st.binary(max_size=200))
def test_bytes_that_are_no_frame_are_refused(noise):
    with pytest.raises(ProtocolError):
        decode(noise)


def resealed(frame, change):
    """A frame whose content was changed by somebody who then computed the digest anew."""
    content = change(frame[:-32])
    return content + hashlib.sha256(content).digest()


@given(st.binary(max_size=80), st.sampled_from(KINDS))
def test_a_body_of_noise_is_refused_even_under_a_valid_digest(body, kind):
    frame = resealed(bytes(32), lambda _: struct.pack("<4sHHI", b"KKRN", WIRE_VERSION, kind.code, len(body)) + body)
    try:
        message = decode(frame)
    except ProtocolError:
        return
    assert encode(message)[HEADER_SIZE:-32] == body


def test_codes_are_unique():
    assert len({kind.code for kind in KINDS}) == len(KINDS)


def test_a_message_over_its_limit_is_neither_sent_nor_awaited():
    with pytest.raises(ProtocolError, match="over its limit"):
        encode(Blinded(bytes(messages.MIB + 1)))
    with pytest.raises(ProtocolError, match="announced a Hello of 999,999 bytes"):
        read_header(struct.pack("<4sHHI", b"KKRN", WIRE_VERSION, Hello.code, 999_999))


def test_another_version_of_the_wire_format_is_refused_by_number():
    with pytest.raises(ProtocolError, match=r"version 7 .* same kakuran on both sides"):
        read_header(struct.pack("<4sHHI", b"KKRN", 7, 1, 0))


@pytest.mark.parametrize(
    "message",
    [
        FittedPart(np.array([1.0, np.nan]), settled=False),
        InterceptPart(np.nan, 0.0),
        InterceptPart(np.inf, 0.0),
        InterceptPart(1e200, 0.0),
    ],
)
def test_numbers_that_are_not_finite_are_refused(message):
    with pytest.raises(ProtocolError, match="not finite"):
        decode(encode(message))


def test_an_array_cannot_claim_more_numbers_than_it_brings():
    frame = encode(FittedPart(np.zeros(4), settled=False))
    huge = resealed(frame, lambda c: c[:HEADER_SIZE] + struct.pack("<BBQ", 0, 1, 2**62) + c[HEADER_SIZE + 10 :])
    with pytest.raises(ProtocolError, match="malformed FittedPart"):
        decode(huge)


def test_an_array_without_numbers_cannot_claim_an_endless_axis():
    body = struct.pack("<BBQQ?", 0, 2, 0, 2**63, False)
    header = struct.pack("<4sHHI", b"KKRN", WIRE_VERSION, FittedPart.code, len(body))
    with pytest.raises(ProtocolError, match="malformed FittedPart"):
        decode(header + body + hashlib.sha256(header + body).digest())


def test_an_offer_of_nothing_is_infinite():
    assert decode(encode(Offer("", np.inf))).variance == np.inf
