"""What a ledger counts, what it refuses, and that nobody can make it forget by accident."""

import json
import math
import os
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

import kakuran as kk
from kakuran.design import Spending, account as accounts, central_epsilon, composed_epsilon, ledger_file
from kakuran.design.composition import summed_losses

SCHEMA = kk.Schema([kk.Categorical("job", ["clerk", "nurse"])])
N = 1_000


def spending(k=10.0, name="out.parquet", n=N, **facts):
    return Spending.of(kk.calibrate(SCHEMA, n=n, k=k), name, **facts)


@pytest.fixture
def ledger(tmp_path):
    return kk.Ledger.create(tmp_path / "people.ledger", "survey 2026", k=10, epsilon=0.7)


def test_a_new_ledger_has_spent_nothing(ledger):
    account = ledger.account()
    assert (account.people, account.promised_k, account.promised_epsilon, account.delta) == (
        "survey 2026",
        10,
        0.7,
        1e-6,
    )
    assert (account.k, account.epsilon, account.local, account.spent) == (math.inf, 0, 0, [])


def test_one_release_spends_what_it_says_of_itself(ledger):
    ledger.add(spending())
    account = ledger.account()
    assert account.k == 10
    assert account.epsilon == spending().alone.epsilon(1e-6) == pytest.approx(0.520, abs=5e-4)
    assert account.accounting == "basic"


def test_two_shuffled_releases_leave_the_smaller_k_and_spend_less_than_twice_epsilon(ledger):
    for k in (20, 40):
        ledger.add(spending(k))
    account = ledger.account()
    alone = [spending(k).alone.epsilon(1e-6) for k in (20, 40)]
    assert account.k == 20
    assert max(alone) < account.epsilon < sum(alone)
    assert account.epsilon == composed_epsilon([spending(k).alone for k in (20, 40)], 1e-6)[0]
    assert account.running == [alone[0], pytest.approx(account.epsilon)]
    assert account.local == pytest.approx(sum(spending(k).local for k in (20, 40)))


def test_what_would_overspend_epsilon_is_refused_and_what_would_fit_is_said_and_fits(ledger):
    ledger.add(spending(name="first.parquet"))
    before = ledger.path.read_bytes()
    with pytest.raises(
        kk.CalibrationError, match=r"with second.parquet ε = 0\.745 would be spent at δ = 1e-06"
    ) as refused:
        ledger.add(spending(name="second.parquet"))
    told = str(refused.value)
    assert told.startswith(str(ledger.path))
    assert "0.7 was promised to survey 2026; 0.52 is spent by 1 release" in told
    assert ledger.path.read_bytes() == before
    enough = float(told.partition("fits with k = ")[2].split()[0])
    ledger.add(spending(enough))
    assert 0.69 < ledger.account().epsilon <= 0.7
    with pytest.raises(kk.CalibrationError, match="would be spent"):
        ledger.add(spending(enough))


def test_where_nothing_fits_any_more_that_is_said(tmp_path):
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "them", epsilon=0.52)
    ledger.add(spending())
    with pytest.raises(kk.CalibrationError, match=r"fits with k = \d{3}|Nothing more can be released of them"):
        ledger.add(spending(500))


def test_a_k_below_the_promise_is_refused(ledger):
    with pytest.raises(
        kk.CalibrationError, match=r"k = 5 would be left .* 10 was promised to survey 2026: release with k = 10 or more"
    ):
        ledger.add(spending(5))


def test_joined_releases_leave_the_k_of_the_formula_and_the_k_that_is_enough_is_said(tmp_path):
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "them", k=10)
    ledger.add(spending(100, joined=True))
    with pytest.raises(kk.CalibrationError, match=r"k = 9\.919 would be left .* take k = 91\.9 or more") as refused:
        ledger.add(spending(91, joined=True))
    assert "or release it shuffled" in str(refused.value)
    ledger.add(spending(91.9, joined=True))
    assert ledger.account().k == pytest.approx(1 + 99 * 90.9 / 999, rel=1e-4)
    ledger.add(spending(11))  # which nobody can join with the others
    assert ledger.account().k == pytest.approx(1 + 99 * 90.9 / 999, rel=1e-4)
    with pytest.raises(kk.CalibrationError, match=r"take k = 1000 or more"):
        ledger.add(spending(990, joined=True))


