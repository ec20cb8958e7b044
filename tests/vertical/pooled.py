"""Two companies' tables, and the answers somebody who saw both would get."""

from __future__ import annotations

import numpy as np
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.tools import add_constant

from kakuran.vertical.regression import Moments


def tables(records=300, p=4, q=4, correlation=0.0, seed=1, noise=1.0, shift=3.0):
    """X_A, X_B with canonical correlations from 0 to `correlation`, and y to which every other column matters."""
    rng = np.random.default_rng(seed)
    common = min(p, q)
    raw = rng.normal(size=(records, p + q))
    basis, _ = np.linalg.qr(raw - raw.mean(axis=0))
    ours, theirs = basis[:, :p], basis[:, p:].copy()
    cosines = correlation * np.linspace(0, 1, common + 1)[1:]
    theirs[:, :common] = cosines * ours[:, :common] + np.sqrt(1 - cosines**2) * theirs[:, :common]
    scale = np.sqrt(records)
    A = scale * ours @ rng.normal(size=(p, p)) + shift
    B = scale * theirs @ rng.normal(size=(q, q)) - shift
    beta = np.where(np.arange(p + q) % 2 == 0, rng.normal(size=p + q), 0)
    y = 2 + np.hstack([A, B]) @ beta + noise * rng.normal(size=records)
    return A, B, y


def names(p, q):
    return [f"a{j}" for j in range(p)], [f"b{j}" for j in range(q)]


def pooled_ols(X, y, *, intercept=True):
    """The model statsmodels fits on the pooled table."""
    return OLS(y, add_constant(X) if intercept else X).fit()


def moments_of(A, B, y, *, intercept=True):
    """Exact moments, from the pooled table."""
    columns, owners = names(A.shape[1], B.shape[1]), ["alice"] * A.shape[1] + ["bob"] * B.shape[1]
    Z = np.column_stack([A, B, y])
    if intercept:
        Z = Z - Z.mean(axis=0)
    scale = np.sqrt((Z**2).mean(axis=0))
    Z = Z / scale
    return Moments((*columns[0], *columns[1]), tuple(owners), Z.T @ Z / len(y), len(y), intercept, float(scale[-1]))


def backward(X, y, owners, *, criterion="aic", ranking="exact", least=2, forced=()):
    """Backward elimination by refitting with statsmodels at every step: slow, and nothing shared with our own."""

    def value(chosen):
        fit = pooled_ols(X[:, chosen], y)
        k = len(chosen) + 2
        if criterion == "bic":
            return -2 * fit.llf + k * np.log(len(y))
        aic = -2 * fit.llf + 2 * k
        return aic + (2 * k * (k + 1) / (len(y) - k - 1) if criterion == "aicc" else 0)

    chosen = list(range(X.shape[1]))
    best = value(chosen)
    while True:
        may_go = [j for j in chosen if j not in forced and sum(owners[i] == owners[j] for i in chosen) > least]
        if not may_go:
            return chosen
        if ranking == "exact":
            worst = min(may_go, key=lambda j: value([i for i in chosen if i != j]))
        else:
            fit = pooled_ols(X[:, chosen], y)
            added = [
                ((fit.resid + fit.params[1 + place] * (X[:, j] - X[:, j].mean())) ** 2).sum()
                for place, j in enumerate(chosen)
            ]
            worst = min(may_go, key=lambda j: added[chosen.index(j)])
        without = [i for i in chosen if i != worst]
        if value(without) > best:
            return chosen
        chosen, best = without, value(without)
