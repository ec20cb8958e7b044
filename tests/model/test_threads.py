"""Small matrices are fitted by one thread, whatever the others are allowed elsewhere."""

import numpy as np
import pytest
import scipy.linalg  # its BLAS has to be there to be looked at
import scipy.optimize
from threadpoolctl import ThreadpoolController

import kakuran as kk
from kakuran.model.operator import one_thread

BLAS = ThreadpoolController().select(user_api="blas")


def _threads():
    return {library["num_threads"] for library in BLAS.info()}


@pytest.fixture
def two_threads():
    with BLAS.limit(limits=2):
        if _threads() != {2}:
            pytest.skip("this BLAS knows one thread only")
        yield


def test_a_mixture_is_fitted_by_one_thread_and_leaves_the_others_as_they_were(two_threads, monkeypatch):
    seen = set()

    def minimize(*arguments, **options):
        seen.update(_threads())
        return found(*arguments, **options)

    found = scipy.optimize.minimize
    monkeypatch.setattr(scipy.optimize, "minimize", minimize)
    kk.NoisyMixture(n_components=1, noise="laplace", scale=1.0).fit(np.arange(40.0)[:, None])
    assert seen == {1}
    assert _threads() == {2}


def test_the_threads_come_back_when_the_outermost_ends(two_threads):
    with one_thread():
        with one_thread():
            assert _threads() == {1}
        assert _threads() == {1}
    assert _threads() == {2}