def test_joined_releases_spend_as_one_of_longer_records(tmp_path):
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "them", epsilon=3)
    for k in (400, 500):
        ledger.add(spending(k, joined=True))
    together = sum(spending(k).local for k in (400, 500))
    assert ledger.account().epsilon == central_epsilon(N, together)
    assert ledger.account().epsilon > composed_epsilon([spending(k).alone for k in (400, 500)], 1e-6)[0]


@pytest.mark.parametrize("other", [{"n": 999}, {"kept": ("region",)}])
def test_releases_of_others_cannot_be_joined_as_nobody_knows_who_is_in_both(tmp_path, other):
    ledger = kk.Ledger.create(tmp_path / "people.ledger", "them", k=2)
    ledger.add(spending(500, joined=True))
    facts = {"n": N, "kept": ()} | other
    with pytest.raises(kk.CalibrationError, match="cannot be known"):
        ledger.add(Spending("out.csv", "perturbed", k=500, local=0.1, swap_cost=0.2, joined=True, **facts))


def test_an_order_that_is_kept_hides_nobody_and_spends_the_local_epsilon(tmp_path, ledger):
    with pytest.raises(
        kk.CalibrationError, match=r"k = 1 would be left.*keep their order.*enter the release as joined"
    ):
        ledger.add(spending(500, shuffled=False))
    other = kk.Ledger.create(tmp_path / "other.ledger", "them", epsilon=1)
    other.add(spending(500, shuffled=False))
    assert other.account().k == 1
    assert other.account().epsilon == pytest.approx(spending(500).local, rel=1e-5)


def test_what_promises_no_epsilon_has_no_place_where_one_was_promised(tmp_path, ledger):
    import pyarrow as pa

    table = pa.table({"job": ["clerk", "nurse"] * 500})
    fitted = Spending.of(kk.calibrate(SCHEMA, data=table, calibration="data-dependent", k=10), "fitted.parquet")
    grouped = Spending("groups.csv", "k-anonymous", N, 10)
    for one in (fitted, grouped):
        with pytest.raises(
            kk.CalibrationError, match=r"promises k and no ε, and ε = 0\.7 over all releases was promised"
        ):
            ledger.add(one)
    of_k = kk.Ledger.create(tmp_path / "other.ledger", "them", k=10)
    for one in (fitted, grouped):
        of_k.add(one)
    assert (of_k.account().k, of_k.account().epsilon) == (10, math.inf)


def test_a_survey_that_grows_counts_once_by_its_smallest_step(ledger):
    whole = spending(20, source="one")
    for n in (1_000, 900, 950):
        ledger.add(replace(whole, n=n, k=1 + 19 * (n - 1) / 999))
    assert len(ledger.account().entries) == 3
    assert ledger.account().epsilon == replace(whole, n=900).alone.epsilon(1e-6)
    assert ledger.account().k == pytest.approx(1 + 19 * 899 / 999)
    ledger.add(spending(50, name="another", source="two"))
    assert len(ledger.account().spent) == 2


def test_waves_that_repeat_draws_cannot_both_be_released(ledger):
    for _ in range(2):  # of the same survey, grown
        ledger.add(spending(50, source="one", repeats="panel"))
    ledger.add(spending(50, source="three", repeats="another panel"))
    with pytest.raises(kk.CalibrationError, match=r"whoever did not stands out.*Publish one of them"):
        ledger.add(spending(500, source="two", repeats="panel"))


def test_an_entry_counts_from_the_start_whether_or_not_it_is_finished(ledger):
    entering = ledger.entry(spending())
    with entering:
        assert ledger.account().epsilon == pytest.approx(0.520, abs=5e-4)
    assert [entry.state for entry in ledger.account().entries] == ["begun"]
    entering.finish()
    assert [entry.state for entry in ledger.account().entries] == ["made"]


def test_what_fails_before_anything_takes_its_place_is_withdrawn_and_stays_listed(ledger):
    with pytest.raises(RuntimeError), ledger.entry(spending()):
        raise RuntimeError
    account = ledger.account()
    assert [entry.state for entry in account.entries] == ["withdrawn"]
    assert (account.epsilon, account.running) == (0, [0])
    ledger.add(spending())
    assert [entry.number for entry in ledger.account().entries] == [1, 2]


