from __future__ import annotations

import math

import numpy as np
import pytest

from kakuran.errors import CalibrationError
from kakuran.mechanism import RetentionReplacement
from kakuran.randomness import Randomness

HALF_WORD = 1 << 32


class Scripted(Randomness):
    """A stream that hands out what it is told to."""

    def __init__(self, *half_words, redrawn=()):
        self._half_words = list(half_words)
        self._redrawn = list(redrawn)
        self.asked = []

    def fill(self, out):
        out[:] = self._half_words.pop(0)

    def below(self, bound, count):
        self.asked.append((bound, count))
        return np.array([self._redrawn.pop(0) for _ in range(count)])


class TestClosedForms:
    @pytest.mark.parametrize(("size", "retention"), [(2, 0.5), (10, 0.1), (1000, 0.05), (3, 0.999)])
    def test_epsilon_and_swap_cost_follow_the_paper(self, size, retention):
        g = (1 - retention) / (1 + (size - 1) * retention)
        mechanism = RetentionReplacement(size, retention)
        assert mechanism.epsilon == pytest.approx(-math.log(g))
        assert math.exp(-mechanism.largest_swap_cost) == pytest.approx(g**2)

    @pytest.mark.parametrize("size", [2, 3, 16, 1000])
    @pytest.mark.parametrize("cost", [1e-9, 0.1, 1.0, 10.0, 30.0])
    def test_the_retention_for_a_swap_cost_follows_the_paper(self, size, cost):
        mechanism = RetentionReplacement.for_swap_cost(size, cost)
        e = math.exp(cost / 2)
        assert mechanism.retention == pytest.approx((e - 1) / (e + size - 1), rel=1e-6)
        assert mechanism.largest_swap_cost == pytest.approx(cost, rel=1e-6)

    def test_a_fair_coin_answer_is_three_to_one(self):
        coin = RetentionReplacement(2, 0.5)
        assert np.exp(coin.log_likelihood(np.array([0, 1]), np.array([0, 0]))) == pytest.approx([0.75, 0.25])

    def test_the_replacement_may_be_the_true_value(self):
        assert RetentionReplacement(4, 0.2).transition().matrix[0, 0] == pytest.approx(0.2 + 0.8 / 4)

    def test_predicates_mix_by_their_share_of_the_domain(self):
        matrix = RetentionReplacement(1000, 0.3).transition(np.array([0, 400, 1000])).matrix
        assert matrix == pytest.approx(np.array([[0.3 + 0.7 * 0.4, 0.7 * 0.4], [0.7 * 0.6, 0.3 + 0.7 * 0.6]]))

    def test_the_variance_of_a_number_that_is_always_replaced_is_that_of_the_grid(self):
        assert RetentionReplacement(5, 0.0, step=2).variance() == pytest.approx(np.full(5, 8.0))


class TestEdges:
    def test_nothing_kept_means_no_information(self):
        mechanism = RetentionReplacement(5, 0.0)
        codes = np.zeros(5000, np.int32)
        assert mechanism.epsilon == 0
        assert mechanism.largest_swap_cost == 0
        assert mechanism.transition().matrix == pytest.approx(np.full((5, 5), 0.2))
        assert set(mechanism.sample(codes, Randomness.seeded(1)).tolist()) == {0, 1, 2, 3, 4}
        assert mechanism.swap_sums(np.array([1.0, 2, 3, 4, 5]), 0) == pytest.approx(np.full(5, 15.0))

    def test_nothing_kept_means_no_finite_variance_of_an_estimated_count(self):
        assert np.isposinf(RetentionReplacement(5, 0.0).variance()).all()

    def test_everything_kept_means_no_privacy(self):
        mechanism = RetentionReplacement(5, 1.0)
        codes = np.arange(5, dtype=np.int32)
        assert mechanism.epsilon == math.inf
        assert mechanism.largest_swap_cost == math.inf
        assert mechanism.sample(codes, Randomness.seeded(1)).tolist() == [0, 1, 2, 3, 4]
        assert np.array_equal(mechanism.transition().matrix, np.eye(5))
        assert mechanism.swap_sums(np.array([1.0, 2, 3, 4, 5]), 0).tolist() == [1, 2, 3, 4, 5]
        assert np.exp(mechanism.log_likelihood(codes, codes[::-1])).tolist() == [0, 0, 1, 0, 0]
        assert not mechanism.variance().any()

    def test_no_swap_cost_means_nothing_is_kept_and_any_cost_means_all_is(self):
        assert RetentionReplacement.for_swap_cost(4, 0.0).retention == 0
        assert RetentionReplacement.for_swap_cost(4, math.inf).retention == 1
        assert RetentionReplacement.for_swap_cost(4, 5000.0).retention == 1

    def test_a_copy_is_returned_even_where_nothing_changes(self):
        codes = np.arange(5, dtype=np.int32)
        assert not np.shares_memory(RetentionReplacement(5, 1.0).sample(codes, Randomness.seeded(1)), codes)


