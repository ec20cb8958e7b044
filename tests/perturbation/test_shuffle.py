"""A random order of more rows than fit in memory."""

from __future__ import annotations

import itertools
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.stats import chisquare, spearmanr
from tests.few_people import files_without_names_in

from kakuran import perturbation
from kakuran.randomness import Randomness

ROW = np.dtype([("f0", np.int32), ("f1", np.int8)])


def numbered(start, stop):
    rows = np.empty(stop - start, ROW)
    rows["f0"] = np.arange(start, stop)
    rows["f1"] = rows["f0"] % 7
    return rows


@pytest.fixture(autouse=True)
def _many_spills(monkeypatch):
    """Believe that few rows fit in memory."""
    monkeypatch.setattr(perturbation, "ROWS_AT_A_TIME", 300)
    monkeypatch.setattr(perturbation, "BUCKETS", 7)


def pieces(sizes):
    starts = itertools.accumulate(sizes, initial=0)
    return [numbered(start, start + size) for start, size in zip(starts, sizes, strict=False)]


def shuffled(folder, sizes, randomness):
    return np.concatenate([np.empty(0, ROW), *perturbation.shuffled(pieces(sizes), folder, randomness)])


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_every_row_comes_out_once_and_whole(tmp_path, sizes):
    rows = shuffled(tmp_path, sizes, Randomness.secure())
    assert sorted(rows["f0"].tolist()) == list(range(sum(sizes)))
    assert (rows["f1"] == rows["f0"] % 7).all()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows files that have no name")
def test_what_waits_on_disk_has_no_name_and_is_in_another_order_than_it_came(tmp_path):
    """Of 299 neighbours 150 ± 5 are in order, so a false alarm is ten standard deviations away."""

    def spilled():
        for number, piece in enumerate(pieces([150] * 8)):
            if number == 5:
                (file,) = files_without_names_in(tmp_path)
                on_disk.append(np.fromfile(file, ROW))
                assert list(tmp_path.iterdir()) == []
            yield piece

    on_disk = []
    list(perturbation.shuffled(spilled(), tmp_path, Randomness.secure()))
    (rows,) = on_disk
    assert sorted(rows["f0"].tolist()) == list(range(300))
    assert 100 < (np.diff(rows["f0"]) > 0).sum() < 200
    assert list(tmp_path.iterdir()) == []


def test_few_rows_never_go_to_disk(tmp_path):
    assert len(shuffled(tmp_path / "nowhere", [100, 199], Randomness.secure())) == 299


@pytest.mark.parametrize("sizes", [[100], [500, 500]], ids=["in memory", "on disk"])
def test_a_seeded_order_is_the_same_again_whatever_the_workers_do(tmp_path, monkeypatch, sizes):
    orders = []
    for cores in (1, 7):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        orders.append(shuffled(tmp_path, sizes, Randomness.seeded(3)))
    assert (orders[0] == orders[1]).all()


def test_two_secret_orders_differ(tmp_path):
    first, second = (shuffled(tmp_path, [1000], Randomness.secure()) for _ in range(2))
    assert first["f0"].tolist() != second["f0"].tolist()


@pytest.mark.parametrize("buckets", [1, 2, 7, 300])
def test_place_before_and_after_are_unrelated(tmp_path, monkeypatch, buckets):
    monkeypatch.setattr(perturbation, "BUCKETS", buckets)
    rows = shuffled(tmp_path, [600] * 10, Randomness.secure())
    correlation = spearmanr(np.arange(6000), rows["f0"]).statistic
    assert abs(correlation) < 5.5 / np.sqrt(6000)


@pytest.mark.parametrize(("buckets", "at_a_time"), [(1, 5), (1, 2), (3, 2)])
def test_every_order_of_few_rows_is_equally_likely(tmp_path, monkeypatch, buckets, at_a_time):
    monkeypatch.setattr(perturbation, "BUCKETS", buckets)
    monkeypatch.setattr(perturbation, "ROWS_AT_A_TIME", at_a_time)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    orders = Counter(tuple(shuffled(tmp_path, [1, 3], Randomness.secure())["f0"].tolist()) for _ in range(600))
    counts = [orders[order] for order in itertools.permutations(range(4))]
    assert sum(counts) == 600
    assert chisquare(counts).pvalue > 1e-7


def test_no_rows_at_all_come_out_as_none(tmp_path):
    assert len(shuffled(tmp_path, [], Randomness.secure())) == 0
