"""Answers sent over the wire: kept once, refused with a reason."""

import dataclasses
import json

import httpx
import pytest

from kakuran.collect.databases import open_store
from kakuran.collect.limits import RequestLimits
from kakuran.collect.messages import secret_hash

from .sheets import batch, problem, sheet


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


def test_a_batch_says_how_many_were_new(site, survey):
    sent = batch(survey, 10)
    assert site.post("/api/responses/batch", json=sent).json() == {"accepted": 10, "replayed": 0}
    assert site.post("/api/responses/batch", json=sent).json() == {"accepted": 0, "replayed": 10}


@pytest.mark.parametrize(
    ("changes", "status", "name"),
    [
        ({"version": "0" * 32}, 409, "wrong-version"),
        ({"version": None}, 409, "wrong-version"),
        ({"id": "not a uuid"}, 422, "invalid"),
        ({"id": 7}, 422, "invalid"),
        ({"id": "00000000-0000-1000-8000-000000000000"}, 422, "invalid"),
        ({"answers": {"job": "nurse"}}, 422, "invalid"),
        ({"answers": {"job": "nurse", "age": 41, "name": "Alice"}}, 422, "invalid"),
        ({"answers": {"job": "nurse", "name": "Alice"}}, 422, "invalid"),
        ({"answers": {"job": "pirate", "age": 41}}, 422, "invalid"),
        ({"answers": {"job": ["nurse"], "age": 41}}, 422, "invalid"),
        ({"answers": {"job": None, "age": 41}}, 422, "invalid"),
        ({"answers": {"job": "nurse", "age": -1}}, 422, "invalid"),
        ({"answers": {"job": "nurse", "age": 121}}, 422, "invalid"),
        ({"answers": {"job": "nurse", "age": 41.5}}, 422, "invalid"),
        ({"answers": {"job": "nurse", "age": "41"}}, 422, "invalid"),
        ({"answers": {"job": "nurse", "age": True}}, 422, "invalid"),
        ({"answers": {"job": "nurse", "age": 10**400}}, 422, "invalid"),
        ({"answers": ["nurse", 41]}, 422, "invalid"),
        ({"colour": "red"}, 422, "invalid"),
        ({"invitation": "friend"}, 422, "invalid"),
    ],
)
def test_what_is_not_an_answer_to_this_survey_is_refused(form_site, survey, changes, status, name):
    refused = form_site.post("/api/responses", json=sheet(survey, **changes))
    assert (refused.status_code, problem(refused)) == (status, name)


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": []},
        {"ids": "abcd"},
        {"ids": [sheet.__name__] * 4},
        {"answers": {"job": ["nurse"] * 4, "age": [1, 2, 3]}},
        {"answers": {"job": ["nurse"] * 4, "age": 7}},
        {"answers": {"job": ["nurse"] * 4}},
        {"answers": {"job": ["nurse"] * 3 + ["pirate"], "age": [1, 2, 3, 4]}},
        {"answers": {"job": ["nurse"] * 4, "age": [1, 2, 3, float(10**300)]}},
        {"answers": {"job": ["nurse"] * 4, "age": [1, 2, 3, {}]}},
        {"answers": {"job": [[]] * 4, "age": [1, 2, 3, 4]}},
    ],
)
def test_a_batch_with_one_wrong_answer_is_refused_whole(form_site, survey, owner, changes):
    refused = form_site.post("/api/responses/batch", json=batch(survey, 4, **changes))
    assert (refused.status_code, problem(refused)) == (422, "invalid")
    assert form_site.get("/api/admin/summary", headers=owner).json()["n"] == 0


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b"[" * 60_000, b'{"id": NaN}', b"1" * 5_000, b"null"]
)
def test_what_is_not_json_is_malformed(form_site, body):
    refused = form_site.post("/api/responses", content=body, headers={"content-type": "application/json"})
    assert (refused.status_code, problem(refused)) == (400, "malformed")


def test_only_json_is_taken(form_site, survey):
    body = json.dumps(sheet(survey))
    for kind in ({"content-type": "text/plain"}, {}):
        refused = form_site.post("/api/responses", content=body, headers=kind)
        assert (refused.status_code, problem(refused)) == (415, "wrong-media-type")


def test_numbers_beyond_the_domain_are_taken_where_the_mechanism_can_release_them(serve, survey, tmp_path):
    job, age = survey.questions
    survey = dataclasses.replace(survey, questions=(job, dataclasses.replace(age, mechanism="laplace")))
    reach = survey.plan.reach("age")
    assert reach
    with serve(survey, tmp_path / "answers.db") as base, httpx.Client(base_url=base, verify=False) as site:
        for number, status in ((-reach, 201), (120 + reach, 201), (-reach - 1, 422), (121 + reach, 422)):
            sent = sheet(survey, answers={"job": "nurse", "age": number})
            assert site.post("/api/responses", json=sent).status_code == status


