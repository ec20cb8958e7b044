"""Dense and sparse crowds against the plain sum over all pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.counts import DenseTally, SparseTally, Tally, every_code
from kakuran.counts.tally import DENSE_CELLS
from kakuran.design import Crowd
from kakuran.mechanism import Apart

KINDS = [DenseTally, SparseTally]
PRAM = kk.PRAM([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.0, 0.25, 0.75]])
COLUMNS = {
    "retention": (kk.Categorical("retention", ["x", "y", "z", "w"]), kk.RetentionReplacement(4, 0.4)),
    "unchanged": (kk.Categorical("unchanged", ["x", "y"]), kk.RetentionReplacement(2, 1.0)),
    "forgotten": (kk.Categorical("forgotten", ["x", "y"]), kk.RetentionReplacement(2, 0.0)),
    "laplace": (kk.Numeric("laplace", 0, 20, step=1), kk.BoundedLaplace(21, 1, 9.0)),
    "wide laplace": (kk.Numeric("wide laplace", 0, 3, step=0.5), kk.Laplace(7, 0.5, 3.0)),
    "gaussian": (kk.Numeric("gaussian", 0, 8, step=1), kk.BoundedGaussian(9, 1, 4.0)),
    "silent": (kk.Numeric("silent", 0, 8, step=1), kk.BoundedLaplace(9, 1, 0.0)),
    "numbers": (kk.Numeric("numbers", 0, 8, step=1), kk.RetentionReplacement(9, 0.2, step=1)),
    "pram": (kk.Categorical("pram", ["x", "y", "z"]), PRAM),
    "kept": (kk.Categorical("kept", ["x", "y"], role="keep"), None),
}


def crowds_by_pairs(names, codes):
    """Σ_j m_ij of every person, pair by pair."""
    cost = 0.0
    for name in names:
        mechanism = COLUMNS[name][1]
        a, b = codes[name][:, None], codes[name][None, :]
        cost = cost + (np.where(a != b, math.inf, 0.0) if mechanism is None else mechanism.swap_cost(a, b))
    return np.exp(-cost).sum(axis=1)


def filled(kind, names, codes, batches=1):
    tally = kind([every_code(COLUMNS[name][0]) for name in names])
    n = len(codes[names[0]])
    for part in np.array_split(np.arange(n), batches):
        tally.update({name: codes[name][part] for name in names})
    return tally


def both_kinds(names, codes, batches=1):
    return [filled(kind, names, codes, batches) for kind in KINDS]


def mechanisms_for(names):
    return {name: COLUMNS[name][1] for name in names if COLUMNS[name][1] is not None}


@st.composite
def cases(draw, most=60):
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=4, unique=True))
    n = draw(st.integers(2, most))
    generator = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    spread = draw(st.sampled_from([0.3, 1.0]))
    codes = {
        name: generator.integers(0, math.ceil(COLUMNS[name][0].size * spread), n).astype(np.int32) for name in names
    }
    return names, codes


class TestLaws:
    """Of both kinds, on the very same cases."""

    @settings(deadline=None, max_examples=150)
    @given(case=cases(), batches=st.integers(1, 3))
    def test_the_smallest_crowd_is_the_smallest_sum_over_all_pairs(self, case, batches):
        names, codes = case
        expected = crowds_by_pairs(names, codes).min()
        for tally in both_kinds(names, codes, min(batches, len(codes[names[0]]))):
            assert Crowd(tally).smallest([Apart(mechanisms_for(names))]) == pytest.approx(expected, rel=1e-10)

    @settings(deadline=None, max_examples=150)
    @given(case=cases(), cap=st.floats(1, 70))
    def test_a_cap_bounds_the_answer_and_changes_nothing_below_it(self, case, cap):
        names, codes = case
        expected = min(cap, crowds_by_pairs(names, codes).min())
        for tally in both_kinds(names, codes):
            assert Crowd(tally).smallest([Apart(mechanisms_for(names))], cap=cap) == pytest.approx(expected, rel=1e-10)

    @settings(deadline=None, max_examples=150)
    @given(case=cases(), enough=st.floats(1, 70), asks=st.integers(1, 3))
    def test_an_answer_below_enough_is_somebodys_crowd_and_any_other_is_the_smallest(self, case, enough, asks):
        names, codes = case
        everybody = crowds_by_pairs(names, codes)
        for tally in both_kinds(names, codes):
            crowd = Crowd(tally)
            for _ in range(asks):
                answer = crowd.smallest([Apart(mechanisms_for(names))], enough=enough)
                if answer < enough:
                    assert np.isclose(everybody, answer, rtol=1e-10).any()
                else:
                    assert answer == pytest.approx(everybody.min(), rel=1e-10)
                assert (everybody.min() < enough * (1 - 1e-10)) <= (answer < enough)

    @settings(deadline=None, max_examples=100)
    @given(case=cases(), k=st.floats(1, 40))
    def test_it_reaches_k_when_everybody_does(self, case, k):
        names, codes = case
        smallest = crowds_by_pairs(names, codes).min()
        if abs(smallest / k - 1) > 1e-9:
            for tally in both_kinds(names, codes):
                assert Crowd(tally).reaches(k, [Apart(mechanisms_for(names))]) == (smallest >= k)

    @settings(deadline=None, max_examples=100)
    @given(case=cases())
    def test_the_fewest_alike_are_the_rarest_record_and_without_mechanisms_a_crowd(self, case):
        names, codes = case
        counts = np.unique(np.column_stack(list(codes.values())), axis=0, return_counts=True)[1]
        for tally in both_kinds(names, codes):
            assert tally.fewest == counts.min()
            assert tally.n == counts.sum()
            assert Crowd(tally).smallest([Apart({})]) == tally.fewest

    @settings(deadline=None, max_examples=50)
    @given(case=cases(most=30), seed=st.integers(0, 1 << 32))
    def test_the_order_of_people_does_not_matter(self, case, seed):
        names, codes = case
        order = np.random.default_rng(seed).permutation(len(codes[names[0]]))
        mixed = {name: column[order] for name, column in codes.items()}
        mechanisms = mechanisms_for(names)
        for tally, other in zip(both_kinds(names, codes), both_kinds(names, mixed), strict=True):
            assert Crowd(tally).smallest([Apart(mechanisms)]) == pytest.approx(
                Crowd(other).smallest([Apart(mechanisms)]), rel=1e-12
            )


@pytest.mark.parametrize("kind", KINDS)
class TestBothKinds:
    def test_what_is_asked_first_does_not_change_later_answers(self, kind):
        names = ["laplace", "retention"]
        generator = np.random.default_rng(3)
        codes = {name: generator.integers(0, COLUMNS[name][0].size, 200).astype(np.int32) for name in names}
        tally = filled(kind, names, codes)
        mechanisms = mechanisms_for(names)
        crowd = Crowd(tally)
        for scale in (0.5, 50.0, 2.0):
            crowd.smallest(
                [Apart({"laplace": kk.BoundedLaplace(21, 1, scale), "retention": mechanisms["retention"]})], 8, 4
            )
        assert crowd.smallest([Apart(mechanisms)]) == pytest.approx(crowds_by_pairs(names, codes).min(), rel=1e-10)

    def test_an_empty_batch_adds_nobody(self, kind):
        tally = kind([every_code(COLUMNS["retention"][0])])
        empty = {"retention": np.empty(0, np.int32)}
        tally.update(empty, 0)
        assert tally.n == 0
        tally.update({"retention": np.array([1, 1, 2], np.int32)}, 3)
        tally.update(empty, 0)
        assert tally.n == 3
        assert tally.fewest == 1

    def test_counting_after_an_answer_counts(self, kind):
        tally = filled(kind, ["retention"], {"retention": np.array([0, 0, 1], np.int32)})
        assert Crowd(tally).smallest([Apart({})]) == 1
        tally.update({"retention": np.array([1, 1, 2, 2], np.int32)}, 4)
        assert Crowd(tally).smallest([Apart({})]) == 2


@settings(deadline=None, max_examples=60)
@given(case=cases(most=200))
def test_dense_and_sparse_agree(case):
    names, codes = case
    mechanisms = mechanisms_for(names)
    dense, sparse = both_kinds(names, codes)
    assert Crowd(dense).smallest([Apart(mechanisms)]) == pytest.approx(
        Crowd(sparse).smallest([Apart(mechanisms)]), rel=1e-10
    )


def test_more_records_than_one_block_are_summed_in_full():
    """2500 distinct records are three blocks of rows and columns."""
    generator = np.random.default_rng(5)
    attributes = [kk.Numeric("a", 0, 999, step=1), kk.Numeric("b", 0, 999, step=1)]
    mechanisms = {"a": kk.BoundedLaplace(1000, 1, 120.0), "b": kk.BoundedGaussian(1000, 1, 700.0)}
    codes = {name: generator.integers(0, 1000, 2500).astype(np.int32) for name in ("a", "b")}
    cost = sum(mechanisms[name].swap_cost(codes[name][:, None], codes[name][None, :]) for name in codes)
    expected = np.exp(-cost).sum(axis=1).min()
    for kind in KINDS:
        tally = kind(list(map(every_code, attributes)))
        tally.update(codes, 2500)
        assert Crowd(tally).smallest([Apart(mechanisms)]) == pytest.approx(expected, rel=1e-10)
        assert Crowd(tally).smallest([Apart(mechanisms)], cap=expected * 2, enough=expected * 0.5) == pytest.approx(
            expected, rel=1e-10
        )


def test_the_kind_is_chosen_by_the_number_of_cells():
    assert DENSE_CELLS >= 1000 * 1000
    thousand = [kk.Numeric(name, 0, 999, step=1) for name in "abc"]
    assert isinstance(Tally.of_columns(thousand[:2]), DenseTally)
    assert isinstance(Tally.of_columns(thousand), SparseTally)


def test_people_are_told_apart_where_records_have_more_values_than_can_be_numbered():
    """Thirty columns of 21 values: more cells than 64 bits count."""
    attributes = [kk.Numeric(f"x{place}", 0, 20, step=1) for place in range(30)]
    generator = np.random.default_rng(1)
    rows = generator.integers(0, 21, (40, 30))[generator.integers(0, 40, 300)].astype(np.int32)
    codes = {attribute.name: rows[:, place] for place, attribute in enumerate(attributes)}
    one, other = Tally.of_columns(attributes), Tally.of_columns(attributes)
    one.update({name: column[:150] for name, column in codes.items()})
    other.update({name: column[150:] for name, column in codes.items()})
    tally = one.merge(other)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    found = np.column_stack(tally.occupied()[0])
    assert tally.n == 300
    assert (found == distinct).all()
    assert (tally.occupied()[1] == counts).all()
    assert Crowd(tally).smallest([Apart({})]) == counts.min()


def test_a_crowd_over_no_columns_is_everybody():
    tally = Tally.of_columns([])
    tally.update({}, 5)
    tally.update({}, 2)
    assert tally.n == 7
    assert tally.fewest == 7
    assert Crowd(tally).smallest([Apart({})]) == 7


@given(cases(), st.sampled_from(KINDS))
@settings(deadline=None, max_examples=50)
def test_crowds_counted_apart_and_merged_are_the_crowd_of_all(case, kind):
    names, codes = case
    half = len(codes[names[0]]) // 2
    parts = [{name: column[place] for name, column in codes.items()} for place in (slice(half), slice(half, None))]
    one, other = (filled(kind, names, part) for part in parts)
    both = one.merge(other)
    whole = filled(kind, names, codes)
    assert both.n == whole.n
    assert both.fewest == whole.fewest
    assert math.isclose(
        Crowd(both).smallest([Apart(mechanisms_for(names))]),
        Crowd(whole).smallest([Apart(mechanisms_for(names))]),
        rel_tol=1e-12,
    )
