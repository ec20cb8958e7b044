"""Both factorisations as transformers."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kakuran as kk


@pytest.mark.parametrize("columns", [100, 300])
@pytest.mark.parametrize("estimator", [kk.BooleanFactorisation, kk.MaskedNMF])
def test_rows_of_another_length_than_those_fitted_are_refused(estimator, columns):
    model, others = estimator(rank=3), np.ones((2, columns))
    with pytest.raises(NotFittedError):
        model.transform(others)
    model.fit(np.kron(np.eye(4), np.ones((10, 50))))
    with pytest.raises(kk.DataError, match=f"has {columns} columns, its factors 200"):
        model.transform(others)
