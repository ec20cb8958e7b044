"""What `make check` runs after a change."""

from pathlib import Path

import pytest
from tools.touched import touched


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("src/kakuran/model/intervals.py", ["tests/model/test_intervals.py"]),
        ("src/kakuran/model/mixture/growth.py", ["tests/model/mixture/test_growth.py"]),
        ("src/kakuran/counts/__init__.pyi", ["tests/counts"]),
        ("src/kakuran/randomness.py", ["tests/test_randomness.py"]),
        ("src/kakuran/words/ja.toml", ["tests/test_words.py"]),
        ("tests/counts/test_tally.py", ["tests/counts/test_tally.py"]),
        ("tests/cli/conftest.py", ["tests/cli"]),
        ("tests/conftest.py", []),
        ("tests/counts/test_gone.py", []),
        ("README.md", []),
    ],
)
def test_a_change_touches_the_tests_named_after_it_or_its_package(file, tests):
    assert touched([Path(file)]) == tests


def test_tests_of_a_folder_that_is_run_are_not_named_again():
    changes = ["src/kakuran/counts/__init__.pyi", "tests/counts/test_tally.py", "src/kakuran/design/plan.py"]
    assert touched(map(Path, changes)) == ["tests/counts", "tests/design/test_plan.py"]
