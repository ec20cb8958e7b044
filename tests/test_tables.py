"""The walk-throughs of docs/guides/tables.md, command by command: every answer is right.

Each is walked on a look-alike, and on the table itself where it lies beside the checkout. An estimate may be off by
five of its standard errors, which happens by chance less than once in a million; tables have a bound of their own on
people in the wrong cell.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.lookalikes import FILES

import kakuran as kk
from kakuran.cli import main

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared/data"
PAGE = (ROOT / "docs/guides/tables.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(?:console|toml title="(?P<file>[^"]+)")\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE)
SECTIONS = {next(name for name in FILES if name in text): text for text in PAGE.split("\n## ")[1:]}
NAMES = re.search(r"--names (\S+)", PAGE)[1].split(",")
ADULT, RETAIL, TOKYO = "adult.data", "online_retail.parquet", "130001_tokyo_covid19_patients.csv"


def shares(is_so, by):
    return {str(value): is_so[by == value].mean() for value in np.unique(by)}


def counts(values, edges):
    return np.histogram(values, [*edges[:-1], edges[-1] + 1])[0]


def of_people(column, whose):
    """The mean over people of each one's mean: what a row drawn at random is expected to be."""
    return (np.bincount(whose, column) / np.bincount(whose)).mean()


def bank(table):
    yes, before = table["y"] == "yes", table["poutcome"]
    return [shares(yes, before), (table["pdays"] == 999).mean()]


def titanic(table):
    ages = np.array([float(age) for age in table["Age"] if age])
    told = counts(ages, [0, 15, 30, 50, 100])
    return [shares(table["Survived"] == 1, table["Sex"]), np.array([*told, len(table["Age"]) - len(ages)])]


def tokyo(table):
    weeks = (table["公表_年月日"] - np.datetime64("2020-01-20")).astype(int) // 7
    return [np.bincount(weeks, minlength=27), (table["患者_性別"] == "女性").mean()]


def telco(table):
    totals = [float(one) for one in table["TotalCharges"] if one.strip()]
    return [shares(table["Churn"] == "Yes", table["Contract"]), np.mean(totals)]


def adult(table):
    return [shares(table["income"] == ">50K", table["sex"]), table["hours-per-week"].astype(float).mean()]


def retail(table):
    is_known = table["CustomerID"] > 0
    whose = np.unique(table["CustomerID"][is_known], return_inverse=True)[1]
    quantity = table["Quantity"][is_known].clip(-100, 100)
    edges = [-100, 0, 5, 10, 25, 101]
    expected = [of_people((quantity >= low) & (quantity < high), whose) for low, high in pairwise(edges)]
    price = np.array([float(one.replace(",", ".")) for one in table["UnitPrice"][is_known]])
    return [np.array(expected) * (whose.max() + 1), of_people(price.clip(0, 20), whose)]


TRUTHS = dict(zip(FILES, (bank, titanic, tokyo, telco, adult, retail), strict=True))
WRONG_CELL = {"train.csv": 0.23, TOKYO: 0.11, RETAIL: 0.18}
"""Five standard deviations above the mean of ten to fifteen draws, which were 0.09, 0.05 and 0.06."""


def the_real(name, folder):
    (folder / name).symlink_to(REAL / name)
    if name == RETAIL:
        table = pq.read_table(REAL / name)
        return {one: table.column(one).to_numpy() for one in table.column_names}
    rows = [line.split(", ") for line in (REAL / name).read_text().splitlines() if line]
    return dict(zip(NAMES, np.array(rows).T, strict=True))


def type_in(line, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert ended.value.code == 0, (line, told.err)
    return told.out


def walk(section, monkeypatch, capsys):
    """Do what a section says, and give the answers to its questions."""
    for block in BLOCK.finditer(section):
        if block["file"]:
            Path(block["file"]).write_text(block["text"], encoding="utf-8")
            continue
        for line in block["text"].splitlines():
            command = line.removeprefix("$ ")
            is_question = command.split()[1] in ("estimate", "crosstab")
            said = type_in(f"{command} --json" if is_question else command, monkeypatch, capsys)
            if is_question:
                yield json.loads(said)


def check_answer(found, truth, most_wrong):
    if isinstance(truth, np.ndarray):
        told = np.array([cell["count"] for cell in found["cells"]])
        wrong = np.abs(told - truth).sum() / 2 / truth.sum()
        assert wrong <= most_wrong, f"{wrong:.1%} in the wrong cell"
        return
    groups = found.get("groups", [found])
    true = list(truth.values()) if isinstance(truth, dict) else [truth]
    assert len(groups) == len(true)
    for group, one in zip(groups, true, strict=True):
        assert abs(group["estimate"] - one) <= 5 * group["error"], group
        assert group["error"] <= 0.15 * max(abs(one), 1), group


CODED = {"education-num"}
"""Numbers whose bounds the code book of a table says."""


@pytest.mark.parametrize("name", [name for name in FILES if name not in (TOKYO, RETAIL)])
def test_no_bound_of_a_schema_is_the_least_or_the_largest_number_of_its_table(name, tmp_path):
    table = FILES[name](tmp_path / name)
    (text,) = [block["text"] for block in BLOCK.finditer(SECTIONS[name]) if block["file"]]
    numeric = [one for one in kk.Schema.from_toml(text).released if type(one) is kk.Numeric and one.name not in CODED]
    assert numeric
    for column in numeric:
        numbers = [float(str(one).replace(",", ".")) for one in table[column.name] if str(one).strip()]
        known = [one for one in numbers if one not in column.missing_codes]
        assert column.high != max(known), column.name
        assert column.low == 0 or column.low != min(known), column.name
        assert column.clip, "somebody may lie beyond what everybody knows"


@pytest.mark.parametrize(("name", "is_real"), [*((name, False) for name in FILES), (ADULT, True), (RETAIL, True)])
@pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning", "ignore::kakuran.UnclearCellsWarning")
def test_the_walk_through_ends_at_the_right_answer(name, is_real, tmp_path, monkeypatch, capsys):
    if is_real and not (REAL / name).exists():
        pytest.skip("the table is not beside the checkout")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("warnings.showwarning", None)
    table = the_real(name, tmp_path) if is_real else FILES[name](tmp_path / name)
    truths = TRUTHS[name]({one: np.asarray(column) for one, column in table.items()})
    found = list(walk(SECTIONS[name], monkeypatch, capsys))
    assert len(found) == len(truths) == 2
    for answer, truth in zip(found, truths, strict=True):
        check_answer(answer, truth, WRONG_CELL.get(name))
