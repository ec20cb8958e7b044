"""The Python client perturbs before it sends, and sends the same thing until it is stored."""

import dataclasses
import http.server
import json
import threading

import pyarrow as pa
import pytest

from kakuran.collect import Question, Survey, SurveyClient
from kakuran.collect.databases import open_store
from kakuran.collect.limits import RequestLimits
from kakuran.errors import CollectError, DataError
from kakuran.schema import Categorical


def test_one_and_many_answers_arrive(serve, survey, address):
    table = pa.table({"job": ["clerk", "nurse"] * 6_000, "age": [30, 40] * 6_000})
    with serve(survey, address) as base, SurveyClient(base, survey) as client:
        client.submit({"job": "nurse", "age": 41})
        assert client.submit_many(table) == 12_000
    store = open_store(address, survey)
    assert store.count() == 12_001
    store.close()


@pytest.fixture
def flaky():
    """A server that hangs up, is busy, is ill, and then takes everything; and remembers what it was sent."""
    received = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(self.rfile.read(int(self.headers["content-length"])))
            if len(received) == 1:
                self.close_connection = True
                return
            status = {2: 429, 3: 503}.get(len(received), 201)
            self.send_response(status)
            self.send_header("retry-after", "0")
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


def test_what_is_sent_again_is_what_was_sent_first(flaky, survey):
    address, received = flaky
    with SurveyClient(address, survey) as client:
        sheet = client.submit({"job": "nurse", "age": 41})
    assert len(received) == 4
    assert len(set(received)) == 1
    assert json.loads(received[0])["id"] == sheet


def test_true_answers_are_not_what_is_sent(flaky, survey):
    address, received = flaky
    with SurveyClient(address, survey) as client:
        for _ in range(60):
            client.submit({"job": "nurse", "age": 41})
    ages = {json.loads(body)["answers"]["age"] for body in received}
    assert len(ages) > 20  # 60 draws of noise as wide as the domain; fewer than 21 different ones: below 1e-9


def test_what_cannot_be_answered_is_refused_before_anything_is_sent(flaky, survey):
    address, received = flaky
    with SurveyClient(address, survey) as client, pytest.raises(DataError, match="not among the 3"):
        client.submit({"job": "pirate", "age": 41})
    assert not received


def test_a_refusal_is_explained(serve, survey, tmp_path):
    other = dataclasses.replace(survey, title={"en": "Another"})
    refused = pytest.raises(CollectError, match=r"Another version of the survey: .* \(status 409\)")
    with serve(survey, tmp_path / "answers.db") as base, SurveyClient(base, other) as client, refused:
        client.submit({"job": "nurse", "age": 41})


def test_an_address_that_is_none_is_refused(survey):
    with pytest.raises(CollectError, match="starts with http"):
        SurveyClient("survey.example", survey)


@pytest.mark.parametrize("page", [b"<html>Welcome</html>", b"[]", b"{}"])
def test_a_server_that_is_no_collector_is_recognised(survey, monkeypatch, page):
    monkeypatch.setattr(SurveyClient, "_request", lambda *_: (200, {}, page))
    client = SurveyClient("http://elsewhere.example/path", survey)
    with pytest.raises(CollectError, match=r"at elsewhere\.example/path is not a collector"):
        client.submit_many(pa.table({"job": ["nurse"], "age": [41]}))


def test_many_answers_to_a_long_survey_go_in_batches_a_server_takes(monkeypatch):
    values = [letter * 40 for letter in "abc"]
    questions = [Question(Categorical(f"q{place}", values), {"en": "?"}) for place in range(60)]
    survey, sizes = Survey("long", ("en",), {"en": "Long"}, questions, epsilon=60 * 0.5), []

    def request(_, path, body):
        sizes.append(len(body))
        return 200, {}, json.dumps({"accepted": len(json.loads(body)["ids"]), "replayed": 0}).encode()

    monkeypatch.setattr(SurveyClient, "_request", request)
    table = pa.table({question.name: values * 1_200 for question in questions})
    assert SurveyClient("http://survey.example", survey).submit_many(table) == 3_600
    assert max(sizes) < RequestLimits().batch_bytes
