"""What a draft read off the data is marked, and nothing is calibrated before the steward has confirmed it."""

from __future__ import annotations

import stat
from dataclasses import replace

import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.advice.comparison import trial_of
from kakuran.schema import confirm_file
from kakuran.writing import IS_POSIX

PEOPLE = pa.table({"job": ["nurse", "clerk", "baker"] * 20, "age": [*range(20, 50)] * 2, "ill": [True, False] * 30})
EDITED = """\
# ours
about = "job"

[columns.job]
type = "categorical"   # as the office lists them
values = ["baker", "clerk", "nurse"]
drafted = true  # to be checked

[columns.age]
type = "numeric"
  drafted=true
low = 0
high = 120
step = 1
"""


@pytest.fixture
def drafted():
    with pytest.warns(kk.InferredDomainWarning, match="take out `drafted = true`, before you calibrate"):
        return kk.Schema.infer(PEOPLE)


def test_every_column_that_says_what_the_data_hold_is_marked(drafted):
    assert drafted.drafted == ("job", "age"), "true and false are public"
    assert drafted.to_toml().count("\ndrafted = true\n") == 2
    assert kk.Schema.from_toml(drafted.to_toml()) == drafted
    assert not [settings for settings in drafted.to_dict().values() if "drafted" in settings]


def test_a_draft_is_calibrated_only_once_it_is_confirmed(drafted):
    with pytest.raises(kk.SchemaError, match=r"of 'job', 'age' were read off .* schema\.confirmed\(\)"):
        kk.calibrate(drafted, n=100, k=5)
    plan = kk.calibrate(drafted.confirmed(), n=100, k=5)
    assert plan.schema.drafted == ()
    assert "drafted" not in str(plan.to_dict())


def test_a_draft_can_be_tried_by_advice_before_anybody_has_confirmed_it(drafted):
    assert trial_of(drafted, None, PEOPLE, 5).schema == drafted.confirmed()


def test_a_column_that_is_dropped_need_not_be_confirmed(drafted):
    assert drafted.without(["age"]).drafted == ("job",)
    assert replace(drafted, attributes=[kk.Dropped("job"), drafted["ill"]]).drafted == ()


def test_a_file_is_confirmed_line_by_line_and_nothing_else_in_it_changes(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(EDITED, encoding="utf-8")
    assert kk.Schema.load(path).drafted == ("job", "age")
    assert confirm_file(path).drafted == ("job", "age")
    marks = ("drafted = true  # to be checked\n", "  drafted=true\n")
    assert path.read_text(encoding="utf-8") == EDITED.replace(marks[0], "").replace(marks[1], "")
    assert kk.Schema.load(path).drafted == ()
    assert confirm_file(path).drafted == ()


@pytest.mark.skipif(not IS_POSIX, reason="modes of files are POSIX's")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_who_may_read_a_schema_stays_as_it_was_when_it_is_confirmed(mode, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(EDITED, encoding="utf-8")
    path.chmod(mode)
    confirm_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            'columns.x = { type = "categorical", values = ["a"], drafted = true }',
            "shares its line; take it out by hand",
        ),
        (
            '[columns.x]\ntype = "categorical"\nvalues = ["a"]\ndrafted = "yes"',
            "drafted must be true or false, got 'yes'",
        ),
    ],
)
def test_a_mark_that_cannot_be_taken_out_is_left_to_the_steward(text, problem, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(kk.SchemaError, match=problem):
        confirm_file(path)
    assert path.read_text(encoding="utf-8") == text
