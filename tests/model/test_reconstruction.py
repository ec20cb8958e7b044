import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

import kakuran as kk
from kakuran.mechanism import PRAM, BoundedLaplace, RetentionReplacement, UniformMixture
from kakuran.model import Operator, reconstruct, reconstruction
from kakuran.model.reconstruction import (
    class_by_class,
    duality_gap,
    em_step,
    ibt,
    log_likelihood,
    maximum_likelihood,
    on_simplex,
    product_of_marginals,
    splits,
    uniform,
    water_filling,
    weigh,
)

METHODS = ("auto", "ibt", "mle", "inverse", "simplex", "shrink")
MIXED = Operator(
    [
        RetentionReplacement(4, 0.3).transition(),
        BoundedLaplace(6, 1, 2.0).transition(),
        None,
        PRAM([[0.9, 0.1], [0.2, 0.8]]).transition(),
    ]
)

counts_of_four = st.lists(st.integers(0, 500), min_size=4, max_size=4).filter(any)
retentions = st.floats(0.02, 0.99)


def zipf(shape):
    table = np.ones(shape)
    for axis, size in enumerate(shape):
        weights = 1 / np.arange(1, size + 1)
        table = table * weights.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return table / table.sum()


def perturbed(truth, operator, rng):
    """Counts after every record was perturbed, drawn axis by axis."""
    counts = truth.astype(int)
    for axis, transition in enumerate(operator.transitions):
        kept = rng.binomial(counts, transition.retention)
        replaced = rng.multinomial((counts - kept).sum(axis=axis), transition.shares)
        counts = kept + np.moveaxis(replaced, -1, axis)
    return counts.astype(float)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_total_and_says_what_it_did(method):
    counts = np.random.default_rng(0).integers(0, 40, (4, 6, 3, 2)).astype(float)
    found = reconstruct(counts, MIXED, method)
    assert found.counts.sum() == pytest.approx(counts.sum())
    assert found.method == method
    assert found.reason


@pytest.mark.parametrize("method", ["auto", "ibt", "mle", "inverse", "simplex"])
def test_with_everything_kept_the_counts_come_back(method):
    counts = np.array([[30.0, 5.0], [0.0, 12.0]])
    operator = [RetentionReplacement(2, 1.0).transition()] * 2
    assert reconstruct(counts, operator, method).counts == pytest.approx(counts, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_no_records_give_no_counts(method):
    assert reconstruct(np.zeros((4, 6, 3, 2)), MIXED, method).counts.sum() == 0


@pytest.mark.parametrize(
    "transition", [RetentionReplacement(4, 0.2), BoundedLaplace(4, 1, 3.0)], ids=lambda one: one.kind
)
def test_one_record_is_enough_for_an_answer(transition):
    found = reconstruct(np.array([0.0, 1.0, 0.0, 0.0]), [transition.transition()])
    assert np.isfinite(found.counts).all()
    assert found.counts.sum() == pytest.approx(1)


def test_the_inverse_undoes_the_forward_map():
    truth = np.random.default_rng(1).random((4, 6, 3, 2))
    assert MIXED.solve(MIXED.forward(truth)) == pytest.approx(truth)
    assert MIXED.adjoint_solve(MIXED.adjoint(truth)) == pytest.approx(truth)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (2,) * 7, (70, 2, 3), (2, 70, 3), (9, 9, 9), (4, None, 5), (None, 3, 2)])
def test_axis_by_axis_equals_the_joint_matrix(sizes):
    rng = np.random.default_rng(2)
    transitions = [
        None if size is None else UniformMixture(0.3, rng.dirichlet(np.ones(size))) if axis % 2 else
        PRAM(rng.dirichlet(np.ones(size), size)).transition()
        for axis, size in enumerate(sizes)
    ]  # fmt: skip
    joint = np.ones((1, 1))
    for transition in transitions:
        joint = np.kron(joint, np.eye(2) if transition is None else transition.matrix)
    table = rng.random([2 if size is None else size for size in sizes])
    operator, flat = Operator(transitions), table.ravel()
    assert operator.forward(table).ravel() == pytest.approx(joint @ flat)
    assert operator.adjoint(table).ravel() == pytest.approx(joint.T @ flat)
    assert operator.squared_solve(table).ravel() == pytest.approx(np.linalg.inv(joint) ** 2 @ flat, rel=1e-6)
    assert operator.stacked().forward(np.stack([table, 2 * table]))[1] == pytest.approx(2 * operator.forward(table))


