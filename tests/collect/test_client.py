"""The Python client perturbs before it sends, and sends the same thing until it is stored."""

import dataclasses
import http.client
import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path

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


def answering(monkeypatch, *replies):
    """A server that gives these replies, the last of them for ever; what it was sent."""
    received, left = [], list(replies)

    def request(_, path, body):
        received.append(json.loads(body))
        return left.pop(0) if len(left) > 1 else left[0]

    monkeypatch.setattr(SurveyClient, "_request", request)
    return received


def test_after_a_failure_the_same_draw_is_sent_again_and_the_error_says_so(survey, monkeypatch):
    received = answering(monkeypatch, *[(500, {}, b"")] * 19, (201, {}, b"{}"))
    client = SurveyClient("http://survey.example", survey)
    for _ in range(19):
        with pytest.raises(CollectError, match=r"may have arrived.*another ε"):
            client.submit({"job": "nurse", "age": 41})
    sheet = client.submit({"age": 41, "job": "nurse"})
    assert [sheet] * 20 == [one["id"] for one in received]  # 20 draws of ages would differ: all alike below 1e-9
    assert len({one["answers"]["age"] for one in received}) == 1
    assert client.submit({"job": "nurse", "age": 41}) != sheet  # somebody else, once that one is stored


def test_a_table_that_was_sent_in_part_goes_on_where_it_stopped(survey, monkeypatch):
    def took(count):
        return 200, {}, json.dumps({"accepted": count, "replayed": 0}).encode()

    received = answering(monkeypatch, took(10_000), (500, {}, b""), took(2_000))
    client = SurveyClient("http://survey.example", survey)
    table = pa.table({"job": ["clerk", "nurse"] * 6_000, "age": [30, 40] * 6_000})
    with pytest.raises(CollectError, match="may have arrived"):
        client.submit_many(table)
    assert client.submit_many(table) == 12_000
    assert len(received) == 3
    assert received[1] == received[2]


@pytest.mark.parametrize(
    "counts",
    [None, [], "x", "9" * 5_000, True, float("inf"), -5, 4],
    ids=["none", "list", "text", "digits", "flag", "infinite", "negative", "more than there are"],
)
def test_counts_that_are_none_are_not_believed(survey, monkeypatch, counts):
    answering(monkeypatch, (200, {}, json.dumps({"accepted": counts, "replayed": 0}).encode()))
    with pytest.raises(CollectError, match="is not a collector"):
        SurveyClient("http://survey.example", survey).submit_many(pa.table({"job": ["nurse"] * 3, "age": [41] * 3}))


def test_a_wait_that_is_no_number_is_not_waited_for(survey, monkeypatch):
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    answering(monkeypatch, (429, {"retry-after": "²"}, b""), (201, {}, b"{}"))
    SurveyClient("http://survey.example", survey).submit({"job": "nurse", "age": 41})
    assert slept == [0.1]


def test_a_reply_without_end_is_not_read_to_its_end(survey, monkeypatch):
    class Endless:
        status, headers, asked = 200, http.client.HTTPMessage(), []

        def read(self, most=None):
            self.asked.append(most)
            return b" " * most

    monkeypatch.setattr(http.client.HTTPConnection, "request", lambda *_: None)
    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", lambda _: Endless())
    with pytest.raises(CollectError, match="is not a collector"):
        SurveyClient("http://survey.example", survey).submit({"job": "nurse", "age": 41})
    assert max(Endless.asked) <= 100_000


class Unwilling:
    """A server that takes answers only if told to: else it errs, or says nothing at all."""

    def __init__(self):
        self.received, self.mood, self.asked = [], "err", threading.Event()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                owner.received.append(self.rfile.read(int(self.headers["content-length"])))
                owner.asked.set()
                if owner.mood == "hang":
                    self.rfile.read(1)  # until the client has gone
                    return
                self.send_response(201 if owner.mood == "take" else 500)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def submit_in_a_process(self):
        """Somebody's answers, submitted by a process of its own."""
        self.asked.clear()
        process = subprocess.Popen([sys.executable, "-c", SUBMIT, self.address], stderr=subprocess.DEVNULL, cwd=ROOT)
        assert self.asked.wait(60)
        return process


ROOT = Path(__file__).parents[2]
SUBMIT = """
import sys
from kakuran.collect import SurveyClient
from tests.collect.conftest import make_survey
SurveyClient(sys.argv[1], make_survey()).submit({"job": "nurse", "age": 41})
"""


@pytest.fixture
def unwilling(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = Unwilling()
    with made.server:
        thread = threading.Thread(target=made.server.serve_forever)
        thread.start()
        yield made
        made.server.shutdown()
        thread.join()


def test_a_new_process_sends_what_an_earlier_one_drew_and_draws_only_for_somebody_else(unwilling, tmp_path):
    for mood in ("err", "err", "hang", "take"):
        unwilling.mood = mood
        process = unwilling.submit_in_a_process()
        if mood == "hang":
            process.kill()
        assert (process.wait() == 0) == (mood == "take")
        (left,) = (tmp_path / "kakuran" / "unsent").glob("*.draws")
        assert not Path(f"{left}-journal").exists() or not Path(f"{left}-journal").read_bytes()
        assert left.stat().st_mode & 0o777 == 0o600
        assert (json.loads(unwilling.received[0])["id"].encode() in left.read_bytes()) == (mood != "take")
        assert b"nurse" not in left.read_bytes().replace(unwilling.received[0], b"")
    assert len(set(unwilling.received)) == 1
    assert unwilling.submit_in_a_process().wait() == 0
    assert len({json.loads(body)["id"] for body in unwilling.received}) == 2


def test_the_same_answers_that_two_processes_send_at_once_are_two_peoples(unwilling):
    unwilling.mood = "hang"
    first, second = (unwilling.submit_in_a_process() for _ in range(2))
    first.kill(), first.wait(), second.kill(), second.wait()
    assert len({json.loads(body)["id"] for body in unwilling.received}) == 2
    unwilling.mood = "take"
    assert [unwilling.submit_in_a_process().wait() for _ in range(2)] == [0, 0]
    assert len(set(unwilling.received)) == 2


def test_another_client_of_the_same_process_goes_on_with_a_table(survey, monkeypatch):
    def took(count):
        return 200, {}, json.dumps({"accepted": count, "replayed": 0}).encode()

    received = answering(monkeypatch, took(10_000), (500, {}, b""), took(2_000))
    table = pa.table({"job": ["clerk", "nurse"] * 6_000, "age": [30, 40] * 6_000})
    with pytest.raises(CollectError, match="may have arrived"):
        SurveyClient("http://survey.example", survey).submit_many(table)
    assert SurveyClient("http://survey.example", survey).submit_many(table) == 12_000
    assert (len(received), received[1]) == (3, received[2])


def test_without_a_place_for_draws_nothing_is_sent(survey, monkeypatch, tmp_path):
    (tmp_path / "kakuran").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    received = answering(monkeypatch, (201, {}, b"{}"))
    with pytest.raises(CollectError, match=r"draws cannot be kept there.*set XDG_STATE_HOME"):
        SurveyClient("http://survey.example", survey).submit({"job": "nurse", "age": 41})
    assert not received
