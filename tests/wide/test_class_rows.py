import numpy as np
from hypothesis import given, settings, strategies as st
from scipy.sparse import csr_array

from kakuran.wide.aggregate import majority_rows, median_rows


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3))
def test_classes_publish_the_lower_median_of_every_column(seed, count, highest):
    rng = np.random.default_rng(seed)
    classes = np.concatenate([np.arange(count), rng.integers(0, count, 12)])
    X = rng.integers(0, highest + 1, (len(classes), 5))
    medians = np.stack([np.sort(X[classes == one], axis=0)[((classes == one).sum() - 1) // 2] for one in range(count)])
    assert (median_rows(csr_array(X), classes).toarray() == medians).all()
    if highest == 1:
        assert (majority_rows(csr_array(X), classes).toarray() == medians).all()
