import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk


@pytest.fixture(scope="module")
def table():
    dice = np.random.default_rng(0)
    left = dice.random(4000) < 0.6
    numbers = np.where(left[:, None], [30, 40], [70, 90]) + dice.multivariate_normal([0, 0], [[16, 12], [12, 16]], 4000)
    numbers = np.clip(np.rint(numbers), 0, 120)
    return pa.table({"age": numbers[:, 0], "pay": numbers[:, 1], "job": ["a", "b"] * 2000})


def released(table, **mechanisms):
    """A release with little noise: the plan promises nothing."""
    schema = kk.Schema(
        [
            kk.Numeric("age", 0, 120, step=1),
            kk.Numeric("pay", 0, 120, step=1),
            kk.Categorical("job", ["a", "b"]),
        ]
    )
    noise = {name: getattr(kk, kind)(121, 1, 5.0) for name, kind in mechanisms.items()}
    plan = kk.Plan.of_mechanisms(schema, {**noise, "job": kk.RetentionReplacement(2, 0.5)}, 1, 1, "worst-case")
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(table, plan, seed=3)


@pytest.fixture(scope="module")
def release(table):
    return released(table, age="Laplace", pay="Laplace")


def test_clusters_of_one_number_come_with_intervals(release):
    found = release.mixture("age", draws=20)
    assert found.mixture.means[:, 0] == pytest.approx([30, 70], abs=1)
    assert found.mixture.weights == pytest.approx([0.6, 0.4], abs=0.03)
    for name, values in (("weights", found.mixture.weights), ("means", found.mixture.means)):
        low, high = getattr(found, name)
        assert (low <= values).all()
        assert (values <= high).all()


def test_clusters_of_two_numbers_have_their_direction(release):
    found = release.mixture("age", "pay", n_components=2, covariance="full", draws=2)
    assert found.mixture.means == pytest.approx(np.array([[30, 40], [70, 90]]), abs=1.5)
    correlations = found.mixture.covariances[:, 0, 1] / found.mixture.columns.sigmas.prod(axis=1)
    assert correlations == pytest.approx([0.75, 0.75], abs=0.25)
    assert found.plot().axes[0].get_ylabel() == "pay"


def test_every_released_record_has_a_cluster(release):
    found = release.mixture("age", "pay", n_components=2, draws=2)
    shares = found.predict_proba()
    assert shares.shape == (release.n, 2)
    assert shares.mean(axis=0) == pytest.approx(found.mixture.weights, abs=0.01)
    assert found.plot().axes[0].get_xlabel() == "age"


def test_plain_values_hold_all_there_is(release):
    told = release.mixture("age", n_components=2, draws=2).to_dict()
    assert told["columns"] == ["age"]
    assert len(told["intervals"]["means"]["low"]) == len(told["means"]) == 2


def test_bounded_noise_is_read_back_too(table):
    found = released(table, age="BoundedLaplace", pay="BoundedGaussian").mixture("age", "pay", n_components=2, draws=2)
    assert found.mixture.means == pytest.approx(np.array([[30, 40], [70, 90]]), abs=1)


def test_questions_that_cannot_be_answered_say_why(release, table):
    with pytest.raises(kk.SchemaError, match="at least one number"):
        release.mixture()
    with pytest.raises(kk.SchemaError, match="stands twice"):
        release.mixture("age", "age")
    with pytest.raises(kk.SchemaError, match="'job' is not a number; ask for its crosstab"):
        release.mixture("job")
    bounded = released(table, age="BoundedLaplace", pay="Laplace")
    with pytest.raises(kk.SchemaError, match="'age' is perturbed by bounded-laplace"):
        bounded.mixture("age", "pay", n_components=2, covariance="rotated")
    with pytest.raises(kk.DataError, match="at least 2"):
        release.mixture("age", n_components=1, draws=1)