def test_where_a_withdrawal_cannot_be_written_the_entry_counts(ledger, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with pytest.raises(RuntimeError), ledger.entry(spending()):  # noqa: PT012
        monkeypatch.setattr(os, "fsync", full)
        raise RuntimeError
    assert ledger.account().epsilon > 0


def test_a_full_disk_refuses_the_release_and_leaves_the_ledger_as_it_was(ledger, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = ledger.path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(kk.ReleaseError, match=r"could not be written \(No space left on device\), so nothing is rel"):
        ledger.add(spending())
    monkeypatch.undo()
    assert ledger.path.read_bytes() == before
    ledger.add(spending())


def test_a_clock_that_jumps_changes_no_order(ledger, monkeypatch):
    for year in (2026, 1970, 2199):
        told = SimpleNamespace(now=lambda zone, year=year: datetime(year, 1, 1, tzinfo=UTC))
        monkeypatch.setattr(accounts, "datetime", told)
        ledger.add(spending(300, name=str(year)))
    entries = ledger.account().entries
    assert [(entry.number, entry.spending.release, entry.at[:4]) for entry in entries] == [
        (1, "2026", "2026"),
        (2, "1970", "1970"),
        (3, "2199", "2199"),
    ]


def test_a_ledger_that_was_cut_off_anywhere_is_refused(ledger):
    ledger.add(spending())
    text = ledger.path.read_bytes()
    for length in range(len(text) - 2):
        ledger.path.write_bytes(text[:length])
        with pytest.raises(kk.ReleaseError, match=r"is damaged: .* Put back a copy that has every release in it"):
            ledger.account()
    with pytest.raises(kk.ReleaseError, match="is damaged"):
        ledger.add(spending(500))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"k": 10.0', '"k": 90.0'),
        ('"epsilon": 0.7', '"epsilon": 9'),
        ('"begun"', '"withdrawn"'),
        ('"n": 1000', '"n": -1'),
    ],
)
def test_a_ledger_that_somebody_changed_is_refused(ledger, old, new):
    ledger.add(spending())
    text = ledger.path.read_text()
    assert old in text
    ledger.path.write_text(text.replace(old, new, 1))
    with pytest.raises(kk.ReleaseError, match="does not say what kakuran wrote"):
        ledger.account()


def test_what_is_no_ledger_or_none_of_this_version_is_refused(tmp_path, ledger):
    for text, told in (("[]", "no ledger"), ("{}", "no ledger"), ("\ud800", "cannot be read|no ledger")):
        ledger.path.write_bytes(text.encode(errors="surrogatepass"))
        with pytest.raises(kk.ReleaseError, match=told.replace("cannot be read", "not a ledger that can be read")):
            ledger.account()
    ledger.path.write_text(json.dumps({"kakuran_ledger": 3, "digest": ""}))
    with pytest.raises(kk.ReleaseError, match="newer kakuran"):
        ledger.account()
    missing = kk.Ledger(tmp_path / "none.ledger")
    for ask in (missing.account, lambda: missing.add(spending())):
        with pytest.raises(kk.ReleaseError, match=r"no such ledger; make one with `kakuran ledger init`"):
            ask()


def test_a_ledger_is_never_made_in_place_of_another_and_promises_something(ledger, tmp_path):
    with pytest.raises(kk.ReleaseError, match="exists already"):
        kk.Ledger.create(ledger.path, "them", k=2)
    for promise, told in (
        ({}, "give k, epsilon, or both"),
        ({"k": 1}, "k must be above 1"),
        ({"epsilon": 0}, "epsilon must lie above 0"),
        ({"k": 2, "delta": 1}, "delta must lie between 0 and 1"),
    ):
        with pytest.raises(kk.CalibrationError, match=told):
            kk.Ledger.create(tmp_path / "other.ledger", "them", **promise)
    assert not (tmp_path / "other.ledger").exists()


def test_a_link_to_a_ledger_is_the_same_ledger(ledger, tmp_path):
    (tmp_path / "link").symlink_to(ledger.path)
    kk.Ledger(tmp_path / "link").add(spending())
    assert (tmp_path / "link").is_symlink()
    assert len(ledger.account().entries) == 1


