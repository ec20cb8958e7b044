from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from kakuran.randomness import Randomness

DRAWS = 1 << 20


@pytest.fixture
def stream():
    return Randomness.secure()


@pytest.mark.parametrize("bits", [range(8), range(28, 36), range(56, 64)], ids=["low", "middle", "high"])
def test_the_bits_of_a_word_are_uniform(stream, bits, chi_square, accept):
    octets = (stream.words(DRAWS) >> np.uint64(bits.start)).astype(np.uint8)
    accept(chi_square(np.bincount(octets, minlength=256), np.ones(256)))


def test_words_do_not_depend_on_the_one_before(stream, chi_square, accept):
    pairs = (stream.words(DRAWS) >> np.uint64(60)).reshape(-1, 2)
    accept(
        chi_square(np.bincount((pairs[:, 0] * np.uint64(16) + pairs[:, 1]).astype(int), minlength=256), np.ones(256))
    )


def test_words_do_not_repeat_over_the_edge_of_a_block(stream, chi_square, accept):
    words = stream.words(DRAWS).reshape(-1, 1 << 14)
    difference = (words[1:] - words[:-1]).ravel() >> np.uint64(56)
    accept(chi_square(np.bincount(difference.astype(int), minlength=256), np.ones(256)))


@pytest.mark.parametrize("bound", [2, 3, 7, 100, 255])
def test_integers_below_a_small_bound_are_uniform(stream, bound, chi_square, accept):
    accept(chi_square(np.bincount(stream.below(bound, DRAWS), minlength=bound), np.ones(bound)))


@pytest.mark.parametrize("bound", [(1 << 31) + 1, 3 << 30, (1 << 32) - 1, 1 << 32])
def test_integers_below_a_large_bound_are_uniform(stream, bound, chi_square, accept):
    edges = np.array([bound * part // 96 for part in range(97)])
    drawn = np.histogram(stream.below(bound, DRAWS), edges)[0]
    accept(chi_square(drawn, np.diff(edges)))


@pytest.mark.parametrize("bound", [(1 << 31) + 1, 3 << 30, (1 << 32) - 1, 1 << 32])
@pytest.mark.parametrize("modulus", [3, 4])
def test_integers_below_a_large_bound_are_uniform_in_their_low_digits(stream, bound, modulus, chi_square, accept):
    """Without rejection, of any three integers below 3·2³⁰ one would come up twice as often as the others."""
    shares = np.array([len(range(rest, bound, modulus)) for rest in range(modulus)], float)
    accept(chi_square(np.bincount(stream.below(bound, DRAWS) % modulus, minlength=modulus), shares))


def test_all_orders_of_four_are_equally_likely(stream, chi_square, accept):
    places = {order: place for place, order in enumerate(permutations(range(4)))}
    drawn = [places[tuple(stream.permutation(4).tolist())] for _ in range(36_000)]
    accept(chi_square(np.bincount(drawn, minlength=24), np.ones(24)))


def test_every_place_of_a_long_order_is_equally_likely_for_the_first(stream, chi_square, accept):
    places = [int(stream.permutation(10)[0]) for _ in range(20_000)]
    accept(chi_square(np.bincount(places, minlength=10), np.ones(10)))


def test_multiplying_without_rejecting_would_be_found_out(stream, chi_square, alpha):
    bound = 3 << 30
    biased = (stream.below(1 << 32, DRAWS) * bound) >> 32
    assert chi_square(np.bincount(biased % 3, minlength=3), np.ones(3)) < alpha


def test_sorting_by_coins_would_be_found_out(stream, chi_square, alpha):
    places = {order: place for place, order in enumerate(permutations(range(4)))}
    drawn = [places[tuple(np.argsort(stream.below(16, 4), kind="stable").tolist())] for _ in range(36_000)]
    assert chi_square(np.bincount(drawn, minlength=24), np.ones(24)) < alpha
