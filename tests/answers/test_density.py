from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers.density import finer_cells
from kakuran.samples import census

METHODS = {
    "square-wave": "auto",
    "laplace": "auto",
    "bounded-laplace": "auto",
    "bounded-gaussian": "ibt",
    "retention": "ibt",
}


@pytest.fixture(scope="module")
def ages():
    return census(20_000).select(["age"])


def released(table, mechanism="laplace", **numbers):
    schema = kk.Schema([kk.Numeric(name, low, high, step=1) for name, (low, high) in numbers.items()])
    plan = kk.calibrate(schema, n=table.num_rows, k=2, mechanisms=dict.fromkeys(numbers, mechanism), tell="all")
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(table, plan, seed=1)


@pytest.fixture(scope="module")
def densities(ages):
    return {
        mechanism: released(ages, mechanism, age=(15, 94)).density("age", bins=20, method=method)
        for mechanism, method in METHODS.items()
    }


def truth_of(density, table, column="age"):
    return np.histogram(table.column(column).to_numpy(), density.edges)[0] / table.num_rows


@pytest.mark.parametrize("mechanism", METHODS)
def test_the_density_comes_back_through_every_mechanism(densities, ages, mechanism):
    found = densities[mechanism]
    truth = truth_of(found, ages)
    assert found.shares.sum() == pytest.approx(1)
    assert kk.l1_accuracy(found.shares, truth) > 90
    assert kk.l1_accuracy(found.shares, truth) > kk.l1_accuracy(found.naive, truth)


def test_intervals_hold_the_estimate_and_speak_of_chance_alone(densities, ages):
    """Half or more hold the truth; the rest are bins in which smoothing, not chance, is what is wrong."""
    for found in densities.values():
        assert (found.low <= found.shares).all()
        assert (found.shares <= found.high).all()
    truth = truth_of(densities["laplace"], ages)
    assert np.mean((densities["laplace"].low <= truth) & (truth <= densities["laplace"].high)) >= 0.5


def test_quantiles_and_distribution_undo_each_other(densities, ages):
    found = densities["laplace"]
    assert found.cdf(found.quantile([0.2, 0.5, 0.9])) == pytest.approx([0.2, 0.5, 0.9])
    assert found.quantile(0.5) == pytest.approx(np.median(ages.column("age").to_numpy()), abs=3)
    assert found.cdf([0, 200]) == pytest.approx([0, 1])
    assert (found.densities * np.diff(found.edges)).sum() == pytest.approx(1)
    with pytest.raises(kk.DataError, match="between 0 and 1"):
        found.quantile([50])


@pytest.mark.parametrize("shares", [[0, 0, 0.3, 0.7], [0.3, 0, 0, 0.7], [0.3, 0.7, 0, 0]])
def test_quantiles_never_lie_in_bins_that_nobody_is_in(shares):
    held = np.array(shares)
    found = kk.Density("age", np.arange(5.0), held, held, held, held, "ibt", "")
    wanted = [0.1, 0.3, 0.5, 0.9]
    assert found.cdf(found.quantile(wanted)) == pytest.approx(wanted)
    first, last = np.flatnonzero(held)[[0, -1]]
    assert found.quantile([0, 1]).tolist() == [first, last + 1]


def test_an_atom_at_the_edge_is_found():
    """Nine in ten at zero, the rest spread far: what a Gaussian alone could not say."""
    dice = np.random.default_rng(0)
    gains = np.where(dice.random(10_000) < 0.9, 0, dice.integers(20, 60, 10_000))
    table = pa.table({"gain": gains})
    found = released(table, gain=(0, 99)).density("gain", bins=20)
    assert found.shares[0] == pytest.approx(0.9, abs=0.06)
    assert kk.l1_accuracy(found.shares, truth_of(found, table, "gain")) > 90


