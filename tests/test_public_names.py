"""Every public name can be imported, is documented, and its examples run."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import kakuran

MODULES = [module.name for module in pkgutil.walk_packages(kakuran.__path__, "kakuran.")]
ON_SPARK = [name for name in MODULES if name.startswith("kakuran.engine.spark")]
PRINT_NO_ESTIMATE = {"kakuran.answers.synthetic", "kakuran.report.synthetic"}
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", sorted({*MODULES} - {*ON_SPARK}))
def test_examples_of_a_module_print_what_they_say(name, monkeypatch, request):
    if name in PRINT_NO_ESTIMATE:
        request.getfixturevalue("rough_models")
    monkeypatch.setattr("linecache.checkcache", lambda *_: None)  # no file changes, and every example asks of all files
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.xdist_group("spark")
def test_examples_on_spark_print_what_they_say(spark):
    for name in ON_SPARK:
        assert doctest.testmod(importlib.import_module(name), extraglobs={"spark": spark}).failed == 0


@pytest.mark.parametrize("name", kakuran.__all__)
def test_a_public_name_is_documented_where_it_lives_and_in_the_reference(name):
    assert getattr(kakuran, name).__doc__
    reference = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    is_error = isinstance(getattr(kakuran, name), type) and issubclass(getattr(kakuran, name), Exception)
    assert f".{name}\n" in reference or is_error


def test_everything_in_the_reference_has_an_example():
    entries = re.findall(r"^::: (\S+)$", (ROOT / "docs/reference/python.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(entries) > 40
    for entry in entries:
        home, _, name = entry.rpartition(".")
        if entry != "kakuran.errors":
            assert ">>> " in getattr(importlib.import_module(home), name).__doc__, entry


def test_functions_stay_functions_whatever_is_imported_first():
    code = (
        "import kakuran.release.files, kakuran.design.plan, kakuran as kk;"
        "assert callable(kk.perturb) and callable(kk.calibrate) and callable(kk.audit)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_kakuran_loads_nothing_heavy():
    heavy = ("numpy", "pyarrow", "scipy", "typer", "importlib.metadata")
    code = f"import sys, kakuran; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom kakuran.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numpy', 'pyarrow', 'scipy', 'matplotlib', 'rich', 'narwhals') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert output.endswith("[]\n")


def test_the_version_is_that_of_the_installed_distribution():
    assert kakuran.__version__ == version("kakuran")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = kakuran.nonsense


def test_no_entropy_is_drawn_outside_the_randomness_module():
    forbidden = ("default_rng", "np.random.", "import random", "import secrets", "os.urandom", "uuid4")
    allowed = "np.random.Generator"
    for path in sorted((ROOT / "src").rglob("*.py")):
        if path.name == "randomness.py":
            continue
        text = path.read_text(encoding="utf-8").replace(allowed, "")
        assert not [word for word in forbidden if word in text], path
