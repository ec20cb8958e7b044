"""A random order of more rows than fit in memory."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.stats import chisquare, spearmanr

from kakuran.perturbation import Shuffler
from kakuran.randomness import Randomness

ROW = np.dtype([("f0", np.int32), ("f1", np.int8)])


def numbered(start, stop):
    rows = np.empty(stop - start, ROW)
    rows["f0"] = np.arange(start, stop)
    rows["f1"] = rows["f0"] % 7
    return rows


def shuffled(folder, sizes, buckets, randomness):
    shuffler = Shuffler(buckets, folder, randomness)
    start = 0
    for size in sizes:
        shuffler.add(numbered(start, start + size))
        start += size
    return np.concatenate([shuffler.bucket(number) for number in range(buckets)])


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 200), min_size=1, max_size=6), st.integers(1, 20))
def test_every_row_comes_out_once_and_whole(tmp_path, sizes, buckets):
    rows = shuffled(tmp_path, sizes, buckets, Randomness.secure())
    assert sorted(rows["f0"].tolist()) == list(range(sum(sizes)))
    assert (rows["f1"] == rows["f0"] % 7).all()


def test_buckets_are_gone_once_they_were_read(tmp_path):
    shuffled(tmp_path, [1000], 5, Randomness.secure())
    assert list(tmp_path.iterdir()) == []


def test_a_seeded_order_is_the_same_again_whatever_bucket_is_read_first(tmp_path):
    first = shuffled(tmp_path, [500, 500], 4, Randomness.seeded(3))
    shuffler = Shuffler(4, tmp_path, Randomness.seeded(3))
    shuffler.add(numbered(0, 500))
    shuffler.add(numbered(500, 1000))
    backwards = {number: shuffler.bucket(number) for number in reversed(range(4))}
    assert (np.concatenate([backwards[number] for number in range(4)]) == first).all()


def test_two_secret_orders_differ(tmp_path):
    first, second = (shuffled(tmp_path, [1000], 3, Randomness.secure()) for _ in range(2))
    assert first["f0"].tolist() != second["f0"].tolist()


@pytest.mark.parametrize("buckets", [1, 2, 7, 300])
def test_place_before_and_after_are_unrelated(tmp_path, buckets):
    rows = shuffled(tmp_path, [3000, 3000], buckets, Randomness.secure())
    correlation = spearmanr(np.arange(6000), rows["f0"]).statistic
    assert abs(correlation) < 5.5 / np.sqrt(6000)


@pytest.mark.parametrize("buckets", [1, 3])
def test_every_order_of_few_rows_is_equally_likely(tmp_path, buckets):
    orders = Counter(
        tuple(shuffled(tmp_path, [1, 3], buckets, Randomness.secure())["f0"].tolist()) for _ in range(1200)
    )
    counts = [orders[order] for order in itertools.permutations(range(4))]
    assert sum(counts) == 1200
    assert chisquare(counts).pvalue > 1e-7


def test_no_rows_at_all_come_out_as_none(tmp_path):
    assert len(Shuffler(2, tmp_path, Randomness.secure()).bucket(0)) == 0
