from __future__ import annotations

import copy
import itertools
import os
import pickle
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kakuran.errors import RandomnessError
from kakuran.randomness import Randomness

BLOCK = 1 << 17
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def in_a_forked_child(action: Callable[[], bytes]) -> bytes:
    """What `action` returned there; the name of its exception where it raised."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = action()
        except BaseException as error:
            answer = type(error).__name__.encode()
        os.write(write, answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def streams_differ(first: Randomness, second: Randomness) -> bool:
    return not np.array_equal(first.words(8), second.words(8))


class TestSeeds:
    def test_the_same_seed_gives_the_same_stream(self):
        first, second = Randomness.seeded(11), Randomness.seeded(11)
        assert first.words(1000).tolist() == second.words(1000).tolist()
        assert first.below(1000, 50).tolist() == second.below(1000, 50).tolist()
        assert first.permutation(50).tolist() == second.permutation(50).tolist()
        assert first.generator().random() == second.generator().random()

    def test_different_seeds_give_different_streams(self):
        openings = {tuple(Randomness.seeded(seed).words(2).tolist()) for seed in range(-500, 500)}
        assert len(openings) == 1000

    def test_a_stream_does_not_repeat_itself(self):
        stream = Randomness.seeded(0)
        assert len(np.unique(np.concatenate([stream.words(1000) for _ in range(50)]))) == 50_000

    def test_a_numpy_seed_equals_the_plain_one(self):
        assert not streams_differ(Randomness.seeded(np.int64(5)), Randomness.seeded(5))

    def test_a_seed_marks_the_stream_and_everything_spawned_from_it(self):
        assert Randomness.seeded(1).is_seeded
        assert Randomness.seeded(1).spawn(3).spawn(4).is_seeded
        assert Randomness.from_seed(0).is_seeded

    def test_no_seed_means_a_secret_stream(self):
        assert not Randomness.from_seed(None).is_seeded
        assert not Randomness.secure().spawn(3).is_seeded

    def test_secret_streams_differ(self):
        assert streams_differ(Randomness.secure(), Randomness.secure())


class TestSpawning:
    def test_spawned_streams_are_a_function_of_seed_and_index(self):
        parent = Randomness.seeded(3)
        parent.words(100)
        assert not streams_differ(parent.spawn(5), Randomness.seeded(3).spawn(5))

    def test_different_indexes_and_seeds_and_depths_give_different_streams(self):
        streams = [Randomness.seeded(seed).spawn(index) for seed in range(20) for index in range(-1, 20)]
        streams += [Randomness.seeded(seed).spawn(index).spawn(index) for seed in range(5) for index in range(5)]
        streams += [Randomness.seeded(seed) for seed in range(20)]
        assert len({tuple(stream.words(2).tolist()) for stream in streams}) == len(streams)

    def test_spawning_leaves_the_parent_stream_where_it_was(self):
        parent = Randomness.seeded(3)
        parent.spawn(0)
        assert not streams_differ(parent, Randomness.seeded(3))

    def test_spawning_twice_from_a_secret_stream_never_gives_the_same_stream(self):
        parent = Randomness.secure()
        assert streams_differ(parent.spawn(0), parent.spawn(0))
        assert streams_differ(parent.spawn(0), parent)


class TestCopies:
    @needs_fork
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_forked_secret_stream_does_not_repeat_the_numbers_of_its_parent(self):
        stream = Randomness.secure()
        stream.words(4)
        first = in_a_forked_child(lambda: stream.words(4).tobytes())
        second = in_a_forked_child(lambda: stream.words(4).tobytes())
        own = stream.words(4).tobytes()
        assert [len(answer) for answer in (first, second, own)] == [32, 32, 32]
        assert len({first, second, own}) == 3

    @needs_fork
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_forked_secret_stream_stays_secret_and_moves_on(self):
        stream = Randomness.secure()

        def act() -> bytes:
            return b"moves on" if streams_differ(stream, stream) and not stream.is_seeded else b"stuck"

        assert in_a_forked_child(act) == b"moves on"

    @needs_fork
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.parametrize("draw", ["words", "permutation"])
    def test_a_forked_seeded_stream_refuses_to_run(self, draw):
        stream = Randomness.seeded(1)
        assert in_a_forked_child(lambda: getattr(stream, draw)(4).tobytes()) == b"RandomnessError"
        assert in_a_forked_child(lambda: stream.below(10, 4).tobytes()) == b"RandomnessError"

    @needs_fork
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_forked_child_may_spawn_its_own_seeded_stream(self):
        stream = Randomness.seeded(1)
        there = in_a_forked_child(lambda: stream.spawn(2).words(4).tobytes())
        assert there == Randomness.seeded(1).spawn(2).words(4).tobytes()

    @pytest.mark.parametrize("duplicate", [lambda s: pickle.loads(pickle.dumps(s)), copy.copy, copy.deepcopy])
    def test_a_copy_of_a_secret_stream_is_another_secret_stream(self, duplicate):
        stream = Randomness.secure()
        twin = duplicate(stream)
        assert not twin.is_seeded
        assert streams_differ(stream, twin)

    @pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
    def test_a_seeded_stream_refuses_to_be_copied(self, duplicate):
        with pytest.raises(RandomnessError, match=r"seeded stream cannot be sent .*spawn"):
            duplicate(Randomness.seeded(1))

    def test_a_pickled_secret_stream_does_not_carry_its_key(self):
        assert len(pickle.dumps(Randomness.secure())) == len(pickle.dumps(Randomness.secure()))
        assert pickle.dumps(Randomness.secure()) == pickle.dumps(Randomness.secure())


class TestFilling:
    @pytest.mark.parametrize("size", [1, 15, 16, 17, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
    def test_every_byte_of_an_array_is_overwritten(self, size):
        stream = Randomness.seeded(size)
        seen = np.zeros(size, np.uint8)
        for _ in range(12):
            drawn = np.zeros(size, np.uint8)
            stream.fill(drawn)
            seen |= drawn
        assert seen.all()

    def test_blocks_of_a_large_array_differ(self):
        bytes_ = np.zeros(5 * BLOCK, np.uint8)
        Randomness.seeded(2).fill(bytes_)
        assert len({block.tobytes() for block in bytes_.reshape(5, BLOCK)}) == 5

    def test_nothing_beyond_the_array_is_touched(self):
        whole = np.zeros(2 * BLOCK, np.uint8)
        Randomness.seeded(2).fill(whole[10 : BLOCK + 20])
        assert not whole[:10].any()
        assert not whole[BLOCK + 20 :].any()

    @pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.int64, np.float64])
    def test_arrays_of_any_type_and_shape_can_be_filled(self, kind):
        out = np.zeros((3, 50), kind)
        Randomness.seeded(2).fill(out)
        assert np.count_nonzero(out.view(np.uint8)) > out.nbytes // 2

    def test_an_array_with_gaps_is_refused(self):
        with pytest.raises((TypeError, ValueError, BufferError)):
            Randomness.seeded(2).fill(np.zeros(20, np.uint8)[::2])

    def test_no_words_are_no_words(self):
        stream = Randomness.seeded(2)
        assert stream.words(0).shape == (0,)
        assert stream.below(5, 0).shape == (0,)
        assert stream.permutation(0).shape == (0,)


class TestIntegers:
    @pytest.mark.parametrize("bound", [0, -1, (1 << 32) + 1])
    def test_a_bound_outside_one_to_two_to_the_32_is_refused(self, bound):
        with pytest.raises(RandomnessError, match=f"not below {bound}"):
            Randomness.seeded(1).below(bound, 3)

    def test_below_one_is_always_zero(self):
        assert not Randomness.seeded(1).below(1, 1000).any()

    @pytest.mark.parametrize("bound", [2, 3, 7, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32])
    def test_integers_stay_below_their_bound(self, bound):
        drawn = Randomness.seeded(1).below(bound, 100_000)
        assert drawn.min() >= 0
        assert drawn.max() < bound
        assert drawn.max() > 0.99 * (bound - 1)

    @pytest.mark.parametrize("bound", [(1 << 31) + 1, (1 << 30) + 7, (1 << 26) - 5, 3 << 28])
    @pytest.mark.parametrize("place", [0.0, 0.3, 0.99])
    def test_every_integer_is_hit_by_equally_many_half_words(self, bound, place, monkeypatch):
        first = int(place * (1 << 32))
        words = np.arange(first, first + 40_000, dtype=np.uint32)
        fair_word_for_one = -(-(1 << 32) // bound) + 1
        stream = Randomness.seeded(1)

        def scripted(out):
            out[:] = words if len(out) == len(words) else fair_word_for_one

        monkeypatch.setattr(stream, "fill", scripted)
        values, hits = np.unique(stream.below(bound, len(words)), return_counts=True)
        is_covered = (values > max(1, values[values > 1].min())) & (values < values.max())
        assert is_covered.sum() > 500
        assert (hits[is_covered] == (1 << 32) // bound).all()

    def test_unfair_half_words_are_drawn_again(self, monkeypatch):
        script = [np.array([0, 0x80000000, 0], np.uint32), np.array([0, 0xFFFFFFFF], np.uint32), [0x80000000]]
        stream = Randomness.seeded(1)

        def scripted(out):
            out[:] = script.pop(0)

        monkeypatch.setattr(stream, "fill", scripted)
        assert stream.below(3, 3).tolist() == [1, 1, 2]
        assert script == []


class TestOrders:
    @pytest.mark.parametrize("count", [1, 2, 10, 100_000])
    def test_a_permutation_holds_everything_once(self, count):
        assert np.array_equal(np.sort(Randomness.seeded(4).permutation(count)), np.arange(count))

    def test_equal_keys_are_drawn_again(self, monkeypatch):
        script = [np.array([5, 1, 5], np.uint64), np.array([3, 1, 2], np.uint64)]
        stream = Randomness.seeded(1)
        monkeypatch.setattr(stream, "words", lambda count: script.pop(0))
        assert stream.permutation(3).tolist() == [1, 2, 0]
        assert script == []

    @given(st.lists(st.sampled_from([0, 1, 2, 3, 5, 2**32, 2**40, 2**63, 2**63 + 1, 2**64 - 1]), unique=True))
    def test_things_come_in_the_order_of_their_keys_however_close_these_are(self, keys):
        stream = Randomness.seeded(1)
        stream.words = lambda count: np.array(keys, np.uint64)
        assert stream.permutation(len(keys)).tolist() == sorted(range(len(keys)), key=keys.__getitem__)

    def test_every_order_of_four_is_as_likely(self):
        """χ² with 23 degrees of freedom passes 90 four times in 10¹⁰ runs."""
        stream, seen = Randomness.secure(), Counter()
        for _ in range(2400):
            seen[tuple(stream.permutation(4).tolist())] += 1
        assert sum((seen[order] - 100) ** 2 / 100 for order in itertools.permutations(range(4))) < 90


def test_a_stream_derived_from_content_is_a_function_of_it():
    first, same, other = (Randomness.derived(content).words(4).tolist() for content in (b"a", b"a", b"b"))
    assert first == same != other
    assert Randomness.derived(b"a").is_seeded
