"""Bin by bin: the iterative Bayesian technique on numbers, its steps counted by the likelihood of held-out records."""

from __future__ import annotations

import numpy as np

from kakuran.mechanism.base import Array

STOPS = tuple(int(2 ** (power / 2)) for power in range(2, 29))
"""Steps after which an estimate is a candidate: 2 to 16,384."""

PATIENCE = 5
"""Stops without a better prediction after which the path is given up."""


def paths(matrix: Array, kept: Array, held: Array) -> tuple[Array, Array]:
    """All splits at once: EM from a uniform start, stop by stop.

    Parameters
    ----------
    matrix : probability of each observation (rows) given each bin (columns)
    kept, held : counts of the observations, one row a split

    Returns
    -------
    estimates : shares of the bins, splits × stops × bins
    scores : log-likelihood of what was held out, summed over splits, one a stop
    """
    shares = kept / kept.sum(axis=1, keepdims=True)
    estimate = np.full((len(kept), matrix.shape[1]), 1 / matrix.shape[1])
    estimates, scores, done = [], [], 0
    for stop in STOPS:
        for _ in range(stop - done):
            estimate = estimate * ((shares / np.maximum(estimate @ matrix.T, 1e-300)) @ matrix)
        done = stop
        estimates.append(estimate)
        scores.append(float((held * np.log(np.maximum(estimate @ matrix.T, 1e-300))).sum()))
        if len(scores) - int(np.argmax(scores)) > PATIENCE:
            break
    return np.stack(estimates, axis=1), np.array(scores)
