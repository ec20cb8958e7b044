import numpy as np
import pytest
from scipy.sparse import csr_array


@pytest.fixture
def planted():
    """S1's kind of matrix: Boolean rank r, about 1 % ones, then 1 % of the entries flipped."""

    def make(rank, seed, rows=1000, columns=1000, flips=0.01):
        rng = np.random.default_rng(seed)
        share = np.sqrt(1 - 0.99 ** (1 / rank))
        U, V = (rng.random((side, rank)) < share for side in (rows, columns))
        truth = U.astype(np.int32) @ V.T.astype(np.int32) > 0
        return csr_array((truth ^ (rng.random(truth.shape) < flips)).astype(np.int8)), U, V

    return make
