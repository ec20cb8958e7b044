"""One joint model of records that each told only some of their columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from kakuran.errors import ArgumentError
from kakuran.mechanism import DenseTransition, UniformMixture
from kakuran.model import JointModel, Operator, ToldCounts, joint_model, latent_tells
from kakuran.model.joint import Blend
from kakuran.typing import Array

ADULT = Path(__file__).parents[3] / "shared/data/adult.data"
SIZES = (3, 2, 4, 5)
PAIRS = tuple(itertools.combinations(range(4), 2))


def as_one_value(sizes: Sequence[int], epsilon: float) -> Operator:
    """Retention of several columns as one value."""
    cells = math.prod(sizes)
    shares = [np.full(size, 1 / size) for size in sizes]
    retention = math.expm1(epsilon) / (math.expm1(epsilon) + cells)
    return Operator([UniformMixture(1.0, part) for part in shares], retention, shares)


def told(truth: Array, tells: Sequence[Sequence[int]], records: int, epsilon: float, seed: int) -> list[ToldCounts]:
    """What comes out of records that tell one of the tells, each as likely, as one value."""
    dice = np.random.default_rng(seed)
    found = []
    for axes in tells:
        table = margin(truth, axes)
        operator = as_one_value(table.shape, epsilon)
        counts = dice.multinomial(records // len(tells), operator.forward(table).ravel()).reshape(table.shape)
        found.append(ToldCounts(tuple(axes), counts.astype(float), operator))
    return found


def margin(truth: Array, axes: Sequence[int]) -> Array:
    """The table of some columns, in their order."""
    return np.einsum(truth, list(range(truth.ndim)), list(axes))


def two_classes(seed: int = 0) -> Array:
    """A joint table of two unlike classes."""
    dice = np.random.default_rng(seed)
    table = np.zeros(SIZES)
    for share in (0.6, 0.4):
        profiles = [dice.dirichlet(np.full(size, 0.4)) for size in SIZES]
        table += share * np.einsum("a,b,c,d->abcd", *profiles)
    return table


def chain(seed: int = 0, size: int = 8, columns: int = 4) -> Array:
    """A joint table of columns that each depend on the one before, all but exactly."""
    dice = np.random.default_rng(seed)
    table = np.full(size, 1 / size)
    for _ in range(columns - 1):
        step = 0.85 * np.eye(size)[dice.permutation(size)] + 0.15 / size
        table = table[..., None] * step
    return table


def wrong(model: Callable[[Sequence[int]], Array], truth: Array, ways: int) -> float:
    """The share of records in a wrong cell, on average over all tables of so many columns."""
    every = itertools.combinations(range(truth.ndim), ways)
    return float(np.mean([np.abs(model(axes) - margin(truth, axes)).sum() / 2 for axes in every]))


def counted(codes: Sequence[NDArray[np.intp]] | NDArray[np.intp], shape: Sequence[int]) -> Array:
    """How many records are in each cell."""
    cells = np.ravel_multi_index(tuple(codes), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float)


MADE = {"latent classes": two_classes(), "a tree of pairs": chain()}


@pytest.fixture(scope="module", params=MADE)
def model(request: pytest.FixtureRequest) -> JointModel:
    """A model of each kind of data."""
    return joint_model(MADE[request.param].shape, told(MADE[request.param], PAIRS, 100_000, 4.0, 0))


def test_what_the_data_are_made_of_counts_most(model: JointModel, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["model"]
    assert model.reason.template == "average of {count} by held-out likelihood, most of all {best} ({share:.0%})"
    assert kind in model.reason.values["best"]


def test_tables_add_up_to_one_and_to_each_other(model: JointModel) -> None:
    whole = model.table(range(4))
    assert whole.min() >= 0
    for ways in (1, 2, 3):
        for axes in itertools.permutations(range(4), ways):
            table = model.table(axes)
            assert table.sum() == pytest.approx(1)
            np.testing.assert_allclose(table, margin(whole, axes), atol=1e-9)


def test_cells_in_parts_are_added_up(model: JointModel) -> None:
    groups = [np.arange(model.sizes[3]) % 2, None, np.zeros(model.sizes[0], dtype=int)]
    whole = model.table((3, 1, 0))
    lumped = np.stack([whole[::2].sum(axis=0), whole[1::2].sum(axis=0)]).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(model.table((3, 1, 0), groups), lumped, atol=1e-12)


def test_a_column_given_others_is_their_table_along_it(model: JointModel) -> None:
    whole = model.table((2, 0, 1, 3))
    places = np.indices(whole.shape[1:]).reshape(3, -1)
    found = model.given(2, [places[0], places[1], None, places[2]])
    np.testing.assert_allclose(found, (whole / whole.sum(axis=0)).reshape(len(whole), -1).T, atol=1e-6)
    some = model.table((2, 3))
    np.testing.assert_allclose(
        model.given(2, [None, None, np.zeros(model.sizes[3], int), np.arange(model.sizes[3])]),
        (some / some.sum(axis=0)).T,
        atol=1e-6,
    )


def test_a_column_given_nothing_is_refused(model: JointModel) -> None:
    with pytest.raises(ArgumentError, match="say nothing about any other column"):
        model.given(1, [None, np.zeros(3, int), None, None])


@given(st.integers(0, 10**6))
def test_the_likelihood_never_falls_without_leaps(seed: int) -> None:
    dice = np.random.default_rng(seed)
    tells = list(_any_tells(dice))
    layout = latent_tells.ToldLayout(SIZES, tells)
    counts = layout.laid_out([one.counts for one in tells])
    point = layout.start(int(dice.integers(1, 5)), dice)
    before = -math.inf
    for _ in range(6):
        # The prior is part of what is climbed.
        prior = latent_tells.PRIOR * (layout.flat[:, None, None] * np.log(point.profiles)).sum()
        further, expected = layout.step(point, counts, layout.flat[:, None])
        likelihood = sum((seen * np.log(shares)).sum() for seen, shares in zip(counts, expected, strict=True)) + prior
        assert likelihood >= before - 1e-7 * abs(likelihood)
        point, before = further, likelihood


@given(st.integers(0, 10**6))
def test_expected_counts_are_what_each_operator_makes_of_the_table(seed: int) -> None:
    dice = np.random.default_rng(seed)
    tells = list(_any_tells(dice))
    layout = latent_tells.ToldLayout(SIZES, tells)
    point = layout.start(3, dice)
    _, expected = layout.step(point, layout.laid_out([one.counts for one in tells]), layout.flat[:, None])
    whole = latent_tells.ClassMixture.average(point, layout.starts)
    tables = [one.operator.forward(whole.table(one.axes, [None] * len(one.axes))) for one in tells]
    for found, meant in zip(expected, layout.laid_out(tables), strict=True):
        np.testing.assert_allclose(found[0], meant, rtol=1e-9)


@given(st.integers(0, 10**6))
def test_climbs_that_step_and_leap_together_go_where_each_goes_by_itself(seed: int) -> None:
    dice = np.random.default_rng(seed)
    tells = list(_any_tells(dice))
    layout = latent_tells.ToldLayout(SIZES, tells)
    starts = [layout.start(3, dice) for _ in range(2)]
    counts = [layout.laid_out([one.counts + dice.integers(0, 9, one.counts.shape) for one in tells]) for _ in starts]
    averages = np.column_stack([layout.flat, starts[0].profiles[:, 0, 0]])

    def gone(point: Any, seen: list[Array], averages: Array) -> tuple[Any, list[Array]]:
        once, expected = layout.step(point, seen, averages)
        return layout.leap(point, once, layout.step(once, seen, averages)[0], 4.0), expected

    together, expected = gone(latent_tells.ClassPoint.together(starts), latent_tells._stacked(counts), averages)
    for place, (start, seen, found) in enumerate(zip(starts, counts, together.apart(), strict=True)):
        apart, alone = gone(start, latent_tells._stacked([seen]), averages[:, [place]])
        np.testing.assert_allclose(found.shares, apart.shares, rtol=1e-9)
        np.testing.assert_allclose(found.profiles, apart.profiles, rtol=1e-9)
        for one, other in zip(expected, alone, strict=True):
            np.testing.assert_allclose(one[place], other[0], rtol=1e-9)


def _any_tells(dice: np.random.Generator) -> Iterator[ToldCounts]:
    """One to three columns each: kept, blurred, replaced each by itself or as one value."""
    blurs = [dice.dirichlet(np.ones(size), size).T + 2 * np.eye(size) for size in SIZES]
    for _ in range(4):
        axes = tuple(dice.permutation(len(SIZES))[: dice.integers(1, 4)].tolist())
        kinds = [
            None,
            *(DenseTransition(blurs[axis] / blurs[axis].sum(axis=0)) for axis in axes),
            *(UniformMixture(dice.choice([1.0, 0.5]), dice.dirichlet(np.ones(SIZES[axis]))) for axis in axes),
        ]
        chosen = [kinds[dice.choice([0, 1 + place, 1 + len(axes) + place])] for place in range(len(axes))]
        shares = [
            None if one is None else dice.dirichlet(np.ones(SIZES[axis]))
            for axis, one in zip(axes, chosen, strict=True)
        ]
        together = float(dice.choice([1.0, 0.4]))
        operator = Operator(chosen, together, shares if together < 1 else ())
        yield ToldCounts(axes, dice.integers(0, 50, [SIZES[axis] for axis in axes]).astype(float), operator)


def test_enough_classes_give_back_counts_that_were_not_perturbed() -> None:
    truth = np.random.default_rng(3).dirichlet(np.full(24, 0.5)).reshape(3, 2, 4)
    counts = np.rint(truth * 1e7)
    tells = [ToldCounts((0, 1, 2), counts, Operator([None] * 3))]
    assert wrong(joint_model((3, 2, 4), tells).table, truth, 3) < 0.005


def test_margins_of_kept_columns_are_known() -> None:
    truth = two_classes()
    dice = np.random.default_rng(5)
    tells = []
    for axes in [(0, 1, 2), (0, 1, 3), (0, 2, 3)]:
        table = margin(truth, axes)
        parts = [None, *(np.full(SIZES[axis], 1 / SIZES[axis]) for axis in axes[1:])]
        operator = Operator([None if one is None else UniformMixture(1.0, one) for one in parts], 0.3, parts)
        counts = dice.multinomial(100_000, operator.forward(table).ravel()).reshape(table.shape)
        tells.append(ToldCounts(axes, counts.astype(float), operator))
    model = joint_model(SIZES, tells)
    kept = sum(one.of([0]).counts for one in tells)
    np.testing.assert_allclose(model.table((0,)), kept / kept.sum(), atol=1e-3)
    assert wrong(model.table, truth, 2) < 0.02


def test_the_same_counts_give_the_same_answer() -> None:
    first, second = (joint_model(SIZES, told(two_classes(), PAIRS, 5_000, 3.0, 1)) for _ in range(2))
    np.testing.assert_array_equal(first.table((0, 2, 3)), second.table((0, 2, 3)))
    assert first.reason == second.reason


def test_classes_are_found_from_pairs() -> None:
    truth = two_classes()
    model = joint_model(SIZES, told(truth, PAIRS, 100_000, 4.0, 2))
    for ways, bound in ((1, 0.01), (2, 0.02), (3, 0.03), (4, 0.04)):
        assert wrong(model.table, truth, ways) < bound


def test_a_chain_is_found_from_pairs_and_its_far_ends_are_related() -> None:
    truth = chain()
    model = joint_model(truth.shape, told(truth, PAIRS, 200_000, 5.0, 2))
    assert wrong(model.table, truth, 2) < 0.03
    assert wrong(model.table, truth, 4) < 0.06


def test_columns_without_a_relation_are_said_to_have_next_to_none() -> None:
    """The counts of a pair alone would be off by 12 % or so."""
    dice = np.random.default_rng(4)
    truth = np.einsum("a,b,c,d->abcd", *(dice.dirichlet(np.ones(size)) for size in SIZES))
    model = joint_model(SIZES, told(truth, PAIRS, 10_000, 2.0, 3))
    assert wrong(model.table, truth, 2) < 0.06
    independent = np.einsum("a,d->ad", model.table((0,)), model.table((3,)))
    assert np.abs(model.table((0, 3)) - independent).sum() / 2 < 0.03
    assert model.reason.values["best"] == "independent columns"


def test_a_column_that_nobody_told_is_flat_and_related_to_nothing() -> None:
    model = joint_model((*SIZES, 4), told(two_classes(), PAIRS, 5_000, 4.0, 1))
    np.testing.assert_allclose(model.table((4,)), 0.25, atol=0.02)


def test_direct_tables_follow_the_counts_where_the_model_cannot() -> None:
    truth = chain(1, 12, 3)
    model = joint_model(truth.shape, told(truth, [(0, 1), (1, 2), (0, 2)], 3_000_000, 6.0, 0))
    flat = latent_tells.ClassMixture(np.ones(1), tuple(np.full((size, 1), 1 / size) for size in truth.shape))
    poor = JointModel(model.sizes, model.reason, [flat] * 6, model._evidence)
    assert wrong(poor.table, truth, 2) > 0.3
    assert wrong(poor.direct, truth, 2) < 0.02
    for axes in ((0, 1), (1, 2), (0, 2)):
        np.testing.assert_allclose(margin(poor.direct((0, 1, 2)), axes), poor.direct(axes), atol=5e-4)


def test_associations_that_a_model_lost_come_back_at_their_strength() -> None:
    truth = two_classes()
    model = joint_model(SIZES, told(truth, PAIRS, 2_000, 4.0, 0))
    apart = latent_tells.ClassMixture(np.ones(1), tuple(margin(truth, [axis])[:, None] for axis in range(4)))
    weak = JointModel(
        model.sizes, model.reason, [Blend([0.5, 0.5], [one, apart]) for one in model._joints], model._evidence
    )

    def strength(table: Callable[[Sequence[int]], Array]) -> float:
        """How much of the associations of all pairs a table has."""
        alone = [np.outer(margin(truth, axes[:1]), margin(truth, axes[1:])) for axes in PAIRS]
        true = [margin(truth, axes) - one for axes, one in zip(PAIRS, alone, strict=True)]
        found = [table(axes) - one for axes, one in zip(PAIRS, alone, strict=True)]
        pairs = list(zip(true, found, strict=True))
        return float(sum((one * other).sum() for one, other in pairs) / sum((one**2).sum() for one in true))

    assert strength(weak.table) < 0.6
    assert 0.85 < strength(weak.direct) < 1.1


def test_strength_makes_no_associations_where_there_are_none() -> None:
    dice = np.random.default_rng(4)
    truth = np.einsum("a,b,c,d->abcd", *(dice.dirichlet(np.ones(size)) for size in SIZES))
    model = joint_model(SIZES, told(truth, PAIRS, 10_000, 2.0, 3))
    assert wrong(model.direct, truth, 2) < 1.02 * wrong(model.table, truth, 2)


def test_margins_of_direct_tables_are_those_of_single_columns(model: JointModel) -> None:
    for axes in itertools.permutations(range(4), 2):
        for place, axis in enumerate(axes):
            np.testing.assert_allclose(model.direct(axes).sum(axis=1 - place), model.direct([axis]), atol=1e-9)


def test_counts_that_do_not_fit_are_refused() -> None:
    counts = ToldCounts((0, 1), np.ones((3, 3)), as_one_value((3, 2), 1.0))
    with pytest.raises(ArgumentError, match="3 cells along axis 1"):
        joint_model(SIZES, [counts])


def test_counts_of_other_cells_than_the_columns_have_are_refused() -> None:
    counts = ToldCounts((0, 1), np.ones((3, 3)), Operator([None, None]))
    with pytest.raises(ArgumentError, match=r"has counts of \(3, 3\) cells for columns \(0, 1\) of \(3, 2\)"):
        joint_model(SIZES, [counts])
    with pytest.raises(ArgumentError, match="holds no counts"):
        joint_model(SIZES, [])


@pytest.mark.parametrize("records", [0, 1, 2])
def test_hardly_any_records_give_a_table_all_the_same(records: int) -> None:
    counts = np.zeros((3, 2))
    counts[1, 1] = records
    model = joint_model(SIZES, [ToldCounts((0, 1), counts, as_one_value((3, 2), 2.0))])
    for table in (model.table((0, 1, 3)), model.direct((0, 1))):
        assert table.sum() == pytest.approx(1)
        assert table.min() >= 0


def test_what_was_told_of_fewer_columns_is_a_margin_perturbed_alike() -> None:
    truth = two_classes()
    one = told(truth, [(0, 2, 3)], 1_000, 2.0, 0)[0]
    fewer = one.of((3, 0))
    np.testing.assert_array_equal(fewer.counts, one.counts.sum(axis=1).T)
    np.testing.assert_allclose(
        fewer.operator.forward(margin(truth, (3, 0))),
        one.operator.forward(margin(truth, (0, 2, 3))).sum(axis=1).T,
    )


@pytest.mark.skipif(not ADULT.exists(), reason="needs the shared data")
def test_adult_in_pairs_is_read_as_well_as_promised() -> None:
    """Maths §10: 1.9 / 7.0 / 14.0 % in the wrong cell at k = 10 on average; one draw, a tenth more."""
    columns = [line.split(", ") for line in ADULT.read_text().splitlines() if line]
    names = [[row[place] for row in columns] for place in (1, 3, 5, 6, 7, 8, 9, 14)]
    ages = [min((int(row[0]) - 17) // 8, 8) for row in columns]
    codes = np.stack([np.unique(one, return_inverse=True)[1] for one in (*names, ages)])
    sizes = (codes.max(axis=1) + 1).tolist()
    dice = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(9), 2))
    drawn, tells = dice.integers(0, len(pairs), codes.shape[1]), []
    for place, axes in enumerate(pairs):
        mine = codes[:, drawn == place]
        shape = [sizes[axis] for axis in axes]
        operator = as_one_value(shape, math.log((codes.shape[1] - 1) / 9) / 2)
        replaced = dice.random(mine.shape[1]) >= operator.together
        seen = [np.where(replaced, dice.integers(0, sizes[axis], mine.shape[1]), mine[axis]) for axis in axes]
        tells.append(ToldCounts(axes, counted(seen, shape), operator))
    model = joint_model(sizes, tells)
    for ways, bound in ((1, 1.9), (2, 7.0), (3, 14.0)):
        every = list(itertools.combinations(range(9), ways))
        truths = [counted(codes[list(axes)], [sizes[axis] for axis in axes]) / codes.shape[1] for axes in every]
        errors = [np.abs(model.table(axes) - one).sum() / 2 for axes, one in zip(every, truths, strict=True)]
        assert 100 * np.mean(errors) < 1.1 * bound


def test_made_up_records_follow_the_model_also_where_some_of_their_columns_are_given():
    """χ² of 200,000 records; a false alarm in 10⁻⁴ of runs, and all runs are the same."""
    model = joint_model(SIZES, told(two_classes(), PAIRS, 30_000, 3.0, seed=1))
    drawn = model.draw(200_000)
    given = model.draw(200_000, [drawn[0], None, drawn[2], None])
    assert (given[0] == drawn[0]).all()
    for axes in ((0, 1), (1, 3), (0, 2, 3)):
        expected = 200_000 * model.table(axes)
        for records in (drawn, given):
            counts = np.zeros(expected.shape)
            np.add.at(counts, tuple(records[axis] for axis in axes), 1)
            there = expected > 1
            statistic = ((counts - expected)[there] ** 2 / expected[there]).sum()
            assert chi2.sf(statistic, np.count_nonzero(there)) > 1e-4


def test_models_of_records_drawn_anew_differ_as_models_of_other_records_do():
    """Standard deviations over 12 models each, of one column; all runs are the same."""
    fresh = [joint_model(SIZES, told(two_classes(), PAIRS, 6_000, 3.0, seed)) for seed in range(12)]
    anew = [fresh[0].resampled(np.random.default_rng(seed)) for seed in range(12)]

    def spread(models: Sequence[JointModel]) -> float:
        return float(np.std([model.table([3]) for model in models], axis=0).mean())

    assert 0.6 < spread(anew) / spread(fresh) < 1.7
