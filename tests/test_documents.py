"""Every block of code in README, tutorials and guides runs, in the order of its page, and prints what the page shows.

A page is followed in a folder of its own that holds what its reader has: `people.csv` and the like. Lines at a prompt
are typed in, `bank$` in the folder `bank`. Commands that serve until they are stopped run beside the others of their
block, at a free port. What would change the machine (`pip install`, `make`) is compared with the project's own files
instead. Blocks of `sh` need what no test has, such as Docker or a store in a cloud, and are not run.

A block of text below code is what the code prints, word by word. Where it shows a draw that comes out differently every
time, its title says `for example`: words and columns are then compared, and numbers are not. `…` stands for lines left
out.

A Japanese page with the same code as its English one is not run twice.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran import samples
from kakuran.cli import main
from kakuran.vertical import VerticalPlan

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WALKED_ELSEWHERE = {"tables.md"}
"""On look-alikes and real tables, answer by answer: tests/test_tables.py."""
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in (
        *ROOT.glob("README*.md"),
        *DOCS.glob("*.md"),
        *(page for folder in ("tutorials", "guides", "proofs", "ja") for page in (DOCS / folder).glob("*.md")),
    )
    if path.name not in WALKED_ELSEWHERE
}
BLOCK = re.compile(r"^```(?P<kind>python|console|text)(?P<rest>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
PROMPT = re.compile(r"^(?P<folder>[a-z]*)\$ (?P<line>.*)$")
EXAMPLE = re.compile('title="(for example|例)"')
NUMBER = re.compile(r"\b[0-9a-f]{4}(?:-[0-9a-f]{4})+\b|[-−+±]?\d[\d,.]*(?:e[-+]?\d+)?|(?<=#)[\w-]{20,}")
HOSTS = re.compile(r"\b(?P<host>[a-z]+)\.example:\d+")
SERVING = ("studio", "collect serve", "vertical serve", "vertical predict --fit")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of code or of what it prints."""

    kind: str
    text: str
    is_example: bool = False

    @property
    def code(self) -> str:
        """Without comments, in which pages of two languages differ."""
        return re.sub(r" +#.*", "", self.text)


def blocks_of(page: Path) -> list[Block]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(one["kind"], one["text"], bool(EXAMPLE.search(one["rest"]))) for one in found]


def written_once() -> dict[str, list[Block]]:
    """Pages that have code, and of those with the same code one."""
    code: dict[tuple[str, ...], str] = {}
    pages = {name: blocks_of(path) for name, path in sorted(PAGES.items(), key=lambda page: "ja" in page[0])}
    for name, blocks in pages.items():
        if any(block.kind != "text" for block in blocks):
            code.setdefault(tuple(block.code for block in blocks if block.kind != "text"), name)
    return {name: pages[name] for name in code.values()}


FOLLOWED = written_once()


def given(page: str, folder: Path) -> None:
    """What the reader of a page has, as far as the page names it."""
    text = PAGES[page].read_text(encoding="utf-8")
    people, (bank, shop) = samples.census(4_000), samples.companies(400)
    csv = {"people.csv": people, "people.csv.gz": people, "bank.csv": bank, "shop.csv": shop}
    for name, table in csv.items():
        if name in text:
            with pa.output_stream(folder / name, compression="detect") as file:
                pyarrow.csv.write_csv(table, file)
    if "baskets.csv" in text:
        rows = samples.baskets(500)
        (folder / "baskets.csv").write_text("".join(f"{','.join(row)}\n" for row in rows))
    if "sales.parquet" in text:
        _write_sales(folder)
    if page.startswith("docs/guides"):
        samples.census_schema().save(folder / "schema.toml")
        if "read_release" in text or "synthesise out.parquet" in text:
            plan = kk.calibrate(samples.census_schema(), n=people.num_rows, k=10)
            kk.perturb(people, plan).save(folder / "out.parquet")
    if "people.duckdb" in text:
        with duckdb.connect(folder / "people.duckdb") as database:
            database.sql("create table people as select * from people")
    if "survey.toml --proxy" in text:
        Terminal(folder, pytest.MonkeyPatch()).type_in("", "kakuran collect init survey.toml")


def _write_sales(folder: Path) -> None:
    """Fifty customers in five kinds, and what they think of what they bought."""
    customer, article = np.divmod(np.arange(50 * 8), 8)
    is_bought = (article + customer) % 5 < 2
    bought = {"customer": customer[is_bought], "article": article[is_bought], "pieces": 1 + customer[is_bought] % 3}
    pq.write_table(pa.table(bought), folder / "sales.parquet")
    ratings = np.where(is_bought, 1 + (customer + article) % 5, 0).reshape(50, 8)
    wide = {"user": np.arange(50)} | {f"film {item}": ratings[:, item] for item in range(8)}
    pq.write_table(pa.table(wide), folder / "ratings.parquet")


