import numpy as np
import pytest

from kakuran.mechanism import BoundedLaplace, RetentionReplacement
from kakuran.reconstruction import ibt


def test_exact_expectations_are_inverted():
    transition = RetentionReplacement(4, 0.5).transition()
    truth = np.array([400.0, 300.0, 200.0, 100.0])
    assert ibt(transition.forward(truth, 0), [transition], tolerance=1e-9) == pytest.approx(truth, rel=1e-4)


def test_likelihood_never_falls_and_counts_add_up():
    rng = np.random.default_rng(0)
    transitions = [RetentionReplacement(4, 0.3).transition(), BoundedLaplace(6, 1, 2.0).transition()]
    counts = rng.integers(0, 50, (4, 6)).astype(float)

    def likelihood(estimate):
        expected = estimate
        for axis, transition in enumerate(transitions):
            expected = transition.forward(expected, axis)
        return (counts * np.log(expected)).sum()

    path = [ibt(counts, transitions, tolerance=0, most_steps=steps) for steps in (1, 2, 5, 20, 100)]
    assert [estimate.sum() for estimate in path] == pytest.approx([counts.sum()] * 5)
    values = [likelihood(estimate) for estimate in path]
    assert values == sorted(values)
    assert all((estimate >= 0).all() for estimate in path)


def test_an_axis_that_was_not_perturbed_stays_as_it_is():
    counts = np.array([[30.0, 10.0], [5.0, 15.0]])
    estimate = ibt(counts, [None, RetentionReplacement(2, 0.5).transition()])
    assert estimate.sum(axis=1) == pytest.approx(counts.sum(axis=1))


def test_no_records_give_no_counts():
    assert ibt(np.zeros(3), [RetentionReplacement(3, 0.5).transition()]).tolist() == [0, 0, 0]
