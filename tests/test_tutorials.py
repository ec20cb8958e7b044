"""What the tutorials tell to type does work, in the order they tell it.

Lines that start with `$ ` are typed in; those at the prompt of one of several companies are tested with the vertical
command, as processes of their own.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest

from kakuran.cli import main

TUTORIALS = sorted((Path(__file__).parents[1] / "docs/tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def type_in(line, monkeypatch):
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, line


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning")
def test_every_step_of_a_tutorial_works(tutorial, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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
