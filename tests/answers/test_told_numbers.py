"""Densities and clusters of numbers that some records tell only, or that may be missing, against the known truth."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.errors import SchemaError

N = 40_000
MEANS = np.array([[30.0, 80.0], [70.0, 40.0]])
WEIGHTS = [0.6, 0.4]


def people(*, missing=0.0):
    """Two clusters of x and y; z says which, mostly. Those of the second lack x more often."""
    dice = np.random.default_rng(5)
    second = dice.random(N) < WEIGHTS[1]
    numbers = np.clip(np.rint(MEANS[second.astype(int)] + dice.normal(0, 6, (N, 2))), 0, 119)
    lacks = dice.random(N) < missing * np.where(second, 1.5, 1.0)
    labels = np.where(second ^ (dice.random(N) < 0.1), "b", "a")
    return pa.table({"x": pa.array(numbers[:, 0], mask=lacks), "y": numbers[:, 1], "z": labels}), lacks


def schema(x="error"):
    return kk.Schema(
        [
            kk.Numeric("x", 0, 119, step=1, missing=x),
            kk.Numeric("y", 0, 119, step=1),
            kk.Categorical("z", ["a", "b"]),
        ]
    )


def released(table, columns, tell):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kk.perturb(table, kk.calibrate(columns, n=N, k=10, tell=tell), seed=2)


TELLS = pytest.mark.parametrize("tell", ["all", 1, 2], ids=["whole", "singles", "pairs"])


@pytest.mark.parametrize(("tell", "method"), [(1, "ibt"), (2, "auto")])
def test_a_density_comes_back_whatever_records_tell(tell, method):
    table, _ = people()
    found = released(table, schema(), tell).density("x", bins=24, method=method)
    assert found.missing == 0
    assert kk.l1_accuracy(np.histogram(table.column("x"), found.edges)[0], found.shares) > 90


@pytest.mark.parametrize(("tell", "method"), [("all", "auto"), (1, "ibt"), (2, "auto")])
def test_the_density_of_those_who_have_a_number_comes_with_the_share_of_those_who_lack_it(tell, method):
    table, lacks = people(missing=0.3)
    found = released(table, schema("category"), tell).density("x", bins=24, method=method)
    has = table.column("x").drop_null().to_numpy()
    assert found.missing == pytest.approx(lacks.mean(), abs=0.02)
    assert found.shares.sum() == pytest.approx(1)
    assert kk.l1_accuracy(np.histogram(has, found.edges)[0], found.shares) > 90
    assert found.naive.sum() == pytest.approx(1)
    assert found.to_dict()["missing"] == found.missing
    assert "% missing" in str(found)


def test_a_kept_number_that_may_be_missing_is_counted_as_it_is():
    table, lacks = people(missing=0.3)
    columns = kk.Schema([kk.Numeric("x", 0, 120, step=60, role="keep", missing="category"), schema()["z"]])
    table = table.set_column(0, "x", pa.array(np.where(lacks, None, 60.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kk.perturb(table.select(["x", "z"]), kk.calibrate(columns, n=5_000, k=10), seed=2).density("x")
    assert found.missing == pytest.approx(lacks.mean())
    np.testing.assert_array_equal(found.shares, [0, 1, 0])


@TELLS
def test_clusters_of_one_number_that_may_be_missing_come_back(tell):
    table, _ = people(missing=0.3)
    release = released(table, schema("category"), tell)
    found = release.mixture("x", n_components=2, draws=2)
    second = 1 - 0.6 * 0.7 / (0.6 * 0.7 + 0.4 * 0.55)
    assert found.mixture.means.ravel() == pytest.approx(MEANS[:, 0], abs=2)
    assert found.mixture.weights[1] == pytest.approx(second, abs=0.03)
    told = release.table.column("x").drop_null()
    assert found.predict_proba().shape == (len(told), 2)


@pytest.mark.parametrize(("missing", "components"), [(0.0, "auto"), (0.3, 2)])
def test_clusters_of_two_numbers_that_are_told_together_come_back(missing, components):
    table, _ = people(missing=missing)
    release = released(table, schema("category" if missing else "error"), 2)
    found = release.mixture("x", "y", n_components=components, draws=3)
    assert found.rests_on == "counts"
    assert found.mixture.means == pytest.approx(MEANS, abs=1)
    assert found.mixture.columns.sigmas == pytest.approx(np.full((2, 2), 6.0), abs=1.5)
    of_first = (1 - missing) * 0.6
    assert found.mixture.weights[0] == pytest.approx(of_first / (of_first + (1 - 1.5 * missing) * 0.4), abs=0.08)
    assert found.plot().axes[0].get_ylabel() == "y"
    with pytest.raises(SchemaError, match="none has a cluster"):
        found.predict_proba()


@pytest.mark.parametrize(
    ("missing", "tell", "components", "rests_on"),
    [("category", "all", 3, "counts"), ("error", [["x", "z"], ["y", "z"]], "auto", "model")],
)
def test_other_clusters_of_several_numbers_are_those_of_their_table(missing, tell, components, rests_on):
    """A table that is reconstructed is smeared: a third, wide cluster may take in what lies between the two."""
    table, _ = people(missing=0.3 if missing == "category" else 0.0)
    found = released(table, schema(missing), tell).mixture("x", "y", n_components=components)
    assert found.rests_on == found.to_dict()["rests_on"] == rests_on
    assert ("by a model" in str(found)) == (rests_on == "model")
    heaviest = np.sort(np.argsort(found.mixture.weights)[-2:])
    assert found.mixture.means[heaviest] == pytest.approx(MEANS, abs=3)
    assert found.mixture.weights[heaviest].sum() > 0.7
    for name in ("weights", "means", "deviations"):
        low, high = getattr(found, name)
        assert (low < high).all()