class TestSampler:
    RETENTION = 0.5 + 2.0**-40

    def sampled(self, stream):
        return RetentionReplacement(3, self.RETENTION).sample(np.array([2], np.int32), stream).item()

    def test_a_coin_below_the_retention_keeps(self):
        assert self.sampled(Scripted(HALF_WORD // 2 - 1, 5)) == 2

    def test_a_coin_above_the_retention_replaces(self):
        assert self.sampled(Scripted(HALF_WORD // 2 + 1, 5)) == 0

    @pytest.mark.parametrize(("further_bits", "released"), [((1 << 24) - 1, 2), (1 << 24, 0)])
    def test_a_coin_on_the_edge_is_decided_by_further_bits(self, further_bits, released):
        stream = Scripted(HALF_WORD // 2, 5, redrawn=[further_bits])
        assert self.sampled(stream) == released
        assert stream.asked == [(HALF_WORD, 1)]

    @pytest.mark.parametrize(("replacement", "released"), [(5, 0), (HALF_WORD // 3 + 1, 1), (HALF_WORD - 1, 2)])
    def test_the_replacement_is_the_scaled_half_word(self, replacement, released):
        assert self.sampled(Scripted(HALF_WORD - 1, replacement)) == released

    def test_an_unfair_replacement_is_drawn_again(self):
        stream = Scripted(HALF_WORD - 1, 0, redrawn=[1])
        assert self.sampled(stream) == 1
        assert stream.asked == [(3, 1)]

    def test_a_retention_below_all_coins_keeps_with_the_right_probability(self):
        tiny = RetentionReplacement(3, 2.0**-50)
        kept = tiny.sample(np.array([2], np.int32), Scripted(0, 5, redrawn=[(1 << 14) - 1]))
        replaced = tiny.sample(np.array([2], np.int32), Scripted(0, 5, redrawn=[1 << 14]))
        assert (kept.item(), replaced.item()) == (2, 0)

    def test_chunks_of_a_long_column_are_drawn_independently(self):
        codes = np.zeros(1 << 17, np.int32)
        drawn = RetentionReplacement(1000, 0.0).sample(codes, Randomness.seeded(1)).reshape(4, -1)
        assert len({part.tobytes() for part in drawn}) == 4


class TestRefusals:
    @pytest.mark.parametrize("size", [1, 0, -3])
    def test_fewer_than_two_values_are_refused(self, size):
        with pytest.raises(CalibrationError, match=f"at least 2 values, got {size}"):
            RetentionReplacement(size, 0.5)

    @pytest.mark.parametrize("retention", [1.2, -0.1, math.nan, math.inf])
    def test_a_retention_that_is_no_probability_is_refused(self, retention):
        with pytest.raises(CalibrationError, match=f"between 0 and 1, got {retention}"):
            RetentionReplacement(3, retention)
