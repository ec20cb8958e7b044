"""What strangers may try: nothing breaks, nothing is let in, nothing personal is written down."""

import logging
import re
import socket
import time
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

import kakuran.collect
from kakuran.collect.databases import open_store
from kakuran.collect.limits import RateLimiter, RequestLimits
from kakuran.collect.messages import Problem
from kakuran.collect.openapi import document
from kakuran.collect.server import create_app
from kakuran.collect.survey import Survey

from .conftest import TOKEN, make_survey
from .sheets import batch, problem, sheet

CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
ADMIN = [
    ("GET", "/api/admin/summary"),
    ("GET", "/api/admin/crosstab?rows=job&columns=age"),
    ("GET", "/api/admin/tree?target=job"),
    ("GET", "/api/admin/export?format=parquet"),
    ("POST", "/api/admin/close"),
    ("POST", "/api/admin/reopen"),
]


OPERATIONS = [(path, method) for path, methods in document(make_survey())["paths"].items() for method in methods]


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_nothing_that_fits_or_misses_the_description_breaks_the_server(empty_site, path, method, mode):
    import schemathesis  # takes long, and every worker would wait for it

    operation = schemathesis.openapi.from_dict(document(make_survey()))[path][method]
    checks = [getattr(schemathesis.checks, name) for name in CHECKS]

    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def send(case):
        response = case.call(base_url=empty_site, headers={"authorization": f"Bearer {TOKEN}"})
        assert response.status_code < 500
        case.validate_response(response, checks=checks)

    try:
        send()
    except Unsatisfiable:
        assert mode == "negative", "nothing fits the description"


@pytest.mark.parametrize(("method", "path"), ADMIN)
@pytest.mark.parametrize("shown", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}"])
def test_no_admin_route_opens_without_the_token(form_site, method, path, shown):
    refused = form_site.request(method, path, headers={} if shown is None else {"authorization": shown})
    assert (refused.status_code, problem(refused)) == (401, "unauthorised")
    assert refused.headers["www-authenticate"] == "Bearer"


def test_every_admin_route_is_among_those_tried(tmp_path):
    survey = make_survey()
    with closing(open_store(tmp_path / "answers.db", survey)) as store:
        routes = create_app(survey, store, TOKEN).routes
    guarded = {route.path for route in routes if route.path.startswith("/api/admin")}
    assert guarded == {path.partition("?")[0] for _, path in ADMIN}


def test_tokens_are_compared_in_constant_time():
    source = (Path(kakuran.collect.__file__).parent / "server.py").read_text(encoding="utf-8")
    assert "hmac.compare_digest(secret_hash(shown" in source
    assert not re.search(r"token\s*[!=]=", source)


@pytest.mark.parametrize("path", ["/api/responses", "/api/responses/batch"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(form_site, path, chunked):
    size = 9 * 1024 * 1024

    def parts():
        for _ in range(size // 65_536):
            yield b" " * 65_536

    try:
        refused = form_site.post(
            path, content=parts() if chunked else bytes(size), headers={"content-type": "application/json"}
        )
    except (httpx.WriteError, httpx.RemoteProtocolError, httpx.ReadError):  # hung up on, having been told
        return
    assert (refused.status_code, problem(refused)) == (413, "too-large")


def hangs_up_within(connection, seconds):
    connection.settimeout(seconds)
    start = time.monotonic()
    received = b""
    while chunk := connection.recv(4096):
        received += chunk
    assert time.monotonic() - start < seconds
    return received


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"POST /api/responses HTTP/1.1\r\nhost: x\r\nx-slow: ", b""),
        (
            b"POST /api/responses HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{",
            b"HTTP/1.1 408",
        ),
    ],
    ids=["silent", "slow head", "slow body"],
)
def test_slow_clients_are_hung_up_on(serve, survey, tmp_path, sent, answer):
    with serve(survey, tmp_path / "answers.db", limits=RequestLimits(seconds=0.3)) as base:
        url = httpx.URL(base)
        with socket.create_connection((url.host, url.port)) as connection:
            connection.sendall(sent)
            assert hangs_up_within(connection, 10).startswith(answer)
        assert httpx.get(f"{base}/healthz", verify=False).status_code == 200


