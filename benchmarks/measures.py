"""Information loss and anonymity checks, on a million rows and beside pycanon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.claims import Claim, at_most, faster_run, no_peer
from benchmarks.timing import PATIENCE, UNFINISHED, attempt, timed
from kakuran.audit import check_anonymity, information_loss
from kakuran.schema import Tree

ADULT = Path(__file__).parents[2] / "shared/data/adult.data"
NAMES = (
    "age workclass fnlwgt education education-num marital occupation relationship "
    "race sex gain loss hours country income"
)
QUASI = ["age", "workclass", "education", "marital", "race", "sex"]


def losses(rows: int) -> Iterator[Claim]:
    """ILD over numbers, and over a column whose values hang in a tree."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(rows, 5))
    seconds, _ = timed(lambda: information_loss(numbers, np.round(numbers)), rounds=3)
    yield at_most(f"information loss, {rows:,} rows × 5 numbers", seconds, 1, "s")
    groups = {f"group {one}": [f"leaf {one} {other}" for other in range(24)] for one in range(20)}
    tree = Tree({"root": list(groups), **groups})
    leaves = np.array(tree.leaves, object)
    codes = rng.integers(0, len(leaves), rows)
    parents = np.array([tree.parents[leaf] for leaf in leaves], object)
    before, after = pa.table({"a": leaves[codes]}), pa.table({"a": parents[codes]})
    seconds, _ = timed(lambda: information_loss(before, after, {"a": tree}), rounds=3)
    nodes = 1 + len(tree.parents)
    yield at_most(f"information loss, {rows:,} rows, a tree of {nodes} nodes", seconds, 1, "s")


def anonymity(rows: int | None) -> Iterator[Claim]:
    """l-diversity and t-closeness of Adult, or its first rows, over six quasi-identifiers; pycanon loops."""
    if not ADULT.exists():
        yield no_peer("anonymity checks vs pycanon", "—", "the Adult data set is not beside the checkout", "≥ 20×")
        return
    adult = pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True, nrows=rows)
    for sensitive in ("occupation", "hours"):
        seconds, found = timed(lambda sensitive=sensitive: check_anonymity(adult, QUASI, [sensitive]), rounds=3)
        ours = found.sensitive[sensitive]
        t = ours.equal_t if ours.ordered_t is None else ours.ordered_t
        checks: dict[str, tuple[float, Callable[[], float]]] = {
            "l_diversity": (ours.distinct_l, lambda sensitive=sensitive: _pycanon("l_diversity", adult, sensitive)),
            "t_closeness": (t, lambda sensitive=sensitive: _pycanon("t_closeness", adult, sensitive)),
        }
        for name, (mine, peer) in checks.items():
            text = f"{name} of {sensitive}, Adult ({len(adult):,} rows, six quasi-identifiers)"
            taken, result = attempt(peer, patience=PATIENCE)
            if taken is None:
                yield no_peer(text, f"{seconds:.3f} s", str(result), "≥ 20×")
            elif result is UNFINISHED:
                yield faster_run(text, seconds, taken, "pycanon", 20, is_finished=False)
            elif abs(float(result) - mine) > 1e-9:
                yield no_peer(text, f"{mine:g}", f"pycanon: {float(result):g}", "the same")
            else:
                yield faster_run(f"{text}, same value as pycanon", seconds, taken, "pycanon", 20)


def _pycanon(name: str, table: pd.DataFrame, sensitive: str) -> float:
    from pycanon import anonymity

    return float(getattr(anonymity, name)(table, QUASI, [sensitive]))
