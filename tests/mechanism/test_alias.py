from __future__ import annotations

import numpy as np
import pytest

from kakuran.mechanism.alias import TOTAL, AliasTable, integer_weights


def weights_of_halves(*powers):
    """Weights 2^−p of the total."""
    return np.array([TOTAL >> power for power in powers], np.uint64)


class TestIntegerWeights:
    @pytest.mark.parametrize(
        "shape",
        [[1.0], [1.0, 1.0], [1, 0, 0], [0, 0, 3], [1e-300, 1.0], [1e300, 1e-300], [0.1] * 10, np.ones(100_003)],
    )
    @pytest.mark.parametrize("floor", [0, 1, 1 << 20])
    def test_weights_add_up_to_two_to_the_63(self, shape, floor):
        weights = integer_weights(np.array(shape, float), floor)
        assert sum(weights.tolist()) == TOTAL

    def test_only_possible_outcomes_get_the_floor(self):
        weights = integer_weights(np.array([0.0, 1e-200, 0.5, 0.0]), 7)
        assert weights.tolist()[:2] == [0, 7]
        assert weights[3] == 0

    def test_weights_are_in_proportion(self):
        shape = np.array([0.1, 0.2, 0.3, 0.4])
        assert integer_weights(shape, 1) / TOTAL == pytest.approx(shape, rel=1e-14)


class TestTable:
    @pytest.mark.parametrize(
        "weights",
        [
            weights_of_halves(0),
            weights_of_halves(1, 1),
            weights_of_halves(2, 2, 2, 2),
            weights_of_halves(1, 2, 2),
            weights_of_halves(2, 2, 1),
            weights_of_halves(2, 1, 3, 3),
            weights_of_halves(3, 3, 1, 2),
            np.array([TOTAL >> 2, (TOTAL >> 2) + 100, (TOTAL >> 2) - 100, TOTAL >> 2], np.uint64),
            np.array([0, 0, TOTAL], np.uint64),
            np.array([TOTAL - 1, 1], np.uint64),
            np.array([1, TOTAL - 2, 1], np.uint64),
        ],
        ids=lambda weights: " ".join(f"{weight / TOTAL:.3g}" for weight in weights),
    )
    def test_outcomes_whose_weight_fills_a_column_exactly_keep_it(self, weights):
        assert share_of_words(AliasTable.build(weights))[: len(weights)] == [2 * int(weight) for weight in weights]

    def test_the_words_around_a_cut_part_there(self):
        table = AliasTable.build(integer_weights(np.array([0.5, 0.2, 0.3]), 1))
        parted = [column for column in range(3) if table.jump[column]]
        assert len(parted) == 2
        for column in parted:
            around = table.cut[column] - np.array([1, 0], np.uint64)
            assert table.draw(around).tolist() == [column, column + table.jump[column]]

    def test_the_first_and_last_word_are_outcomes_too(self):
        weights = integer_weights(np.array([0.5, 0.2, 0.3]), 1)
        drawn = AliasTable.build(weights).draw(np.array([0, (1 << 64) - 1], np.uint64))
        assert set(drawn.tolist()) <= {0, 1, 2}

    def test_rows_pick_one_of_several_tables(self):
        tables = [AliasTable.build(np.array(weights, np.uint64)) for weights in ([TOTAL, 0], [0, TOTAL])]
        joined = AliasTable(
            tables[0].bits, np.concatenate([t.cut for t in tables]), np.concatenate([t.jump for t in tables])
        )
        words = np.arange(0, 1 << 64, 1 << 60, dtype=np.uint64)
        rows = np.arange(len(words)) % 2
        assert joined.draw(words, rows).tolist() == rows.tolist()


def share_of_words(table):
    """How many of the 2⁶⁴ words lead to each outcome, from the cuts and jumps alone."""
    width = (1 << 64) >> table.bits
    shares = [0] * len(table.cut)
    for column, (cut, jump) in enumerate(zip(table.cut.tolist(), table.jump.tolist(), strict=True)):
        staying = min(max(cut - column * width, 0), width)
        shares[column] += staying
        shares[column + jump] += width - staying
    return shares