@dataclass
class Terminal:
    """Where a page is followed: a folder, the names that Python knows, and what still serves."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    names: dict[str, object] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)
    serving: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def type_in(self, where: str, line: str) -> str:
        """What a line prints."""
        words = shlex.split(line, comments=True)
        if not words:
            return ""
        if words[0] == "make":
            assert words[1] in TARGETS, line
        elif words[0] == "pip":
            asked = re.search(r"\.\[(.*)\]", words[2])
            assert set(asked[1].split(",")) <= EXTRAS.keys(), line
        elif words[:3] == ["python3", "-m", "venv"]:
            assert words[4:] == ["&&", ".", f"{words[3]}/bin/activate"], line
        elif words[0] == "kakuran":
            return self._kakuran(self._at(where), words[1:])
        else:
            subprocess.run(line, shell=True, cwd=self._at(where), check=True, timeout=60)
        return ""

    def _at(self, where: str) -> Path:
        """The folder that the prompt names, where there is one."""
        return self.folder / where if (self.folder / where).is_dir() else self.folder

    def _kakuran(self, folder: Path, words: list[str]) -> str:
        words = [HOSTS.sub(lambda host: f"127.0.0.1:{self.ports[host['host']]}", word) for word in words]
        if "--fingerprint" in words:
            words[words.index("--fingerprint") + 1] = VerticalPlan.load(folder / "plan.toml").fingerprint
        self.monkeypatch.setenv("XDG_STATE_HOME", str(folder))
        if any(" ".join(words).startswith(name) for name in SERVING):
            return self._serve(folder, words)
        printed = io.StringIO()
        self.monkeypatch.chdir(folder)
        self.monkeypatch.setattr(sys, "argv", ["kakuran", *words])
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        assert ended.value.code == 0, (words, printed.getvalue())
        self.monkeypatch.chdir(self.folder)
        return printed.getvalue()

    def _serve(self, folder: Path, words: list[str]) -> str:
        """Until it has said where it is, and all that it says at once."""
        quietly = ["--no-browser"] if words[0] == "studio" else []
        command = [sys.executable, "-c", "from kakuran.cli import main; main()", *words, "--port", "0", *quietly]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.serving.append(server)
        printed = ""
        while not (found := re.search(r":(\d{4,5})\b", printed)) or select.select([server.stdout], [], [], 0.5)[0]:
            line = os.read(server.stdout.fileno(), 1 << 16).decode()
            assert line, (words, printed)
            printed += line
        self.ports["bank"] = found[1]
        return printed

    def stop(self) -> None:
        """What waits for another company ends by itself, the others as by Ctrl-C."""
        while self.serving:
            server = self.serving.pop()
            if "vertical" not in server.args:
                server.send_signal(signal.SIGINT)
            printed, _ = server.communicate(timeout=60)
            assert server.returncode == 0, (server.args, printed)


@pytest.fixture
def terminal(request, tmp_path, monkeypatch, short_pages):
    if not any(
        block.kind == "text" and not block.is_example for block in FOLLOWED[request.node.callspec.params["page"]]
    ):
        request.getfixturevalue("rough_models")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("warnings.showwarning", None)
    opened = Terminal(tmp_path, monkeypatch)
    yield opened
    for server in opened.serving:
        server.kill()
        server.communicate()


def words_of(text: str) -> str:
    """Words in their order, without frames and spaces, and `#` for every number."""
    return " ".join(re.findall(r"[^\W\d_]+|#", NUMBER.sub(" # ", text)))


def check_shown(shown: Block, printed: str) -> None:
    if not shown.is_example:
        assert printed == shown.text
        return
    for part in re.split(r"^…$", shown.text, flags=re.MULTILINE):
        assert words_of(part) in words_of(printed), (part, printed)


def run_python(block: Block, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text.replace("/shared/", ""), "page", "exec"), names)
    return printed.getvalue()


def run_console(block: Block, terminal: Terminal) -> str:
    """All that its lines print; what stands below a line is an example of what it prints."""
    printed = ""
    for command in re.split(r"^(?=[a-z]*\$ )", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = command.partition("\n")
        prompt = PROMPT.match(line)
        answer = terminal.type_in(prompt["folder"], prompt["line"])
        check_shown(Block("text", shown, is_example=True), answer)
        printed += answer
    terminal.stop()
    return printed


ON_SPARK = "docs/guides/spark.md"


@pytest.mark.parametrize(
    "page",
    [*(page for page in FOLLOWED if page != ON_SPARK), pytest.param(ON_SPARK, marks=pytest.mark.xdist_group("spark"))],
)
@pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning", "ignore::kakuran.NotForPublicationWarning")
def test_every_block_of_a_page_runs_and_prints_what_the_page_shows(page, terminal, request):
    given(page, terminal.folder)
    if page == ON_SPARK:
        terminal.names["spark"] = spark = request.getfixturevalue("spark")
        spark.createDataFrame(samples.census(500).to_pandas()).createOrReplaceTempView("people")
    printed = ""
    for block in FOLLOWED[page]:
        if block.kind == "text":
            check_shown(block, printed)
        else:
            printed = run_python(block, terminal.names) if block.kind == "python" else run_console(block, terminal)


@pytest.mark.parametrize("page", sorted((DOCS / "proofs").glob("*.md")), ids=lambda page: page.stem)
def test_a_proof_says_what_it_assumes_and_names_tests_that_there_are(page):
    text = page.read_text(encoding="utf-8")
    parts = [text.find(f"**{part}") for part in ("Statement.", "Assumptions.", "Proof", "The tests that would fail.")]
    assert -1 not in parts
    assert parts == sorted(parts)
    tests = "".join((ROOT / path).read_text(encoding="utf-8") for path in set(re.findall(r"`(tests/\S+?\.py)`", text)))
    named = re.findall(r"`(test_\w+)`", text[parts[-1] :])
    assert named
    assert not [name for name in named if f"def {name}(" not in tests]


def test_no_page_shows_code_that_is_not_followed():
    kinds = {
        kind
        for page in PAGES.values()
        for kind in re.findall(r"^```(\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert kinds <= {"python", "console", "text", "toml", "r", "stata", "nginx", "sh"}
