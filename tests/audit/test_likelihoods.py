"""What is summed and compared by halves of columns is what all pairs of a record and a person give."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kakuran.audit import likelihoods as module
from kakuran.audit.likelihoods import Likelihoods
from kakuran.mechanism import PRAM, Apart, BoundedLaplace, Itself, RetentionReplacement, Telling, Together, Window
from kakuran.randomness import Randomness

APART = Apart(
    {
        "job": RetentionReplacement(4, 0.5),
        "sex": PRAM([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]]),
        "age": BoundedLaplace(9, 1, 2.0),
    }
)
TOGETHER = {"job": Itself(4), "sex": Window(2, 1, may_be_missing=True), "age": Window(9, 2)}
SIZES = {"job": 4, "sex": 3, "age": 9}
TELLINGS: list[Telling] = [
    APART,
    *(Together(TOGETHER, retention) for retention in (0.0, 0.3, 1.0)),
    Together({name: TOGETHER[name] for name in ("job", "age")}, 0.4),
    Together({"sex": TOGETHER["sex"]}, 0.4),
]


@st.composite
def _cases(draw: st.DrawFn):
    """A telling, people and records of theirs, maybe with a public column, and how the columns are cut."""
    telling = draw(st.sampled_from(TELLINGS))
    dice = np.random.default_rng(draw(st.integers(0, 10**6)))
    people, records = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    original = {name: dice.integers(0, SIZES[name], people).astype(np.int32) for name in telling.columns}
    owners = dice.integers(0, people, records)
    stream = Randomness.seeded(draw(st.integers(0, 10**6)))
    released = telling.sample({name: codes[owners] for name, codes in original.items()}, stream)
    if draw(st.booleans()):
        original["town"] = dice.integers(0, 2, people).astype(np.int32)
        released["town"] = dice.integers(0, 3, records).astype(np.int32)
    cut = draw(st.integers(0, len(original)))
    names = draw(st.permutations(list(original)))
    return telling, released, original, (names[cut:], names[:cut]) if cut < len(names) else (names, [])


def _pair_by_pair(telling, released, original):
    rows, people = (
        {name: codes[place] for name, codes in table.items()}
        for table, place in ((released, np.s_[:, None]), (original, np.s_[None, :]))
    )
    chances = np.exp(telling.log_likelihood(rows, people))
    return np.where(rows["town"] == people["town"], chances, 0) if "town" in original else chances


@settings(deadline=None, max_examples=300)
@given(_cases(), st.sampled_from([4, 1 << 19]), st.booleans())
def test_halves_give_what_all_pairs_give(case, block, is_cached) -> None:
    telling, released, original, halves = case
    chances = _pair_by_pair(telling, released, original)
    dice = np.random.default_rng(0)
    sizes, weights = dice.integers(1, 5, chances.shape[1]).astype(float), 0.1 + dice.random(chances.shape[1])
    alike = dice.integers(1, 5, chances.shape[0]).astype(float)
    with (
        mock.patch.object(module, "cut_between", return_value=module.Cut(*halves, 0)),
        mock.patch.object(module, "_BLOCK_CELLS", block),
        mock.patch.object(module, "_FEW_COMBINATIONS", 1 << 24 if is_cached else 0),
    ):
        found = Likelihoods(telling, released, original)
        seen, claims, likeliest = found.suspicion(sizes), found.claims(weights, alike), found.likeliest(weights)
    with np.errstate(divide="ignore"):
        assert np.exp(seen.best) == pytest.approx(chances.max(axis=1))
        assert np.exp(seen.total) == pytest.approx(chances @ sizes)
    is_possible = chances.max(axis=1) > 0
    is_best = chances >= chances.max(axis=1, keepdims=True) * (1 - 1e-6)
    assert seen.ties[is_possible] == pytest.approx((is_best @ sizes)[is_possible])
    weighed = chances * weights
    shares = chances[is_possible] / weighed.sum(axis=1, keepdims=True)[is_possible]
    assert claims == pytest.approx(alike[is_possible] @ shares)
    rows = np.flatnonzero(is_possible)
    assert weighed[rows, likeliest[rows]] == pytest.approx(weighed[rows].max(axis=1))


def test_columns_are_cut_where_halves_have_about_as_many_combinations() -> None:
    dice = np.random.default_rng(1)
    sizes = {"a": 16, "b": 14, "c": 9, "d": 8, "e": 7, "f": 6, "g": 5, "h": 2, "i": 2}
    codes = {name: dice.integers(0, size, 20_000).astype(np.int32) for name, size in sizes.items()}
    cut = module.cut_between(codes, codes)
    assert {*cut.left, *cut.right} == set(sizes)
    assert all(2_000 < np.prod([sizes[name] for name in half]) < 5_000 for half in (cut.left, cut.right))
    assert cut.steps < 0.7 * 20_000**2


def test_where_a_column_is_everybodys_own_all_pairs_are_gone_through() -> None:
    codes = {"a": np.arange(5_000, dtype=np.int32), "b": np.arange(5_000, dtype=np.int32)}
    assert module.cut_between(codes, codes) == module.Cut(["a", "b"], [], 5_000 * 5_000)


def test_likelihoods_too_far_apart_to_be_multiplied_are_added_as_logarithms() -> None:
    telling = Apart({name: BoundedLaplace(2_000, 1, 1.0) for name in "ab"})
    original = {"a": np.array([0, 1999], np.int32), "b": np.array([0, 0], np.int32)}
    released = {"a": np.array([1999, 0], np.int32), "b": np.array([1999, 0], np.int32)}
    seen = Likelihoods(telling, released, original).suspicion(np.ones(2))
    logs = telling.log_likelihood(
        {name: codes[:, None] for name, codes in released.items()},
        {name: codes[None] for name, codes in original.items()},
    )
    assert seen.best == pytest.approx(logs.max(axis=1))
    assert seen.total == pytest.approx(np.logaddexp(*logs.T))
