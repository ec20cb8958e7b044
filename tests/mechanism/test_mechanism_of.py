from __future__ import annotations

import numpy as np
import pytest

import kakuran as kk
from kakuran.errors import CalibrationError
from kakuran.mechanism import MECHANISMS, NOISE, SubsetSelection, mechanism_of, register

AGE = kk.Numeric("age", 0, 60, step=0.5)
JOB = kk.Categorical("job", ["a", "b", "c"])
PAIRS = [
    (JOB, kk.RetentionReplacement(3, 0.4)),
    (AGE, kk.RetentionReplacement(121, 0.4, step=0.5)),
    (AGE, kk.BoundedLaplace(121, 0.5, 7.5)),
    (AGE, kk.Laplace(121, 0.5, 7.5)),
    (AGE, kk.BoundedGaussian(121, 0.5, 7.5)),
    (JOB, SubsetSelection(3, 0.4, [0, 1])),
    (JOB, kk.PRAM([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.05, 0.7]])),
]


@pytest.mark.parametrize(("attribute", "mechanism"), PAIRS, ids=lambda value: getattr(value, "kind", ""))
def test_a_mechanism_can_be_made_again_from_its_kind_and_parameters(attribute, mechanism):
    again = mechanism_of(attribute, mechanism.kind, mechanism.parameters())
    assert type(again) is type(mechanism)
    assert again.parameters() == mechanism.parameters()
    assert np.array_equal(again.transition().matrix, mechanism.transition().matrix)
    assert np.array_equal(again.variance(), mechanism.variance())


def test_a_kind_that_is_taken_is_refused():
    class Another(kk.PRAM):
        kind = "retention"

    with pytest.raises(CalibrationError, match="called 'retention' already; choose another"):
        register(Another)
    assert MECHANISMS["retention"] is kk.RetentionReplacement


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(CalibrationError, match="column 'age': unknown mechanism 'swirl'"):
        mechanism_of(AGE, "swirl", {})


@pytest.mark.parametrize("kind", NOISE)
def test_noise_on_categories_is_refused(kind):
    with pytest.raises(CalibrationError, match=f"column 'job': .*{kind!r}"):
        mechanism_of(JOB, kind, {"scale": 1.0})