@pytest.mark.parametrize("mechanism", [RetentionReplacement(6, 0.4), PRAM(np.full((6, 6), 0.1) + 0.4 * np.eye(6))])
def test_lumping_cells_is_exact_where_true_values_lie_evenly(mechanism):
    groups = np.array([0, 1, 0, 2, 1, 0])
    member = np.eye(3)[groups].T
    fine, coarse = mechanism.transition(), mechanism.transition().lumped(groups, np.ones(6))
    assert coarse.matrix == pytest.approx(member @ fine.matrix @ (member / member.sum(axis=1, keepdims=True)).T)
    truth = member.T @ np.array([3.0, 5.0, 7.0])
    assert coarse.matrix @ (member @ truth) == pytest.approx(member @ fine.matrix @ truth)


@settings(deadline=None, max_examples=60)
@given(counts_of_four, retentions)
def test_water_filling_reaches_a_gap_of_nothing(counts, retention):
    counts, transition = np.array(counts, float), UniformMixture(retention, np.array([0.1, 0.2, 0.3, 0.4]))
    estimate = water_filling(counts, transition)
    assert estimate.sum() == pytest.approx(counts.sum())
    assert (estimate >= 0).all()
    assert duality_gap(counts, estimate, Operator([transition])) <= 1e-9 * counts.sum()


def test_the_maximum_agrees_with_a_general_optimiser():
    counts = np.array([50.0, 3.0, 20.0, 1.0])
    operator = Operator([RetentionReplacement(4, 0.3).transition()])

    def loss(free):
        shares = np.exp(free - free.max())
        return -log_likelihood(counts, counts.sum() * shares / shares.sum(), operator)

    best = -min(minimize(loss, start, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-10}).fun
                for start in (np.zeros(4), np.array([2.0, -3.0, 1.0, -5.0])))  # fmt: skip
    exact, _ = maximum_likelihood(counts, operator)
    assert log_likelihood(counts, exact, operator) >= best - 1e-6


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), retentions)
def test_the_gap_is_an_upper_bound_of_what_is_left_to_climb(seed, retention):
    counts = np.random.default_rng(seed).integers(0, 30, (3, 4)).astype(float) + 1
    operator = Operator([RetentionReplacement(3, retention).transition(), RetentionReplacement(4, 0.5).transition()])
    estimate = em_step(em_step(uniform(counts, operator), counts, operator), counts, operator)
    top, _ = maximum_likelihood(counts, operator)
    left = log_likelihood(counts, top, operator) - log_likelihood(counts, estimate, operator)
    assert -1e-6 <= left <= duality_gap(counts, estimate, operator) + 1e-6


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_likelihood_never_falls_along_em(seed):
    counts = np.random.default_rng(seed).integers(0, 50, (4, 6, 3, 2)).astype(float)
    estimate, heights = uniform(counts, MIXED), []
    for _ in range(12):
        heights.append(log_likelihood(counts, estimate, MIXED))
        estimate = em_step(estimate, counts, MIXED)
    assert all(after >= before - 1e-9 for before, after in itertools.pairwise(heights))


def test_acceleration_reaches_a_certified_maximum_in_far_fewer_steps_than_em():
    rng = np.random.default_rng(2)
    operator = Operator([UniformMixture(0.3, np.full(10, 0.1))] * 3)
    counts = perturbed(rng.multinomial(20_000, zipf((10, 10, 10)).ravel()).reshape(10, 10, 10), operator, rng)
    estimate, steps = maximum_likelihood(counts, operator)
    assert duality_gap(counts, estimate, operator) <= 1e-9 * counts.sum()
    plain = uniform(counts, operator)
    for _ in range(steps):
        plain = em_step(plain, counts, operator)
    assert duality_gap(counts, plain, operator) > 1e-6 * counts.sum()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.floats(0.1, 100))
