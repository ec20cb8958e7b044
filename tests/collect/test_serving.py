"""The server as it is run: over TLS, as two nodes, telling how it is."""

import datetime
import ipaddress
import ssl

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kakuran.collect.databases import open_store
from kakuran.collect.server import create_app
from kakuran.collect.serving import Serving, running
from kakuran.errors import CollectError

from .conftest import TOKEN
from .sheets import batch, sheet


@pytest.fixture
def certificate(tmp_path):
    """For localhost, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    formats = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(key.private_bytes(*formats))
    return tmp_path / "certificate.pem", tmp_path / "key.pem"


def test_answers_travel_over_tls(survey, tmp_path, certificate):
    app = create_app(survey, open_store(tmp_path / "answers.db", survey), TOKEN)
    serving = Serving("localhost", 0, *certificate)
    trusting = ssl.create_default_context(cafile=certificate[0])
    with running(app, serving) as base, httpx.Client(base_url=base, verify=trusting) as client:
        assert base.startswith("https://")
        assert client.post("/api/responses", json=sheet(survey)).status_code == 201
        with pytest.raises(httpx.TransportError):
            httpx.get(base.replace("https", "http"))


def test_two_nodes_on_one_database_are_one_survey(serve, survey, postgres, owner):
    address = postgres.new_database()
    with (
        serve(survey, address) as one,
        serve(survey, address) as two,
        httpx.Client(headers=owner, verify=False) as client,
    ):
        sent = batch(survey, 30)
        assert client.post(f"{one}/api/responses/batch", json=sent).json() == {"accepted": 30, "replayed": 0}
        assert client.post(f"{two}/api/responses/batch", json=sent).json() == {"accepted": 0, "replayed": 30}
        client.post(f"{two}/api/responses", json=sheet(survey))
        assert [client.get(f"{node}/api/admin/summary").json()["n"] for node in (one, two)] == [31, 31]
        client.post(f"{one}/api/admin/close")
        assert client.post(f"{two}/api/responses", json=sheet(survey)).status_code == 410


def test_metrics_count_what_happened(form_site, survey):
    before = form_site.get("/metrics").text
    form_site.post("/api/responses", json=sheet(survey, id="none"))
    lines = form_site.get("/metrics").text.splitlines()
    assert "kakuran_collect_ready 1" in before.splitlines()
    assert 'kakuran_collect_requests_refused_total{problem="invalid"} 1' in lines
    assert all(line.startswith("#") or len(line.split()) == 2 for line in lines)


def test_metrics_tell_how_many_answered_only_once_there_are_enough(serve, survey, tmp_path):
    telling = ("records_", "commit_seconds")
    with serve(survey, tmp_path / "answers.db") as base, httpx.Client(base_url=base, verify=False) as client:
        for sent, told in ((19, False), (1, True)):
            client.post("/api/responses/batch", json=batch(survey, sent)).raise_for_status()
            text = client.get("/metrics").text
            assert [word in text for word in telling] == [told, told]
            assert "kakuran_collect_ready 1" in text
        assert "kakuran_collect_records_accepted_total 20" in text.splitlines()


@pytest.mark.usefixtures("ipv6")
@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_a_survey_can_be_served_on_ipv6(survey, tmp_path, host):
    app = create_app(survey, open_store(tmp_path / "answers.db", survey), "token")
    with running(app, Serving(host, port=0)) as address:
        assert address.startswith("http://[::1]:")
        assert httpx.get(f"{address}/api/survey").json()["id"] == survey.id
        with pytest.raises(CollectError, match=r"cannot listen on \[::1\]:\d+: "):
            Serving(host, int(address.rpartition(":")[2])).listen()


@pytest.mark.usefixtures("both_kinds_of_ip")
def test_all_addresses_are_those_of_ipv4_and_ipv6(survey, tmp_path):
    app = create_app(survey, open_store(tmp_path / "answers.db", survey), "token")
    with running(app, Serving("::", port=0)) as address:
        port = address.rpartition(":")[2]
        for host in ("127.0.0.1", "[::1]"):
            assert httpx.get(f"http://{host}:{port}/healthz").status_code == 200
        assert "::]" not in address


def test_a_port_that_is_taken_is_said_before_anything_else(survey, tmp_path):
    serving = Serving(port=0)
    with serving.listen() as listening:
        taken = Serving(port=listening.getsockname()[1])
        with pytest.raises(CollectError, match="cannot listen on 127"):
            taken.listen()


def test_problems_are_explained_where_their_type_says(form_site, survey):
    refused = form_site.post("/api/responses", json=sheet(survey, id="none")).json()
    page = form_site.get(refused["type"])
    assert page.headers["content-type"].startswith("text/html")
    assert refused["title"] in page.text


def test_a_server_that_listens_everywhere_names_an_address_others_can_open():
    serving = Serving("0.0.0.0", 0)
    with serving.listen() as listening:
        host = serving.address(listening).removeprefix("http://").rpartition(":")[0]
    assert ipaddress.ip_address(host) != ipaddress.ip_address("0.0.0.0")
