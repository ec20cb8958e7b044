"""Answers sent over the wire: kept once, refused with a reason."""

import uuid


def sheet(survey, **changes):
    answers = {"job": "nurse", "age": 41}
    return {"id": str(uuid.uuid4()), "version": survey.version, "answers": answers} | changes


def problem(response):
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told["status"] == response.status_code
    return told["type"].removeprefix("/problems/")


def test_an_answer_sheet_is_kept_once_however_often_it_is_sent(site, survey):
    sent = sheet(survey)
    first, again = site.post("/api/responses", json=sent), site.post("/api/responses", json=sent)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == {"id": sent["id"]}


def test_another_answer_under_the_same_id_is_refused(site, survey):
    sent = sheet(survey)
    site.post("/api/responses", json=sent)
    other = site.post("/api/responses", json=sent | {"answers": {"job": "clerk", "age": 41}})
    assert (other.status_code, problem(other)) == (409, "conflict")