def test_projecting_on_the_simplex_is_the_nearest_table(values, total):
    table = np.array(values)
    nearest = on_simplex(table, total)
    assert nearest.sum() == pytest.approx(total)
    assert (nearest >= 0).all()
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(len(values)), 20) * total:
        assert np.linalg.norm(nearest - table) <= np.linalg.norm(other - table) + 1e-9


class TestS4:
    """The experiments of S4: Zipf attributes, predicates on the 400 most frequent of 1000 values."""

    @staticmethod
    def sample(classes, explanatory, n, retention, rng):
        weights = 1 / np.arange(1, 1001)
        share = weights[:400].sum() / weights.sum()
        table = zipf((classes,))
        for _ in range(explanatory):
            table = np.multiply.outer(table, [1 - share, share])
        transitions = [UniformMixture(retention, np.full(classes, 1 / classes))]
        transitions += [UniformMixture(retention, np.array([0.6, 0.4]))] * explanatory
        operator = Operator(transitions)
        truth = rng.multinomial(n, table.ravel()).reshape(table.shape).astype(float)
        return truth, perturbed(truth, operator, rng), operator

    def test_for_two_classes_the_joint_form_equals_the_conventional_one(self):
        _, counts, operator = self.sample(2, 2, 10_000, 0.2, np.random.default_rng(3))
        assert class_by_class(counts, operator) == pytest.approx(ibt(counts, operator)[0], rel=1e-9)

    @pytest.mark.parametrize("retention", [0.05, 0.1, 0.2])
    def test_for_five_classes_the_joint_form_is_nearer_to_the_truth_and_auto_nearer_still(self, retention):
        rng, errors = np.random.default_rng(4), []
        for _ in range(20):
            truth, counts, operator = self.sample(5, 1, 10_000, retention, rng)
            estimates = (
                maximum_likelihood(counts, operator)[0],
                class_by_class(counts, operator, run=maximum_likelihood),
                reconstruct(counts, operator).counts,
            )
            errors.append([np.abs(estimate - truth).sum() / 10_000 for estimate in estimates])
        joint, conventional, chosen = np.mean(errors, axis=0)
        assert chosen < joint < conventional