def test_a_closed_survey_takes_no_answers_and_says_so(site, survey, owner):
    sent = sheet(survey)
    site.post("/api/responses", json=sent)
    assert site.post("/api/admin/close", headers=owner).json() == {"state": "closed"}
    refused = site.post("/api/responses", json=sheet(survey))
    assert (refused.status_code, problem(refused)) == (410, "closed")
    assert site.post("/api/responses", json=sent).status_code == 200
    assert site.get("/api/survey").json()["state"] == site.get("/api/status").json()["state"] == "closed"
    site.post("/api/admin/reopen", headers=owner)
    assert site.post("/api/responses", json=sheet(survey)).status_code == 201


def test_an_invited_survey_takes_one_answer_sheet_an_invitation(serve, survey, address):
    survey = dataclasses.replace(survey, invitations=True)
    store = open_store(address, survey)
    store.invite([secret_hash("come in")])
    store.close()
    with serve(survey, address) as base, httpx.Client(base_url=base, verify=False) as site:
        uninvited = site.post("/api/responses", json=sheet(survey))
        assert (uninvited.status_code, problem(uninvited)) == (403, "bad-invitation")
        sent = sheet(survey, invitation="come in")
        assert [site.post("/api/responses", json=sent).status_code for _ in range(2)] == [201, 200]
        again = site.post("/api/responses", json=sheet(survey, invitation="come in"))
        assert (again.status_code, problem(again)) == (403, "bad-invitation")
        assert problem(site.post("/api/responses/batch", json=batch(survey, 2))) == "bad-invitation"


def test_an_address_that_sends_too_much_is_told_how_long_to_wait(serve, survey, tmp_path):
    limits = RequestLimits(rate=0.5, burst=4)
    with (
        serve(survey, tmp_path / "answers.db", limits=limits) as base,
        httpx.Client(base_url=base, verify=False) as site,
    ):
        assert [site.post("/api/responses", json=sheet(survey)).status_code for _ in range(4)] == [201] * 4
        refused = site.post("/api/responses", json=sheet(survey))
        assert (refused.status_code, problem(refused)) == (429, "too-many-requests")
        assert 1 <= int(refused.headers["retry-after"]) <= 2
        assert site.post("/api/responses/batch", json=batch(survey, 10)).status_code == 429
        assert site.get("/api/survey").status_code == 200


def test_batches_that_are_refused_cost_their_sender_too(serve, survey, tmp_path):
    limits = RequestLimits(rate=0.001, burst=4)
    with (
        serve(survey, tmp_path / "answers.db", limits=limits) as base,
        httpx.Client(base_url=base, verify=False) as site,
    ):
        wrong = batch(survey, 2) | {"version": "another"}
        tries = [problem(site.post("/api/responses/batch", json=wrong)) for _ in range(5)]
        assert tries == ["wrong-version"] * 4 + ["too-many-requests"]


@pytest.mark.parametrize("records", [1, 4, 5, 100])
def test_a_batch_of_any_size_is_taken_from_who_has_sent_nothing_before(serve, survey, tmp_path, records):
    limits = RequestLimits(rate=0.001, burst=4)
    with (
        serve(survey, tmp_path / "answers.db", limits=limits) as base,
        httpx.Client(base_url=base, verify=False) as site,
    ):
        taken = site.post("/api/responses/batch", json=batch(survey, records))
        assert taken.json() == {"accepted": records, "replayed": 0}


def test_a_server_with_more_waiting_than_it_can_store_says_so(serve, survey, tmp_path):
    limits = RequestLimits(rate=float("inf"), waiting=5)
    with (
        serve(survey, tmp_path / "answers.db", limits=limits) as base,
        httpx.Client(base_url=base, verify=False) as site,
    ):
        refused = site.post("/api/responses/batch", json=batch(survey, 6))
        assert (refused.status_code, problem(refused)) == (429, "busy")
        assert int(refused.headers["retry-after"]) > 0
        assert site.post("/api/responses/batch", json=batch(survey, 4)).status_code == 200


def test_how_many_answered_is_not_told_before_there_are_enough(site, survey):
    site.post("/api/responses/batch", json=batch(survey, survey.minimum_n - 2))
    assert site.get("/api/status").json() == {"state": "open", "n": None}
