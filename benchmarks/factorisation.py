"""Boolean and masked factors beside their peers, and S1's table by `auto`."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.claims import Claim, at_most, faster_run, no_peer
from benchmarks.timing import attempt, timed
from kakuran.reproduction.s1 import PEOPLE
from kakuran.samples import planted_matrix
from kakuran.wide import factorise_boolean, factorise_masked, release_matrix

BARS = {3: 0.0102, 5: 0.0106, 10: 0.0112, 20: 0.0117}


def boolean(rank: int, size: int) -> Iterator[Claim]:
    """The same error as Asso in a fraction of the time, never more than nimfa's; Asso takes minutes at high rank."""
    X = planted_matrix(rank, rows=size, columns=size)
    seconds, found = timed(lambda: factorise_boolean(X, rank), rounds=3)
    mine = _wrong_cells(found.product().toarray(), X)
    text = f"Boolean factorisation, {size} × {size}, rank {rank}"
    yield _beside_asso(X, rank, text, seconds, mine)
    taken, result = attempt(lambda: _nimfa(X, rank))
    if taken is None:
        yield no_peer(f"{text}: wrong cells, beside nimfa's", f"{mine:,}", str(result), "no more")
    else:
        yield at_most(f"{text}: wrong cells, beside nimfa's", mine, result, beside=f"nimfa: {result:,}")


def _beside_asso(X: Any, rank: int, text: str, seconds: float, mine: int) -> Claim:
    taken, result = attempt(lambda: _asso(X, rank))
    if taken is None:
        return no_peer(f"{text}, vs PyBMF's Asso", f"{seconds:.3f} s", str(result), "≥ 50×")
    return faster_run(f"{text}: {mine:,} wrong cells, Asso's {result:,}", seconds, taken, "PyBMF Asso", 50)


def _asso(X: Any, rank: int) -> int:
    from PyBMF.models import Asso
    from scipy.sparse import csr_matrix

    # It draws pictures of every matrix it makes, into a folder of its authors'.
    Asso.show_matrix = lambda *_, **__: None
    model = Asso(tau=0.5, k=rank, w_fp=0.5)
    quiet = dict.fromkeys(("verbose", "display", "show_logs", "save_model", "show_result"), False)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        model.fit(csr_matrix(X), task="reconstruction", **quiet)
    return _wrong_cells((model.U @ model.V.T > 0).toarray(), X)


def _nimfa(X: Any, rank: int) -> int:
    # It asks numpy for a name that numpy 2 has dropped.
    setattr(np, "mat", np.asmatrix)  # noqa: B010
    import nimfa

    dense = X.toarray().astype(float)
    found = nimfa.Bmf(dense, seed="nndsvd", rank=rank, max_iter=50, lambda_w=1.1, lambda_h=1.1)()
    W, H = np.asarray(found.basis()) > 0.5, np.asarray(found.coef()) > 0.5
    return _wrong_cells(W.astype(int) @ H.astype(int) > 0, X)


def _wrong_cells(product: Any, X: Any) -> int:
    return int((product != X.toarray()).sum())


def masked(entries: int, rank: int) -> Iterator[Claim]:
    """Five epochs beside five of the multiplicative updates on the same entries."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    rows, columns = entries // 50, entries // 200
    places = rng.choice(rows * columns, entries, replace=False)
    i, j = np.divmod(places, columns)
    means = (rng.gamma(1, 1, (rows, rank))[i] * rng.gamma(1, 1, (columns, rank))[j]).sum(axis=1)
    x = rng.poisson(means) + 1.0
    X = csr_array((x, (i, j)), shape=(rows, columns))
    factorise_masked(X[:100], rank, epochs=1)
    seconds, found = timed(lambda: factorise_masked(X, rank, epochs=5, tolerance=0), rounds=2)
    text = f"masked NMF, {entries:,} non-zeros, R={rank}"
    yield at_most(f"{text}: an epoch", seconds / 5, 0.5, "s")
    peer = _multiplicative(X, i, j, x, rank)
    yield at_most(f"{text}: RMSE after 5 epochs", found.errors[-1], peer, beside=f"multiplicative updates: {peer:.4g}")


def _multiplicative(X: Any, i: Any, j: Any, x: Any, rank: int) -> float:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(1)
    U, V = (np.sqrt(x.mean() / rank) * rng.uniform(0.5, 1.5, (side, rank)) for side in X.shape)
    for _ in range(5):
        U *= (X @ V) / (csr_array(((U[i] * V[j]).sum(axis=1), (i, j)), shape=X.shape) @ V + 1e-12)
        V *= (X.T @ U) / (csr_array(((U[i] * V[j]).sum(axis=1), (i, j)), shape=X.shape).T @ U + 1e-12)
    return float(np.sqrt((((U[i] * V[j]).sum(axis=1) - x) ** 2).mean()))


def table_1(seeds: int) -> Iterator[Claim]:
    """`auto` on S1's kind of matrix."""
    release_matrix(planted_matrix(3, seed=99), 10)
    for rank, bar in BARS.items():
        matrices = [planted_matrix(rank, people=PEOPLE, seed=seed) for seed in range(seeds)]
        runs = [timed(lambda X=X: release_matrix(X, 10)) for X in matrices]
        text = f"auto on 1000 × 1000 of rank {rank}, k=10, {seeds} seeds"
        yield at_most(f"{text}: loss", float(np.mean([released.loss for _, released in runs])), bar)
        yield at_most(f"{text}: longest run", max(seconds for seconds, _ in runs), 2, "s")


def large(rows: int, most_loss: float, most_seconds: float) -> Iterator[Claim]:
    """`auto` on many rows, in a process of its own whose peak memory is read afterwards."""
    command = [sys.executable, "-m", "benchmarks.large_matrix", str(rows)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    loss, seconds, gibibytes = map(float, output.split())
    text = f"auto on {rows:,} × 1000 sparse, r=20, k=10"
    yield at_most(f"{text}: loss", loss, most_loss)
    yield at_most(f"{text}: time", seconds, most_seconds, "s")
    yield at_most(f"{text}: peak memory", gibibytes, 4, "GiB")
