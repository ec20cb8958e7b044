"""A drafted schema is published with its release: nobody's name, number or address may stand in it."""

from __future__ import annotations

import csv
import random
import sys
import warnings

import pytest

import kakuran as kk
from kakuran.cli import main

FIRST = ["Anna", "Bela", "Cora", "Dora", "Emil", "Fritz", "Gustav", "Hanna", "Ida", "Jonas", "Karl", "Lena"]
LAST = ["Maier", "Huber", "Gruber", "Bauer", "Wagner", "Pichler", "Steiner", "Moser", "Mayer", "Hofer"]
PERSONAL = {
    "customer", "doctor", "Nachname", "prénom", "телефон", "contact", "iban", "klient", "signature", "ssn", "name",
    "account", "kennung",
}  # fmt: skip


def people(rng):
    """45 people, and what a table says of each of them."""
    names = [f"{first} {last}" for first in FIRST for last in LAST]
    rng.shuffle(names)
    for name in names[:45]:
        first, last = name.split()
        yield {
            "customer": name,
            "doctor": name,
            "Nachname": last,
            "prénom": first,
            "телефон": f"+4366{rng.randint(1_000_000, 9_999_999)}",
            "contact": f"{first}.{last}@x.at".lower(),
            "plz": str(rng.randint(1010, 9990)),
            "iban": f"AT{rng.randint(10**17, 10**18 - 1)}",
            "klient": name,
            "signature": f"{first[0]}. {last}",
            "dob": f"19{rng.randint(40, 99)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
            "ssn": str(rng.randint(10**9, 10**10)),
            "name": name,
            "account": f"AT-{rng.randint(10**9, 10**10)}-{first[0]}{last[0]}",
            "kennung": f"{last[:3]}{first[:2]}".upper() + str(rng.randint(10, 99)),
        }


@pytest.fixture
def table(tmp_path):
    """Some 44 rows of each person, whether they are ill, and where they live."""
    rng = random.Random(1)
    known = [*people(rng)]
    with (tmp_path / "visits.csv").open("w", newline="", encoding="utf-8") as file:
        written = csv.DictWriter(file, [*known[0], "city", "ill"])
        written.writeheader()
        for _ in range(2_000):
            where = {"city": rng.choice(["Graz", "Linz", "Wien"]), "ill": rng.choice(["yes", "no"])}
            written.writerow(rng.choice(known) | where)
    return tmp_path / "visits.csv", known


@pytest.fixture
def kakuran(tmp_path, monkeypatch, capsys):
    """Type a command in the folder of the table: its exit code and what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("warnings.showwarning", None)

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["kakuran", *words])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr().err

    return typed


@pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning")
def test_whatever_names_or_reaches_a_person_is_drafted_as_dropped_in_any_language(table):
    path, _ = table
    drafted = kk.Schema.infer(path)
    assert {one.name for one in drafted.released} == {"plz", "dob", "city", "ill"}
    assert drafted.person in PERSONAL


def test_a_draft_is_not_released_until_the_steward_says_that_it_is_public(table, kakuran, tmp_path):
    path, known = table
    release = ("perturb", str(path), "-s", "s.toml", "--k", "5", "-o", "o.csv")
    assert kakuran("schema", "infer", str(path), "-o", "s.toml")[0] == 0
    for asking in (release, ("calibrate", str(path), "-s", "s.toml", "--k", "5")):
        code, said = kakuran(*asking)
        assert code == 3
        assert "s.toml: values and bounds of 'plz', 'dob', 'city', 'ill' were read off the data" in said
    assert not (tmp_path / "o.csv").exists()
    code, said = kakuran("schema", "confirm", "s.toml")
    assert code == 0
    assert 'city: type = "categorical", values = ["Graz", "Linz", "Wien"]' in said
    assert kakuran(*release)[0] == 0
    published = (tmp_path / "o.release.json").read_text(encoding="utf-8")
    for person in known:
        assert not [name for name in PERSONAL if person[name] in published]
    assert "drafted" not in published
