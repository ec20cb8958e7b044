"""One Spark session for all tests that need one (they share a group, so that one worker starts it), IPv6, Japanese.

And joint models that are made quickly, for tests of what is done with an answer and not of how good it is; ids that are
compared quickly, for tests of what is done with the records that companies share.
"""

import base64
import gc
import hashlib
import os
import re
import socket
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from xdist.scheduler import LoadGroupScheduling


class ByFile(LoadGroupScheduling):
    """All tests of a file on one worker, so that what they share is made once; all of a group on one, too."""

    def _split_scope(self, nodeid):
        return super()._split_scope(nodeid).partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: now and then each waits for a server, a browser or a clock."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish(session):
    """What was imported and collected stays: looking through it for garbage again and again takes a twentieth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(autouse=True)
def english():
    """Whatever language a test lets the terminal speak, no other test hears."""
    yield
    if console := sys.modules.get("kakuran.cli.console"):
        console.speak("en")


@pytest.fixture(scope="session", autouse=True)
def no_memory_of_the_user(tmp_path_factory):
    """What companies remember of their runs is not written where whoever runs the tests keeps it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def ipv6():
    """Only where somebody can listen on it: Python may know it where the system has it switched off."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this system has no IPv6")


@pytest.fixture(scope="session")
def both_kinds_of_ip(ipv6):
    """Only where one socket can listen on IPv4 and on IPv6."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("this system does not do both at once")


@pytest.fixture(scope="session")
def executors():
    """What Spark's own processes need to know: this Python, and where faulty columns and warm workers come from."""
    before = dict(os.environ)
    faulty = Path(__file__).parent / "engine/spark"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(faulty), *filter(None, [before.get("PYTHONPATH")])])
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # None runs for long: what takes time is to load Spark's classes, and they need not be proved well-formed.
    unproved = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {unproved}"
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def spark(executors, tmp_path_factory):
    """Two cores, and three more attempts at a task that fails."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.python.daemon.module": "warm",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.log.level": "FATAL",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def small_memory(monkeypatch):
    """Believe that few rows fit in memory, so that small tables are read in many parts and need many buckets."""
    monkeypatch.setattr("kakuran.schema.sources.base.BATCH", 50)
    monkeypatch.setattr("kakuran.schema.sources.delimited.BLOCK", 2000)
    monkeypatch.setattr("kakuran.perturbation.ROWS_A_GROUP", 64)
    monkeypatch.setattr("kakuran.perturbation.ROWS_AT_A_TIME", 64)


@pytest.fixture
def rough_models(monkeypatch):
    """Joint models of two latent classes at most, after few steps, and densities of two components.

    Every question is answered, if not as well.
    """
    monkeypatch.setattr("kakuran.model.latent_tells.CLASSES", (1, 2))
    monkeypatch.setattr("kakuran.model.density.MOST_COMPONENTS", 2)
    monkeypatch.setattr("kakuran.model.latent_tells._MOST_STEPS", 20)
    monkeypatch.setattr("kakuran.model.latent_records.CLASSES", (2,))
    monkeypatch.setattr("kakuran.model.latent_records._MOST_STEPS", 20)


@pytest.fixture
def short_pages(monkeypatch):
    """Reports that show eight cells of a column and one pair of columns, for tests of what else a page says.

    How much a report shows, and how it is drawn, is asked in tests/report.
    """
    monkeypatch.setattr("kakuran.report.released.MOST_CELLS", 8)
    monkeypatch.setattr("kakuran.report.contents.MOST_PAIRS", 1)


class Masking:
    """In the place of Blinding: masks that commute as it does, and anybody could take off."""

    def __init__(self):
        self._mask = np.frombuffer(os.urandom(32), np.uint8)

    def hide(self, identifiers, salt):
        digests = b"".join(hashlib.sha256(salt + identifier).digest() for identifier in identifiers)
        return self.hide_again(np.frombuffer(digests, "S32"))

    def hide_again(self, points):
        return (np.frombuffer(points.tobytes(), np.uint8).reshape(-1, 32) ^ self._mask).view("S32").ravel()


@pytest.fixture(scope="module")
def ids_are_masked_only():
    """For tests of what companies do with the records they share, not of how they find them: curves take long."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kakuran.vertical.alignment.Blinding", Masking)
        yield


class Said(HTMLParser):
    """All that a page says: to the eye, to the ear, and in its pictures."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.texts, self._in_style = [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self._in_style = tag == "style"
        for name, value in attributes:
            if name == "alt":
                self.texts.append(value)
            if name in ("src", "srcset"):
                drawn = base64.b64decode(value.partition("base64,")[2]).decode()
                self.texts += [re.sub("<[^>]*>", "", text) for text in re.findall("<text.*?</text>", drawn, re.DOTALL)]

    def handle_data(self, text):
        if not self._in_style:
            self.texts.append(text)


METHODS_AND_MEASURES = {"kakuran", "EM", "ILD", "PRAM", "Pk-", "k-", "AIC", "AICc", "BIC", "VIF", "SHA-"}
CALLED_SO_IN_OPTIONS = {
    "retention",
    "square-wave",
    "laplace",
    "bounded-laplace",
    "bounded-gaussian",
    "pram",
    "gram",
    "residual",
}


@pytest.fixture(scope="session")
def english_on():
    """Words in Latin letters on a Japanese page, besides names of methods, the reader's own, and what was typed."""

    def latin(text):
        words = re.sub(r"\de-\d+", "", str(text))  # 4.2e-05 is a number
        return set(re.findall(r"[A-Za-z][A-Za-z-]+", words))

    def left(page, *own):
        assert '<html lang="ja">' in page
        said = set().union(*map(latin, Said(page).texts))
        return said - METHODS_AND_MEASURES - CALLED_SO_IN_OPTIONS - set().union(*map(latin, own))

    return left
