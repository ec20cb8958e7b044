"""The studio from the command line: what it prints, how it ends, and what other users of the machine can see of it."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from kakuran.release import write_table
from kakuran.samples import census


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A studio with a browser that only says what it was told to open."""
    folder = tmp_path_factory.mktemp("studio")
    write_table(folder / "people.csv", census(300))
    browser = folder / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys\nopen({str(folder / 'opened')!r}, 'w').write(sys.argv[1])\n")
    browser.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-c", "from kakuran.cli import main; main()", "studio", "people.csv"],
        cwd=folder,
        env=os.environ | {"BROWSER": str(browser), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        address = process.stdout.readline().strip()
        yield process, address, folder
        if process.poll() is None:
            process.kill()


def test_it_prints_its_address_and_serves_the_table_until_it_is_interrupted(started):
    process, address, folder = started
    home, secret = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/#([\w-]{22,})", address).groups()
    reply = httpx.post(f"{home}/api/state", json={}, headers={"authorization": f"Bearer {secret}"}, timeout=30)
    assert reply.json()["opened"]["rows"] == 300
    until = time.monotonic() + 30
    while not ((folder / "opened").exists() and (folder / "opened").read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    page = Path((folder / "opened").read_text().removeprefix("file://"))
    assert secret not in str(page), "whoever lists processes sees with what a browser was started"
    assert page.stat().st_mode & 0o077 == 0
    assert page.parent.stat().st_mode & 0o077 == 0
    assert secret in page.read_text()
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert "do not pass it on" in told
    assert secret not in told
    assert not page.exists()