def test_a_slow_second_request_on_a_fast_connection_is_hung_up_on(serve, survey, tmp_path):
    with serve(survey, tmp_path / "answers.db", limits=RequestLimits(seconds=0.3)) as base:
        url = httpx.URL(base)
        with socket.create_connection((url.host, url.port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /healthz HTTP/1.1\r\nhost")
            assert hangs_up_within(connection, 10).count(b"HTTP/1.1 200") == 1


def test_nothing_sent_comes_back_in_a_header_or_a_problem(form_site, survey):
    marker = "xyzzy\r\nset-cookie: evil=1"
    tries = [
        form_site.get("/static/%0d%0aset-cookie:%20xyzzy"),
        form_site.get("/problems/<script>xyzzy"),
        form_site.get("/api/admin/tree", params={"target": marker}, headers={"authorization": f"Bearer {TOKEN}"}),
        form_site.post("/api/responses", json=sheet(survey, answers={"job": marker, "age": 1, "xyzzy": 2})),
        form_site.post("/api/responses", json=sheet(survey, id=marker)),
        form_site.post("/api/responses", json=sheet(survey, version=marker)),
        form_site.post("/api/responses", json=sheet(survey, xyzzy=marker)),
    ]
    for response in tries:
        assert 400 <= response.status_code < 500
        assert "xyzzy" not in response.text
        assert "set-cookie" not in response.headers


def test_every_answer_carries_the_policy(form_site, survey):
    for response in (
        form_site.get("/"),
        form_site.get("/api/survey"),
        form_site.get("/nowhere"),
        form_site.post("/api/responses", json=sheet(survey, id=1)),
    ):
        assert response.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "server" not in response.headers


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/api/responses"), ("PUT", "/api/responses/batch"), ("POST", "/")]
)
def test_what_a_route_does_not_do_is_refused_with_what_it_does(form_site, method, path):
    refused = form_site.request(method, path)
    assert (refused.status_code, problem(refused)) == (405, "method-not-allowed")
    assert set(refused.headers["allow"].split(", ")) == ({"POST"} if "api" in path else {"GET", "HEAD"})


NASTY = "'; DROP TABLE records; --<script>alert(1)</script>\"&"


def test_sql_and_scripts_in_texts_and_values_are_just_texts(serve, address, owner):
    survey = Survey.from_dict(
        {
            "id": "nasty",
            "languages": ["en"],
            "title": {"en": NASTY},
            "epsilon": 1.0,
            "minimum_n": 2,
            "questions": {NASTY: {"type": "categorical", "values": [NASTY, "plain"], "text": {"en": NASTY}}},
        }
    )
    with serve(survey, address) as base, httpx.Client(base_url=base, verify=False) as client:
        for value in (NASTY, "plain", NASTY):
            sent = sheet(survey, answers={NASTY: value})
            assert client.post("/api/responses", json=sent).status_code == 201
        assert client.get("/api/survey").json()["title"] == {"en": NASTY}
        assert client.get("/api/admin/summary", headers=owner).json()["n"] == 3
        assert "alert(1)" not in client.get("/").text


def test_nothing_personal_is_logged(serve, survey, tmp_path, caplog, capfd, monkeypatch):
    caplog.set_level(logging.DEBUG)
    sheets = [sheet(survey, answers={"job": "smith", "age": 97}) for _ in range(5)]
    wrong = sheet(survey, answers={"job": "smithereens", "age": 97})
    with serve(survey, tmp_path / "answers.db", limits=RequestLimits(rate=1, burst=4)) as base:
        headers = {"user-agent": "Secret Browser 7", "x-forwarded-for": "203.0.113.77"}
        with httpx.Client(base_url=base, verify=False, headers=headers) as client:
            for sent in (*sheets, wrong):
                client.post("/api/responses", json=sent)
            client.post("/api/responses/batch", json=batch(survey, 4))
            client.get("/api/admin/summary", headers={"authorization": "Bearer some-guessed-token"})
            monkeypatch.setattr("kakuran.collect.messages.Form.read_one", _fail)
            assert client.post("/api/responses", json=wrong).status_code in (429, 500)
            time.sleep(1.1)
            assert problem(client.post("/api/responses", json=wrong)) == "internal"
    # The test's own HTTP client logs what it sends.
    logged = "\n".join(
        f"{record.name} {record.getMessage()} {record.exc_text}"
        for record in caplog.records
        if not record.name.startswith(("httpx", "httpcore"))
    )
    written = logged + "".join(capfd.readouterr())
    assert "RuntimeError" in logged
    personal = [*(sent["id"] for sent in sheets), "smith", "97", "127.0.0.1", "203.0.113.77", "Secret", "guessed"]
    assert not [word for word in personal if word in written.replace(__file__, "")]


def _fail(_, body):
    raise RuntimeError(body.decode())


def test_an_address_is_limited_whatever_its_last_bits_and_never_for_ever(monkeypatch):
    clock = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "time", lambda: -1e9)
    limiter = RateLimiter(rate=2, burst=3)
    for last in range(3):
        limiter.take(f"2001:db8::{last}", 1)
    with pytest.raises(Problem) as refused:
        limiter.take("2001:db8::ffff", 1)
    assert refused.value.retry_after == 1
    limiter.take("2001:db8:0:1::", 3)
    limiter.take("192.0.2.1", 1)
    clock[0] += refused.value.retry_after
    limiter.take("2001:db8::ffff", 2)


