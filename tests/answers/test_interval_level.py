"""A level says how wide intervals are, and changes no estimate; intervals of a higher one hold those of a lower."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk

SCHEMA = kk.Schema(
    [
        kk.Numeric("age", 0, 11, step=1),
        kk.Numeric("income", 0, 11, step=1),
        kk.Categorical("job", ["clerk", "nurse", "smith"]),
        kk.Categorical("ill", ["no", "yes"]),
        kk.Weight("stands_for", [0, 50, 150]),
    ]
)
ANSWERS = {
    "crosstab": lambda release, **asked: release.crosstab("job", "ill", **asked),
    "count": lambda release, **asked: release.count("job == 'nurse' and age < 5", **asked),
    "share": lambda release, **asked: release.share("ill == 'yes'", by="job", **asked),
    "share of a number": lambda release, **asked: release.share("age < 3", **asked),
    "mean": lambda release, **asked: release.mean("income", by="ill", **asked),
    "variance": lambda release, **asked: release.variance("age", **asked),
    "quantile": lambda release, **asked: release.quantile("age", **asked),
    "correlation": lambda release, **asked: release.correlation("age", "income", **asked),
    "Cramér's V": lambda release, **asked: release.correlation("job", "ill", **asked),
    "regress": lambda release, **asked: release.regress("income ~ age", **asked),
    "logistic": lambda release, **asked: release.regress("ill ~ age", **asked),
    "density": lambda release, **asked: release.density("age", bins=6, **asked),
    "mixture": lambda release, **asked: release.mixture("age", n_components=1, draws=3, **asked),
    "weighted crosstab": lambda release, **asked: release.crosstab("job", **(asked | {"weights": "stands_for"})),
}


@pytest.fixture(scope="module", params=[2, "all"])
def release(request):
    dice, n = np.random.default_rng(5), 1_500
    age, ill = dice.integers(0, 12, n), dice.random(n) < 0.1
    table = {
        "age": age,
        "income": np.clip(age + dice.normal(0, 3, n), 0, 11).round(),
        "job": dice.choice(["clerk", "nurse", "smith"], n, p=[0.6, 0.35, 0.05]),
        "ill": np.where(ill, "yes", "no"),
        "stands_for": dice.choice([20, 100], n),
    }
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(pa.table(table), kk.calibrate(SCHEMA, n=650, k=20, tell=request.param), seed=3)


@pytest.mark.parametrize("asked", ANSWERS)
def test_an_estimate_is_the_same_at_every_level_and_intervals_are_nested(release, asked, rough_models):
    found = [told(ANSWERS[asked](release, level=level, weights=False)) for level in (0.5, 0.9, 0.99)]
    for one, other in pairwise(found):
        np.testing.assert_array_equal(one["estimate"], other["estimate"])
        assert (other["low"] <= one["low"] + 1e-9).all()
        assert (one["high"] <= other["high"] + 1e-9).all()


def told(answer):
    """The numbers of an answer, whatever they are called there; zero where there is none, at no level."""
    table = answer.to_arrow()
    numbers = {
        one.name: np.nan_to_num(np.asarray(table[one.name], float))
        for one in table.schema
        if pa.types.is_floating(one.type) and one.name != "error"
    }
    ends = {end: [values for name, values in numbers.items() if name.endswith(end)] for end in ("low", "high")}
    others = [values for name, values in numbers.items() if not name.endswith(("low", "high"))]
    return {name: np.stack(values) for name, values in {"estimate": others, **ends}.items()}