@pytest.mark.parametrize(("method", "words"), [("mixture", "mixture of"), ("ibt", "bin by bin")])
def test_a_method_asked_for_is_the_only_one_used(ages, method, words):
    found = released(ages.slice(0, 1000), age=(15, 94)).density("age", bins=8, method=method)
    assert found.method == method
    assert f"100% {words}" in found.reason


def test_the_same_release_gives_the_same_answer(ages):
    release = released(ages.slice(0, 2000), age=(15, 94))
    first, second = (release.density("age", bins=8, method="ibt").shares for _ in range(2))
    assert (first == second).all()


def test_a_kept_number_needs_no_estimate():
    table = pa.table({"year": [2020, 2021, 2021, 2022] * 50, "job": ["a", "b"] * 100})
    schema = kk.Schema([kk.Numeric("year", 2020, 2022, step=1, role="keep"), kk.Categorical("job", ["a", "b"])])
    release = kk.perturb(table, kk.calibrate(schema, n=50, k=2, tell="all"))
    found = release.density("year")
    assert found.shares.tolist() == [0.25, 0.5, 0.25]
    assert found.reason == "nothing was perturbed"


def test_a_handful_of_records_is_enough_not_to_fail():
    found = released(pa.table({"age": [20, 30, 40]}), age=(15, 94)).density("age", bins=5)
    assert found.shares.sum() == pytest.approx(1)


def test_questions_that_cannot_be_answered_say_why(ages):
    schema = kk.Schema([kk.Categorical("job", ["a", "b"]), kk.Numeric("pay", 0, 9, step=1, missing="category")])
    table = pa.table({"job": ["a", "b"] * 50, "pay": [1, None] * 50})
    release = kk.perturb(table, kk.calibrate(schema, n=100, k=2, tell="all"))
    with pytest.raises(kk.SchemaError, match="'job' is not a number"):
        release.density("job")
    with pytest.raises(kk.DataError, match="auto, mixture, ibt"):
        released(ages, age=(15, 94)).density("age", method="guess")
    with pytest.raises(kk.SchemaError, match="cannot be cut into 500"):
        released(ages, age=(15, 94)).density("age", bins=500)


def test_bins_are_cut_into_cells_without_losing_an_edge():
    edges = np.array([0, 7, 15, 22])
    cells = finer_cells(edges, 3.0)
    assert set(edges) <= set(cells)
    assert np.diff(cells).max() <= 3
    assert finer_cells(edges, 100.0).tolist() == edges.tolist()


def test_plain_values_and_a_picture(densities):
    found = densities["laplace"]
    told = found.to_dict()
    assert told["column"] == "age"
    assert len(told["edges"]) == len(told["shares"]) + 1
    assert found.plot().axes[0].get_xlabel() == "age"


def test_the_picture_says_which_level_its_intervals_have(densities):
    found = replace(densities["laplace"], level=0.5)
    assert "reconstructed, with 50 % interval" in [text.get_text() for text in found.plot().legends[0].get_texts()]


def test_intervals_hold_spikes_that_are_narrower_than_the_noise(rough_models):
    """Hours of work heap on some numbers, which no number of smooth components says; two do for what is between them.

    Of 3 × 50 bins 95 % or more are inside; fewer than 90 % has a chance below 1e-2. Chance alone held 80 %.
    """
    dice, covered = np.random.default_rng(7), []
    shares = np.full(50, 0.002)
    shares[[19, 34, 39, 44, 49]] = 0.1, 0.1, 0.45, 0.1, 0.16
    plan = kk.calibrate(kk.Schema([kk.Numeric("hours", 1, 50, step=1)]), n=20_000, k=10)
    for _ in range(3):
        truth = dice.multinomial(20_000, shares / shares.sum())
        found = kk.perturb(pa.table({"hours": np.repeat(np.arange(1, 51), truth)}), plan).density("hours", level=0.95)
        covered.append((found.low <= truth / 20_000) & (truth / 20_000 <= found.high))
    assert np.mean(covered) >= 0.9