def test_large_batches_do_not_get_past_the_rate(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    limiter = RateLimiter(rate=50, burst=1_000)
    taken = 0
    for second in range(3_600):
        clock[0] = float(second)
        with suppress(Problem):
            limiter.take("192.0.2.1", 20_000)
            taken += 20_000
    assert taken <= 50 * 3_600 + 20_000


def test_an_address_in_debt_is_not_forgotten_for_others(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr("kakuran.collect.limits._MOST_ADDRESSES", 2)
    limiter = RateLimiter(rate=1, burst=10)
    limiter.take("192.0.2.1", 1_000)
    limiter.take("192.0.2.2", 1)
    clock[0] = 20.0
    limiter.take("192.0.2.3", 1)
    with pytest.raises(Problem, match="too many"):
        limiter.take("192.0.2.1", 1)


def test_a_large_batch_costs_its_sender_before_it_is_read(serve, survey, tmp_path):
    limits = RequestLimits(rate=0.001, burst=1_000)
    with (
        serve(survey, tmp_path / "answers.db", limits=limits) as base,
        httpx.Client(base_url=base, verify=False, timeout=30) as site,
    ):
        body = b"[" + b"0," * (4 * 1024 * 1024 - 2) + b"0]"
        headers = {"content-type": "application/json"}
        posted = [site.post("/api/responses/batch", content=body, headers=headers).status_code for _ in range(2)]
        assert posted == [400, 429]


def test_no_path_leads_to_where_a_request_says_it_was_sent(form_site):
    for path in ("/dashboard/", "/api/survey/", "/api/admin/summary/", "/static/page.js/"):
        response = form_site.get(path, headers={"host": "evil.example"})
        assert response.status_code == 404
        assert "evil.example" not in str(response.headers)


def test_strangers_over_ipv4_do_not_share_a_limit_where_one_socket_takes_both_kinds():
    limiter = RateLimiter(rate=0.001, burst=1)
    limiter.take("::ffff:192.0.2.1", 1)
    limiter.take("::ffff:192.0.2.2", 1)
    with pytest.raises(Problem, match="too many"):
        limiter.take("192.0.2.1", 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "::"])
def test_a_proxy_is_believed_only_when_told_to(survey, tmp_path, host, request):
    from kakuran.collect.serving import Serving, running

    if host == "::":
        request.getfixturevalue("both_kinds_of_ip")

    def statuses(proxies):
        limits = RequestLimits(rate=0.001, burst=1)
        store = open_store(tmp_path / f"{len(proxies)}.db", survey)
        serving = Serving(host, port=0, proxies=proxies)
        with running(create_app(survey, store, TOKEN, limits=limits), serving) as address:
            base = f"http://127.0.0.1:{address.rpartition(':')[2]}"
            return [
                httpx.post(
                    f"{base}/api/responses", json=sheet(survey), headers={"x-forwarded-for": client}, verify=False
                ).status_code
                for client in ("192.0.2.1", "192.0.2.2")
            ]

    assert statuses(()) == [201, 429]
    assert statuses(("127.0.0.1",)) == [201, 201]
