"""The documentation's build fails where the reference does not say what a parameter is."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from mkdocs.__main__ import cli

ROOT = Path(__file__).parents[1]
SITE = f"""
site_name: example
theme: {{ name: mkdocs }}
hooks: [{ROOT / "tools/reference.py"}]
plugins:
  - mkdocstrings:
      handlers:
        python:
          paths: [.]
          options: {{ docstring_style: numpy }}
"""
MODULE = '''
class Box:
    """A box.

    Attributes
    ----------
    {attribute}
    """

    width: int

    def filled(self, by: str, *, often: int = 1) -> str:
        """What it is filled with.

        Parameters
        ----------
        {parameter}
        often : int
            How often.

        Returns
        -------
        str
            What was given.
        """
'''
TOLD = {"attribute": "width : int\n        In millimetres.", "parameter": "by : str\n            The goods."}


def built(folder, monkeypatch, **changed):
    """The result of building a reference of one class, in this process: loading mkdocs takes longer than building."""
    (folder / "docs").mkdir()
    (folder / "docs/index.md").write_text("# Reference\n\n::: boxes.Box\n")
    (folder / "mkdocs.yml").write_text(SITE)
    (folder / "boxes.py").write_text(MODULE.format(**(TOLD | changed)))
    monkeypatch.chdir(folder)
    return CliRunner().invoke(cli, ["build", "--strict"])


def test_a_reference_that_says_everything_is_built(tmp_path, monkeypatch):
    assert built(tmp_path, monkeypatch).exit_code == 0
    assert "In millimetres." in (tmp_path / "site/index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"attribute": "width : in millimetres"}, "boxes.Box: width has no description"),
        ({"attribute": "width : int"}, "boxes.Box: width has no description"),
        ({"attribute": "height\n        In millimetres."}, "boxes.Box: height has no type"),
        ({"parameter": "by : the goods"}, "boxes.Box.filled: by has no description"),
        (
            {"parameter": "by : the goods, and whatever\n            belongs to them"},
            "boxes.Box.filled: by is described from the middle of a sentence on",
        ),
    ],
    ids=["an attribute in one line", "no description", "no type", "a parameter in one line", "prose as a type"],
)
def test_the_build_fails_where_a_type_or_a_description_is_missing(changed, problem, tmp_path, monkeypatch):
    result = built(tmp_path, monkeypatch, **changed)
    assert result.exit_code != 0
    assert problem in result.output


def test_our_own_reference_is_built_with_the_check():
    assert "hooks: [tools/reference.py]" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