class TestAuto:
    shape = (12, 12, 12)

    def simulate(self, share, retention, seed, n=40_000):
        rng = np.random.default_rng(seed)
        operator = Operator([UniformMixture(retention, np.full(size, 1 / size)) for size in self.shape])
        truth = rng.multinomial(n, share.ravel()).reshape(self.shape).astype(float)
        counts = perturbed(truth, operator, rng)

        def error(estimate):
            return np.abs(estimate - truth).sum() / n

        estimate, best = uniform(counts, operator), math.inf
        for _ in range(400):
            estimate = em_step(estimate, counts, operator)
            best = min(best, error(estimate))
        return error(reconstruct(counts, operator).counts), best, error(estimate)

    def truths(self):
        rng = np.random.default_rng(5)
        sparse = np.zeros(self.shape)
        sparse.flat[rng.choice(sparse.size, sparse.size // 80, replace=False)] = 1
        x, y, z = np.indices(self.shape)
        dependent = np.exp(-((x - y) ** 2 + (y - z) ** 2) / 6 - x / 6)
        return {"zipf": zipf(self.shape), "uniform": np.ones(self.shape), "sparse": sparse, "dependent": dependent}

    @pytest.mark.parametrize(
        ("kind", "retention"),
        [
            ("zipf", 0.3),
            ("uniform", 0.3),
            ("sparse", 0.3),
            ("zipf", 0.5),
            ("uniform", 0.5),
            ("sparse", 0.5),
            ("dependent", 0.3),
            ("dependent", 0.5),
        ],
    )
    def test_it_is_as_good_as_em_stopped_by_somebody_who_knows_the_truth(self, kind, retention):
        share = self.truths()[kind]
        found = np.mean([self.simulate(share / share.sum(), retention, seed) for seed in range(2)], axis=0)
        assert found[0] <= 1.05 * found[1]

    def test_it_beats_the_converged_answer_by_far_on_zipf(self):
        found = np.mean([self.simulate(zipf(self.shape), 0.3, seed) for seed in range(2)], axis=0)
        assert found[0] < 0.7 * found[2]

    def test_the_same_counts_give_the_same_answer(self):
        counts = np.random.default_rng(6).integers(0, 60, (4, 6, 3, 2)).astype(float)
        first, second = reconstruct(counts, MIXED), reconstruct(counts.copy(), MIXED)
        assert (first.counts == second.counts).all()
        assert first.reason == second.reason
        assert sum(weigh(counts, MIXED).values()) == pytest.approx(1)

    def test_a_small_table_that_goes_beside_its_folds_comes_where_it_would_go_alone(self):
        counts = np.random.default_rng(6).integers(0, 60, (4, 6, 3, 2)).astype(float)
        assert counts.size <= reconstruction._SMALL
        found, weights = reconstruction.auto(counts, MIXED)
        assert found == pytest.approx(reconstruction.blend(counts[None], MIXED, weights)[0])


def test_s4s_estimator_stops_at_the_first_step_that_moves_less_than_a_thousandth():
    operator = Operator([UniformMixture(0.3, np.full(6, 1 / 6))])
    counts = perturbed(np.array([900, 500, 300, 200, 100, 0]), operator, np.random.default_rng(0))
    found, steps = ibt(counts, operator)
    path = [counts]
    for _ in range(steps):
        path.append(em_step(path[-1], counts, operator))
    moved = [np.abs(after - before).sum() / counts.sum() for before, after in itertools.pairwise(path)]
    assert found == pytest.approx(path[-1])
    assert moved[-1] <= 1e-3 < moved[-2]


class TestWhatAutoWeighs:
    """Every family has a say, is judged on nearly all records, and is followed far and closely enough."""

    def folds(self, truth, retention, seed=2):
        operator = Operator([UniformMixture(retention, np.full(size, 1 / size)) for size in truth.shape])
        counts = perturbed(truth, operator, np.random.default_rng(seed))
        return operator, counts, [np.stack(part) for part in zip(*reconstruction._folds(counts), strict=True)]

    def highest(self, family, kept, held, operator):
        paths = reconstruction._Paths.from_the_start([family], kept, operator)
        return max(reconstruction._scores_along(paths, held).values())

    def test_each_fold_keeps_nine_tenths(self):
        _, counts, (kept, held) = self.folds(np.full((4, 5), 100), 0.5)
        assert len(held) == 10
        assert (held.sum(axis=0) == counts).all()
        assert kept.sum(axis=(1, 2)) / counts.sum() == pytest.approx(np.full(10, 0.9), abs=0.05)

    def test_where_little_is_known_every_family_has_a_say(self):
        shapes = (np.array([[200, 50], [50, 200]]), np.array([200, 150, 100, 50, 20, 10]))
        two_way, one_way = (weigh(counts, operator) for operator, counts, _ in (self.folds(one, 0.5) for one in shapes))
        families = {family.name for family in (*reconstruction.FAMILIES, reconstruction.SIMPLEX)}
        assert len(families) == 5
        assert {candidate.name for candidate in two_way} == families
        assert {candidate.name for candidate in one_way} == families | {reconstruction.POSTERIOR.name}

    def test_families_followed_together_come_as_far_as_alone(self):
        operator, _, (kept, held) = self.folds(40 + 400 * np.eye(6, dtype=int), 0.4)
        families = (*reconstruction.FAMILIES, replace(reconstruction.FLAT, sparsity=2.0))
        alone, together = (
            [
                reconstruction._scores_along(reconstruction._Paths.from_the_start(some, kept, operator), held)
                for some in sets
            ]
            for sets in ([[family] for family in families], [families])
        )
        assert len({len(scores) for scores in alone}) > 1  # some leave early
        assert together[0] == {at: pytest.approx(found) for scores in alone for at, found in scores.items()}

    def test_a_path_is_followed_through_a_dip(self, monkeypatch):
        rng, truth = np.random.default_rng(18), np.zeros(144, int)
        truth[rng.choice(144, 12, replace=False)] = 1500
        operator, _, (kept, held) = self.folds(truth.reshape(12, 12), 0.7, seed=18)
        strong = reconstruction.FAMILIES[-1]
        found = self.highest(strong, kept, held, operator)
        monkeypatch.setattr(reconstruction, "PATIENCE", 1)
        assert found > self.highest(strong, kept, held, operator) + 3

    def test_stops_are_close_enough_that_one_between_them_would_hardly_be_better(self, monkeypatch):
        operator, _, (kept, held) = self.folds(40 + 1900 * np.eye(10, dtype=int), 0.4)
        family = reconstruction.FAMILIES[-1]
        found = self.highest(family, kept, held, operator)
        monkeypatch.setattr(reconstruction, "STOPS", tuple(range(129)))
        assert found > self.highest(family, kept, held, operator) - 3


def test_shrinking_gives_independent_attributes_with_the_estimated_marginals():
    counts = np.random.default_rng(8).integers(1, 60, (4, 3)).astype(float)
    operator = Operator([RetentionReplacement(4, 0.6).transition(), RetentionReplacement(3, 0.6).transition()])
    table = product_of_marginals(counts[None], operator)[0]
    assert np.linalg.matrix_rank(table) == 1
    assert table.sum(axis=1) == pytest.approx(water_filling(counts.sum(axis=1), operator.transitions[0]))


def test_a_plan_stands_for_the_transitions_of_its_perturbed_columns():
    schema = kk.Schema([kk.Categorical("a", ["x", "y"]), kk.Categorical("b", ["u", "v", "w"])])
    plan = kk.calibrate(schema, n=500, k=3, tell="all")
    counts = np.random.default_rng(9).integers(0, 99, (2, 3))
    by_hand = [plan["a"].transition(), plan["b"].transition()]
    assert (kk.reconstruct(counts, plan).counts == kk.reconstruct(counts, by_hand).counts).all()


@pytest.mark.parametrize(
    ("counts", "transitions", "words"),
    [
        ([1.0, -2.0], [RetentionReplacement(2, 0.5).transition()], "not negative, got -2.0"),
        ([1.0, math.nan], [RetentionReplacement(2, 0.5).transition()], "finite"),
        (
            [1.0, 2.0, 3.0],
            [RetentionReplacement(2, 0.5).transition()],
            "counts have 3 cells along axis 0, whose transition has 2",
        ),
        ([1.0, 2.0], [], "counts have 1 axis but 0 transitions"),
        ([1.0, 2.0], [RetentionReplacement(2, 0.0).transition()], "Nothing about it can be reconstructed"),
    ],
)
def test_counts_that_cannot_be_meant_are_refused(counts, transitions, words):
    with pytest.raises(kk.DataError, match=words):
        kk.reconstruct(counts, transitions)


def test_an_unknown_method_is_refused_by_name():
    with pytest.raises(kk.DataError, match="must be one of auto, ibt"):
        kk.reconstruct([1.0, 2.0], [RetentionReplacement(2, 0.5).transition()], "magic")


def test_fractional_counts_are_estimated_from_too():
    found = kk.reconstruct([10.5, 4.5], [RetentionReplacement(2, 0.5).transition()])
    assert found.counts.sum() == pytest.approx(15)


def test_every_record_is_held_out_once():
    counts = np.random.default_rng(7).integers(0, 1000, 50).astype(float)
    folds = list(splits(counts, 10, np.random.default_rng(8)))
    for kept, held in folds:
        assert (kept + held == counts).all()
        assert 0.08 < held.sum() / counts.sum() < 0.12
    assert (sum(held for _, held in folds) == counts).all()
