"""What the tutorials tell to type does work, in the order they tell it, and guides print what they say they print.

Lines that start with `$ ` are typed in; those at the prompt of one of several companies are tested with the vertical
command, as processes of their own.
"""

import contextlib
import io
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from kakuran.cli import main

DOCS = Path(__file__).parents[1] / "docs"
TUTORIALS = [
    *sorted((DOCS / "tutorials").glob("*.md")),
    DOCS / "ja/steward.md",
    *(DOCS / f"guides/{name}.md" for name in ("other-programs", "pipelines")),
]
TESTED = (
    "central", "choosing-k", "ledger", "people", "public-domains", "repeated-releases", "statistics", "trees",
    "weights",
)  # fmt: skip
GUIDES = [DOCS / f"guides/{name}.md" for name in TESTED]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def type_in(line, monkeypatch):
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, line


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning")
def test_every_step_of_a_tutorial_works(tutorial, tmp_path, monkeypatch, rough_models, short_pages):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("warnings.showwarning", None)
    names: dict[str, object] = {}
    blocks = BLOCK.findall(tutorial.read_text(encoding="utf-8"))
    assert blocks
    for language, text in blocks:
        if language == "python":
            exec(compile(text, str(tutorial), "exec"), names)
        else:
            for line in text.splitlines():
                if line.startswith("$ "):
                    type_in(line.removeprefix("$ "), monkeypatch)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_example_of_a_guide_runs_and_prints_what_stands_below_it(guide):
    names: dict[str, object] = {}
    examples = PRINTED.findall(guide.read_text(encoding="utf-8"))
    assert examples
    for code, expected in examples:
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            exec(compile(code, str(guide), "exec"), names)
        assert not expected or told.getvalue() == expected
