"""What one client may hold: no connection for ever, no memory without end, nobody else's place."""

import socket
import stat
import time
from contextlib import ExitStack, suppress

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from kakuran.collect.databases import back_up, open_store
from kakuran.collect.limits import Bodies, ConnectionPlaces, RequestLimits
from kakuran.collect.messages import Problem
from kakuran.collect.server import create_app
from kakuran.collect.serving import Serving, running
from kakuran.errors import CollectError
from kakuran.sockets import Proxies

from .conftest import TOKEN
from .sheets import problem, sheet

GET = b"GET /healthz HTTP/1.1\r\nhost: x\r\n"
SOON = RequestLimits(rate=float("inf"), seconds=0.3, answer_seconds=1.0)


def connect(base, *, source="127.0.0.1", **options):
    url = httpx.URL(base)
    return socket.create_connection((url.host, url.port), timeout=10, source_address=(source, 0), **options)


def get(base, path="/healthz", source="127.0.0.1"):
    with httpx.Client(transport=httpx.HTTPTransport(local_address=source, verify=False), timeout=30) as client:
        return client.get(base + path)


def trickle(connection, piece, seconds):
    """Send a piece every now and then until hung up on; whether that happened in time."""
    until = time.monotonic() + seconds
    connection.settimeout(0.1)
    while time.monotonic() < until:
        try:
            connection.sendall(piece)
            if not connection.recv(65_536):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize(
    ("sent", "then"),
    [
        (b"", b""),
        (GET + b"x-slow: ", b"a"),
        (GET + b"\r\n", b""),
        (GET + b"\r\n", b"\r\n"),
        (GET + b"content-length: 9\r\n\r\na", b""),
        (GET + b"content-length: 1000000\r\n\r\n", b"a"),
        (GET + b"transfer-encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
        (b"POST /api/responses HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 60000\r\n\r\n", b"a"),
        (b"POST /api/admin/close HTTP/1.1\r\nhost: x\r\ncontent-length: 60000\r\n\r\n", b"a"),
    ],
    ids=["silent", "head", "idle", "empty lines", "no body", "body", "chunks", "unread answers", "unread order"],
)
def test_no_connection_is_held_by_sending_little_or_nothing(serve, survey, tmp_path, sent, then):
    with serve(survey, tmp_path / "answers.db", limits=SOON) as base, connect(base) as connection:
        connection.sendall(sent)
        assert trickle(connection, then, seconds=10)


@pytest.fixture
def large():
    """Serve a large answer, with a patience of 0.3 s."""
    body = bytes(64 << 20)

    async def answer(_):
        return Response(body)

    with running(Starlette(routes=[Route("/", answer)]), Serving(port=0, limits=SOON)) as base:
        yield base, len(body)


@pytest.mark.parametrize("keeps_reading", [True, False])
def test_a_large_answer_is_waited_for_as_long_as_somebody_takes_it(large, keeps_reading):
    base, size = large
    with connect(base) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        received, start = len(connection.recv(1024)), time.monotonic()
        with suppress(ConnectionError):
            while chunk := connection.recv(1 << 20):
                received += len(chunk)
                time.sleep(0.04 if keeps_reading and received < size - (1 << 20) else 0)
                if not keeps_reading and time.monotonic() - start < 1:
                    time.sleep(2)
        assert time.monotonic() - start > 1  # several times the patience
        assert (received > size) == keeps_reading


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
def test_nobody_is_kept_out_by_the_stalled_connections_of_one_address(serve, survey, tmp_path, source):
    limits = RequestLimits(rate=float("inf"), seconds=60, connections=40, connections_each=20)
    with serve(survey, tmp_path / "answers.db", limits=limits) as base, ExitStack() as held:
        for _ in range(60):
            stalled = held.enter_context(connect(base))
            with suppress(OSError):
                stalled.sendall(GET + b"content-length: 9\r\n\r\na")
        time.sleep(1.1 if source == "127.0.0.1" else 0)  # who shares the address has to wait a moment
        assert [get(base, source=source).status_code for _ in range(30)] == [200] * 30


@pytest.fixture
def clock(monkeypatch):
    """What time it is."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_an_address_that_holds_all_it_may_loses_the_place_it_used_least(clock):
    places = ConnectionPlaces(most=100, each=3)
    for name in "abc":
        assert places.take(name, "192.0.2.1") is None
    clock[0] += 2
    places.renew("a")
    assert places.take("d", "192.0.2.1") == "b"
    assert places.take("other", "192.0.2.2") is None
    places.leave("a")
    places.leave("b")
    assert places.take("e", "192.0.2.1") is None


def test_an_address_that_keeps_coming_back_is_turned_away_for_a_moment(clock):
    places = ConnectionPlaces(most=100, each=3)
    for name in "abc":
        places.take(name, "192.0.2.1")
    assert [places.take(name, "192.0.2.1") for name in "defghi"] == list("defghi")
    clock[0] += 1
    assert [places.take(name, "192.0.2.1") for name in "defghi"] == list("abcghi")


@pytest.mark.usefixtures("clock")
def test_where_all_places_are_taken_who_has_most_of_them_gives_one_up():
    places = ConnectionPlaces(most=6, each=4)
    for place in range(4):
        places.take(f"many {place}", f"2001:db8::{place}")
    places.take("one", "192.0.2.1")
    places.take("two", "192.0.2.2")
    assert [places.take(f"new {place}", f"192.0.2.{3 + place}") for place in range(3)] == ["many 0", "many 1", "many 2"]


@pytest.mark.parametrize(
    "head",
    [GET + b"x: " + b"a" * 10**6, GET + b"x: y\r\n" * 10**5, b"GET /" + b"a" * 10**6 + b" HTTP/1.1\r\nhost: x"],
    ids=["one endless", "endlessly many", "an endless address"],
)
def test_a_head_without_end_is_not_read_to_its_end(serve, survey, tmp_path, head):
    with serve(survey, tmp_path / "answers.db") as base, connect(base) as connection:
        received = b""
        with suppress(ConnectionError):  # hung up on, having been told or not
            connection.sendall(head + b"\r\n\r\n")
            received = connection.recv(4096)
        assert received[:12] in (b"", b"HTTP/1.1 400")


def test_a_head_of_a_browser_with_many_cookies_is_read(serve, survey, tmp_path):
    with serve(survey, tmp_path / "answers.db") as base:
        assert httpx.get(f"{base}/healthz", verify=False, headers={"cookie": "a" * 16_000}).status_code == 200


def test_who_asks_on_and_on_without_waiting_for_answers_is_hung_up_on(serve, survey, tmp_path):
    with serve(survey, tmp_path / "answers.db") as base, connect(base) as connection:
        received = b""
        with suppress(ConnectionError):
            connection.sendall((GET + b"\r\n") * 5_000)
            while chunk := connection.recv(1 << 16):
                received += chunk
        assert received.count(b"HTTP/1.1 200") < 5_000


def test_batches_on_their_way_from_one_address_take_no_more_memory_than_they_may(serve, survey, tmp_path):
    limits = RequestLimits(rate=float("inf"), batch_bytes=1 << 20, bodies_bytes=4 << 20)
    head = b"POST /api/responses/batch HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    with serve(survey, tmp_path / "answers.db", limits=limits) as base, ExitStack() as held:
        for _ in range(4):
            stalled = held.enter_context(connect(base))
            stalled.sendall(head + b"content-length: 1048576\r\n\r\n" + b" " * 1_000_000)
        for length in (b"content-length: 1000", b"transfer-encoding: chunked"):
            refused = held.enter_context(connect(base))
            refused.sendall(head + length + b"\r\n\r\n")
            assert refused.recv(4096).startswith(b"HTTP/1.1 429")
        with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2", verify=False)) as other:
            assert other.post(f"{base}/api/responses", json=sheet(survey)).status_code == 201


def test_room_for_bodies_is_given_back():
    bodies = Bodies(each=10)
    for _ in range(3):
        with (
            bodies.room_for(10, "192.0.2.1"),
            pytest.raises(Problem, match="too much"),
            bodies.room_for(1, "192.0.2.1"),
        ):
            pass


@pytest.mark.parametrize(
    "made_up", ["made-up-{}", "{}", "192.0.2.{}.7", "192.0.2.7, what-{}", "{},", "203.0.113.{}, 127.0.0.1x"]
)
def test_no_made_up_address_behind_a_proxy_is_somebody_new(survey, tmp_path, made_up):
    limits = RequestLimits(rate=0.001, burst=1)
    app = create_app(survey, open_store(tmp_path / "answers.db", survey), TOKEN, limits=limits)
    with running(app, Serving(port=0, proxies=("127.0.0.1",), limits=limits)) as base:
        statuses = [
            httpx.post(
                f"{base}/api/responses", json=sheet(survey), headers={"x-forwarded-for": made_up.format(1000 + time_)}
            ).status_code
            for time_ in range(4)
        ]
    assert statuses == [201, 429, 429, 429]


@pytest.mark.parametrize(
    ("said", "client"),
    [
        (["198.51.100.9"], "198.51.100.9"),
        (["made-up, 198.51.100.9"], "198.51.100.9"),
        (["made-up", "198.51.100.9, 10.1.2.3"], "198.51.100.9"),
        (["198.51.100.9:4711"], "198.51.100.9"),
        (["[2001:db8::1]:4711"], "2001:db8::1"),
        (["2001:db8::1"], "2001:db8::1"),
        (["::ffff:198.51.100.9"], "198.51.100.9"),
        (["198.51.100.9, unknown"], "10.0.0.1"),
        (["10.9.9.9"], "10.0.0.1"),
        ([""], "10.0.0.1"),
        ([], "10.0.0.1"),
    ],
)
def test_a_proxy_speaks_for_the_last_address_that_is_none_of_ours(said, client):
    assert Proxies(["10.0.0.0/8"]).client_behind("10.0.0.1", [one.encode() for one in said]) == client


@pytest.mark.parametrize("name", ["*", "proxy.example", "10.0.0.300"])
def test_a_proxy_that_is_not_named_by_its_address_is_refused(survey, tmp_path, name):
    app = create_app(survey, open_store(tmp_path / "answers.db", survey), TOKEN)
    with pytest.raises(CollectError, match="a proxy is named by its address"):
        Serving(proxies=(name,)).server(app)


def test_nobody_else_on_the_machine_can_read_what_is_stored(serve, survey, tmp_path):
    with serve(survey, tmp_path / "answers.db") as base:
        assert httpx.post(f"{base}/api/responses", json=sheet(survey), verify=False).status_code == 201
        store = open_store(tmp_path / "answers.db", survey)
        back_up(store, tmp_path / "backup.db")
        store.close()
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert {"answers.db", "answers.db-wal", "answers.db-shm", "answers.db-serving", "backup.db"} <= files.keys()
    assert set(files.values()) == {0o600}


def test_a_refusal_for_lack_of_room_is_a_problem_like_any_other(serve, survey, tmp_path):
    limits = RequestLimits(rate=float("inf"), bodies_bytes=10)
    with serve(survey, tmp_path / "answers.db", limits=limits) as base:
        refused = httpx.post(f"{base}/api/responses", json=sheet(survey), verify=False)
    assert (refused.status_code, problem(refused), refused.headers["retry-after"]) == (429, "busy", "1")
