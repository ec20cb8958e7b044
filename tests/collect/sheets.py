"""Answer sheets for the survey of these tests."""

import uuid

from kakuran.collect.messages import Submission, id_bytes


def sheet(survey, **changes):
    """One as it is sent."""
    answers = {"job": "nurse", "age": 41}
    return {"id": str(uuid.uuid4()), "version": survey.version, "answers": answers} | changes


def batch(survey, count, **changes):
    """Several as they are sent."""
    answers = {"job": (["clerk", "nurse"] * count)[:count], "age": [age % 121 for age in range(count)]}
    ids = [str(uuid.uuid4()) for _ in range(count)]
    return {"ids": ids, "version": survey.version, "answers": answers} | changes


def submission(count=1, *, row=b"\x01\x29", ids=None, invitation=None):
    """Some as they are stored."""
    keys = ids or [id_bytes(str(uuid.uuid4())) for _ in range(count)]
    return Submission(keys, [row] * len(keys), invitation)


def problem(response):
    """The name of the problem a response tells of."""
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told["status"] == response.status_code
    assert set(told) == {"type", "title", "status", "detail"}
    return told["type"].removeprefix("/problems/")
