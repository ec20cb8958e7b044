import httpx
import pytest

from kakuran.collect.databases import open_store
from kakuran.collect.limits import RequestLimits
from kakuran.collect.server import create_app
from kakuran.collect.serving import Serving, running
from kakuran.collect.survey import Survey

from .databases import Postgres
from .processes import Server

TOKEN = "correct horse battery staple"


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL that only these tests use."""
    server = Postgres()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    """Where a store may be: each kind of database in turn."""
    if request.param == "sqlite":
        return str(tmp_path / "answers.db")
    return request.getfixturevalue("postgres").new_database()


def make_survey():
    """Two questions, of which one is a number."""
    return Survey.from_dict(
        {
            "id": "jobs",
            "languages": ["en"],
            "title": {"en": "Jobs"},
            "k": 5,
            "expected_n": 1000,
            "minimum_n": 20,
            "questions": {
                "job": {"type": "categorical", "values": ["clerk", "nurse", "smith"], "text": {"en": "Your job?"}},
                "age": {
                    "type": "numeric",
                    "low": 0,
                    "high": 120,
                    "step": 1,
                    "text": {"en": "Your age?"},
                    "mechanism": "bounded-laplace",
                },
            },
        }
    )


@pytest.fixture
def survey():
    """Two questions, of which one is a number."""
    return make_survey()


@pytest.fixture
def store(address, survey):
    """An open store."""
    opened = open_store(address, survey)
    yield opened
    opened.close()


@pytest.fixture
def serve():
    """Serve a survey from a database for real, at a free port; without limits unless some are given."""

    def served(survey, address, *, limits=None):
        limits = limits or RequestLimits(rate=float("inf"))
        app = create_app(survey, open_store(address, survey), TOKEN, limits=limits)
        return running(app, Serving(port=0, limits=limits))

    return served


@pytest.fixture
def start():
    """Serve a survey from a process of its own, which does not outlive the test."""
    servers = []

    def started(*arguments, **options):
        servers.append(Server(*arguments, **options))
        return servers[-1]

    yield started
    for server in servers:
        server.end()


@pytest.fixture
def site(serve, survey, address):
    """A client of a running survey."""
    with serve(survey, address) as base, httpx.Client(base_url=base, timeout=60, verify=False) as client:
        yield client


@pytest.fixture(scope="module")
def empty_site(tmp_path_factory):
    """A running survey that nobody manages to answer."""
    survey, limits = make_survey(), RequestLimits(rate=float("inf"))
    store = open_store(tmp_path_factory.mktemp("survey") / "answers.db", survey)
    with running(create_app(survey, store, TOKEN, limits=limits), Serving(port=0, limits=limits)) as base:
        yield base


@pytest.fixture
def form_site(empty_site):
    """A client of a survey that refuses everything it is sent."""
    with httpx.Client(base_url=empty_site, timeout=60, verify=False) as client:
        yield client


@pytest.fixture
def owner():
    """What the survey owner sends along."""
    return {"authorization": f"Bearer {TOKEN}"}