def test_a_link_that_waits_beside_a_ledger_is_neither_followed_nor_kept(ledger, tmp_path):
    precious = tmp_path / "precious.txt"
    precious.write_text("thesis\n")
    for name in (".people.ledger.new", ".people.ledger.tmp"):
        (tmp_path / name).symlink_to(precious)
    ledger.add(spending())
    assert precious.read_text() == "thesis\n"
    assert not ledger.path.is_symlink()
    assert len(ledger.account().entries) == 1


def test_a_ledger_of_two_names_is_refused_by_either_as_it_would_become_two_ledgers(ledger, tmp_path):
    other = tmp_path / "other.ledger"
    other.hardlink_to(ledger.path)
    for name in (ledger.path, other):
        with pytest.raises(kk.ReleaseError, match=r"one of 2 names of the same file"):
            kk.Ledger(name).add(spending())
    other.unlink()
    ledger.add(spending())
    assert len(ledger.account().entries) == 1


def test_a_ledger_is_for_its_owner_alone_until_they_share_it(ledger):
    assert ledger.path.stat().st_mode & 0o777 == 0o600
    ledger.add(spending())
    assert ledger.path.stat().st_mode & 0o777 == 0o600
    ledger.path.chmod(0o660)
    ledger.add(spending(300))
    assert ledger.path.stat().st_mode & 0o777 == 0o660


def test_it_says_nothing_of_anybody_but_what_a_manifest_says(ledger):
    ledger.add(spending())
    (entry,) = json.loads(ledger.path.read_text())["releases"]
    assert set(entry) == {
        *("number", "at", "state", "release", "kind", "n", "k", "local", "levels", "swap_cost", "failure"),
        *("shuffled", "joined", "kept", "source", "repeats", "delta"),
    }


class TestDomainsFoundPrivately:
    def test_they_spend_epsilon_and_leave_k_as_it_is(self, ledger):
        ledger.add(Spending.of_domains("people.toml", 0.1, 1e-7))
        account = ledger.account()
        assert account.k == math.inf
        assert account.epsilon == pytest.approx(0.1, abs=1e-3)
        assert account.epsilon <= 0.1

    def test_beside_a_release_both_are_counted(self, ledger):
        ledger.add(Spending.of_domains("people.toml", 0.1, 1e-7))
        ledger.add(spending())
        account = ledger.account()
        alone = spending().alone.epsilon(1e-6)
        assert account.k == 10
        assert alone < account.epsilon <= alone + 0.1 + 0.01

    def test_they_add_up_with_releases_as_how_much_these_spend_may_follow_from_them(self, ledger):
        """The number of values found says how well a release hides people. No law of losses is composed with that of
        another if which one follows from the first; ε and δ may be added."""
        ledger.add(Spending.of_domains("people.toml", 0.1, 1e-7))
        ledger.add(spending(30))
        ledger.add(spending(30))
        releases = [spending(30).alone] * 2
        least = 0.1 + summed_losses(tuple(releases)).epsilon(1e-6 - 1e-7)
        account = ledger.account()
        assert account.epsilon == pytest.approx(least)
        assert account.running == [0.1, pytest.approx(0.1 + releases[0].epsilon(1e-6 - 1e-7)), pytest.approx(least)]

    def test_the_delta_of_all_drafts_adds_up(self, ledger):
        """Eleven drafts fail more often than once in a million; no ε is small enough then."""
        for _ in range(6):
            ledger.add(Spending.of_domains("people.toml", 0.01, 1e-7))
        assert ledger.account().epsilon <= 0.06
        small = Spending.of_domains("people.toml", 0.001, 5e-7)
        with pytest.raises(
            kk.CalibrationError, match="Take a smaller epsilon, or declare domains from public knowledge"
        ):
            ledger.add(small)

    def test_too_large_an_epsilon_is_refused(self, ledger):
        with pytest.raises(kk.CalibrationError, match=r"ε = 0.8 would be spent .* Take a smaller epsilon"):
            ledger.add(Spending.of_domains("people.toml", 0.8, 1e-7))

    def test_a_ledger_of_the_format_before_is_read(self, ledger):
        ledger.add(spending())
        told = json.loads(ledger.path.read_text(encoding="utf-8"))
        del told["digest"], told["releases"][0]["delta"], told["releases"][0]["failure"]
        told["kakuran_ledger"] = 1
        ledger.path.write_text(json.dumps(told | {"digest": ledger_file._digest(told)}), encoding="utf-8")
        assert ledger.account().epsilon == spending().alone.epsilon(1e-6)
