"""What a released matrix still says of items."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from kakuran.wide import ItemsKept, Supports, boolean_product, outsized_rows, release_matrix


@pytest.fixture(scope="module")
def people():
    dice = np.random.default_rng(0)
    bits, patterns = (dice.random((20_000, 4)) < 0.3).astype(np.uint8), (dice.random((30, 4)) < 0.4).astype(np.uint8)
    patterns[0] = 0
    return bits, patterns


def test_supports_corrected_for_noise_hold_the_truth_where_released_ones_do_not(people):
    """Each interval misses in 1 of 10 draws; items share patterns, so that several may miss together."""
    bits, patterns = people
    truth = (boolean_product(bits, patterns) != 0).mean(axis=0)
    released = release_matrix(boolean_product(bits, patterns), 10, protect="perturb", rank=4)
    found, there = released.supports, np.asarray(truth).ravel() > 0
    truth = np.asarray(truth).ravel()
    held = (found.low <= truth) & (truth <= found.high)
    naive = np.asarray((released.matrix != 0).mean(axis=0)).ravel()
    assert np.abs(found.estimates - truth)[there].mean() < 0.3 * np.abs(naive - truth)[there].mean()
    assert held[there].any()


def test_intervals_of_corrected_supports_miss_one_time_in_ten(people):
    """Two hundred draws of 500 people: a coverage of .9 comes out between .8 and .97 in all but 1 of 10⁵ runs."""
    bits, patterns = people[0][:500], np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]], np.uint8)
    truth = (bits @ patterns.T > 0).mean(axis=0)
    dice, retention = np.random.default_rng(1), np.array([0.5, 0.6, 0.7, 0.8])
    held = []
    for _ in range(200):
        kept = dice.random(bits.shape) < retention
        drawn = np.where(kept, bits, dice.integers(0, 2, bits.shape)).astype(np.uint8)
        found = Supports.of_bits(drawn, patterns, retention)
        held.append((found.low <= truth) & (truth <= found.high))
    assert (np.abs(np.mean(held, axis=0) - 0.9) < 0.1).all()


def test_of_an_item_in_no_pattern_nothing_is_claimed(people):
    bits, patterns = people
    found = Supports.of_bits(bits, patterns, np.full(4, 0.9))
    assert np.isnan([found.estimates[0], found.low[0], found.high[0]]).all()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["estimate"][0] is None


def test_only_perturbed_factors_have_supports_and_publish_them(people):
    matrix = boolean_product(people[0][:200], people[1])
    aggregated = release_matrix(matrix, 5, protect="aggregate", rank=4)
    assert aggregated.supports is None
    assert "supports" not in aggregated.manifest
    perturbed = release_matrix(matrix, 5, protect="perturb", rank=4)
    assert perturbed.manifest["supports"] == perturbed.supports.to_dict()


def test_kept_items_are_those_of_a_table_counted_by_hand():
    before = csr_array(np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1], [1, 0, 0, 0]]))
    after = csr_array(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    found = ItemsKept.of(before, after)
    assert found.top.tolist() == [0, 1, 2, 3]
    assert found.before.tolist() == [1, 0.5, 0.25, 0.25]
    assert found.after.tolist() == [0.5, 0.5, 0, 0]
    assert found.support == 0.5
    assert (found.pairs, found.pairs_kept, found.lost, found.held) == (4, 1, 2, 4)


def test_somebody_with_a_shop_full_of_items_is_found():
    rows = np.zeros((50, 400), int)
    rows[:, :3] = 1
    rows[7, :350] = 1
    rows[9, :20] = 1
    assert outsized_rows(csr_array(rows)) == [(7, 350)]


def test_the_support_of_an_item_that_noise_has_put_below_zero_is_not_sure_to_be_zero():
    bits = np.repeat([1, 0], [10, 90]).astype(np.uint8)[:, None]  # of 25 that noise alone would make
    found = Supports.of_bits(bits, np.ones((1, 1), np.uint8), np.array([0.5]))
    assert (found.estimates[0], found.low[0]) == (0, 0)
    assert found.high[0] == pytest.approx(1.645 * 0.6 / 10, rel=0.01)
