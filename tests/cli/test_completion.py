"""Completion at the prompt, through the scripts that the shells are given."""

import os
import subprocess
import sys
from typing import get_args

import pytest

import kakuran as kk
from kakuran.model import Method
from kakuran.samples import census, census_schema
from kakuran.wide.transactions import BasketLayout

COMMAND = f"#!{sys.executable}\nfrom kakuran.cli import main\nmain()\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a release."""
    folder = tmp_path_factory.mktemp("prompt")
    kk.perturb(census(50), kk.calibrate(census_schema(), n=50, k=5)).save(folder / "out.parquet")
    return folder


@pytest.fixture(scope="module")
def prompt(folder):
    """A kakuran on the path as an installation would put it there."""
    command = folder / "bin/kakuran"
    command.parent.mkdir()
    command.write_text(COMMAND)
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}

    def run(*command: str, **variables: str) -> str:
        told = subprocess.run(
            command, cwd=folder, env=environment | variables, capture_output=True, text=True, timeout=60, check=True
        )
        return told.stdout

    return run


@pytest.fixture(scope="module")
def script(prompt):
    """What bash is given."""
    return prompt("kakuran", "--show-completion", "bash")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["cr"], {"crosstab"}),
        (["crosstab", "out.parquet", ""], {"sex", "age", "job", "region"}),
        (["perturb", "--data"], {"--data-dependent"}),
    ],
)
def test_bash_offers_commands_options_and_the_columns_of_a_release(prompt, script, typed, offered):
    words = " ".join(f"'{word}'" for word in ["kakuran", *typed])
    press_tab = f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _kakuran_completion kakuran"
    offers = prompt("bash", "-c", f"{script}\n{press_tab}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"")
    assert set(offers.split()) == offered


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["schema", ""], {"infer", "confirm", "check"}),
        (["crosstab", "out.parquet", "job", "r"], {"region"}),
        (["tree", "out.parquet", "j"], {"job"}),
        (["bayes", "out.parquet", "sex", "r"], {"region"}),
        (["crosstab", "nowhere.parquet", ""], set()),
        (["perturb", "--engine", ""], {"local", "spark"}),
        (["vertical", "join", "--lang", ""], {"en", "ja"}),
        (["crosstab", "out.parquet", "--method", ""], set(get_args(Method))),
        (["factorise", "--layout", ""], set(get_args(BasketLayout))),
        (["vertical", "init", "--criterion", "ai"], {"aic", "aicc"}),
    ],
)
def test_every_word_that_bash_may_ask_for_is_offered(kakuran, script, monkeypatch, typed, offered):
    assert all(name in script for name in ("COMP_WORDS", "COMP_CWORD", "_KAKURAN_COMPLETE=complete_bash"))
    monkeypatch.setenv("COMP_WORDS", "\n".join(["kakuran", *typed]))
    monkeypatch.setenv("COMP_CWORD", str(len(typed)))
    monkeypatch.setenv("_KAKURAN_COMPLETE", "complete_bash")
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None)  # else the command is called python -m pytest
    assert set(kakuran().stdout.split()) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_offered_the_same(prompt, shell):
    assert "_KAKURAN_COMPLETE=complete_" + shell in prompt("kakuran", "--show-completion", shell)
    told = prompt(
        "kakuran",
        _KAKURAN_COMPLETE=f"complete_{shell}",
        _TYPER_COMPLETE_ARGS="kakuran crosstab out.parquet re",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    assert "region" in told
    assert "job" not in told
