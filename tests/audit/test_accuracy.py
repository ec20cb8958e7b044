import numpy as np
import pytest
from scipy.sparse import csr_array

import kakuran as kk
from kakuran.audit import mean_absolute_loss


def test_accuracy_is_100_for_the_same_distribution_and_0_for_disjoint_ones():
    assert kk.l1_accuracy([1, 3], [10, 30]) == 100
    assert kk.l1_accuracy([1, 0], [0, 5]) == 0
    assert kk.l1_accuracy([[1, 1], [1, 1]], [[1, 1], [2, 0]]) == 75


@pytest.mark.parametrize("cells", [[0, 0], [-1, 2], [np.nan, 1]])
def test_what_is_no_distribution_is_refused(cells):
    with pytest.raises(kk.DataError, match="not a distribution"):
        kk.l1_accuracy(cells, [1, 1])


def test_distributions_over_different_cells_are_refused():
    with pytest.raises(kk.DataError, match="same cells"):
        kk.l1_accuracy([1, 1], [1, 1, 1])


def test_the_loss_of_a_matrix_is_the_same_dense_and_sparse():
    x, y = np.array([[0, 2.0, 0], [1, 0, 3]]), np.array([[1, 2.0, 0], [0, 0, 1.5]])
    assert mean_absolute_loss(x, y) == pytest.approx(3.5 / 6)
    assert mean_absolute_loss(csr_array(x), csr_array(y)) == pytest.approx(3.5 / 6)
    assert mean_absolute_loss(csr_array(x), y) == pytest.approx(3.5 / 6)


def test_matrices_of_different_shape_are_refused():
    with pytest.raises(kk.DataError, match="one shape"):
        mean_absolute_loss(np.zeros((2, 3)), np.zeros((3, 2)))
