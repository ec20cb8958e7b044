"""Trees and naive Bayes of six real tables: which predicts better, whether held-out counts know, and what is claimed.

Each table is released about its target, nine records in ten; the tenth is predicted as it is. Tables are Adult (two
targets), lines of an online shop, baskets, CASC's census and scikit-learn's breast cancer; numbers stand in bands.
Small ones tell next to nothing at large k, which a learner should notice.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

import kakuran as kk
from benchmarks.claims import Claim, no_peer
from benchmarks.measures import ADULT, NAMES
from kakuran.typing import Array

NOTE = "Log-loss on records the release never held, in natural units; one draw of each."
PACKAGES = ("scikit-learn",)

KS = (2, 10, 100)
LEAST_BETTER = 15
MOST_WRONG = 4
_SHARED = ADULT.parent
_NEEDED = ("adult.data", "online_retail.parquet", "groceries.csv", "casc/CASCrefmicrodata.csv")


@dataclass(frozen=True)
class Outcome:
    """What was predicted of one table at one k, as log-loss on true records."""

    shares: float
    tree: float
    bayes: float
    is_tree_chosen: bool

    @property
    def chosen(self) -> float:
        """Of the one that held-out counts prefer."""
        return self.tree if self.is_tree_chosen else self.bayes

    @property
    def is_right(self) -> bool:
        """Whether the other one would not have been better."""
        return self.chosen <= min(self.tree, self.bayes)


def measure(*, quick: bool) -> Iterator[Claim]:
    """Every table at every k; quick runs take one table."""
    missing = [name for name in _NEEDED if not (_SHARED / name).exists()]
    if missing:
        yield no_peer("learners of six tables", "—", f"{missing[0]} is not beside the checkout", "≥ 15 of 18")
        return
    outcomes = []
    for name, table, target in _tables():
        for k in KS[:1] if quick else KS:
            found = _outcome(table.head(2_000) if quick else table, target, k)
            outcomes.append(found)
            chosen = "tree" if found.is_tree_chosen else "naive Bayes"
            yield Claim(
                f"{name}, k = {k}: {chosen} is chosen, tree {found.tree:.3f}, naive Bayes {found.bayes:.3f}",
                f"{found.chosen:.3f}",
                f"shares alone: {found.shares:.3f}",
            )
        if quick:
            return
    better, wrong = sum(one.chosen < one.shares for one in outcomes), sum(not one.is_right for one in outcomes)
    yield Claim(
        "what is chosen predicts better than the true shares of the target",
        f"{better} of {len(outcomes)}",
        "—",
        bar=f"≥ {LEAST_BETTER}",
        is_met=better >= LEAST_BETTER,
    )
    yield Claim(
        "the other one would have been better",
        f"{wrong} of {len(outcomes)}",
        "—",
        bar=f"≤ {MOST_WRONG}",
        is_met=wrong <= MOST_WRONG,
    )


def _outcome(table: pd.DataFrame, target: str, k: float) -> Outcome:
    people = pa.Table.from_pandas(table, preserve_index=False)
    schema = kk.Schema([kk.Categorical(name, sorted(set(table[name]))) for name in table.columns])
    order = np.random.default_rng(0).permutation(len(table))
    others, known = people.take(order[: len(table) // 10]), people.take(order[len(table) // 10 :])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = kk.perturb(known, kk.calibrate(schema, n=known.num_rows, k=k, about=target), seed=0)
    tree, bayes = release.tree(target), release.bayes(target)
    truth, codes = schema.encode(others)[target], schema.encode(known)[target]
    shares = np.bincount(codes, minlength=schema[target].size) / len(codes)
    return Outcome(
        _loss(np.tile(shares, (len(truth), 1)), truth),
        _loss(tree.predict_proba(others), truth),
        _loss(bayes.predict_proba(others), truth),
        tree.held_out > bayes.held_out,
    )


def _loss(likely: Array, truth: Array) -> float:
    return -float(np.log(np.maximum(likely[np.arange(len(truth)), truth], 1e-12)).mean())


def _tables() -> Iterator[tuple[str, pd.DataFrame, str]]:
    adult = pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True)
    names = ["workclass", "education", "marital", "occupation", "relationship", "race", "sex", "income"]
    census = adult[names].astype(str).assign(age=_bands(adult["age"], 9), hours=_bands(adult["hours"], 6))
    yield "Adult, income", census, "income"
    yield "Adult, occupation", census, "occupation"
    yield "online shop, customer known", _shop().sample(40_000, random_state=0).reset_index(drop=True), "known"
    baskets = [set(line.strip().split(",")) for line in (_SHARED / "groceries.csv").open(encoding="utf-8")]
    common = [item for item, _ in Counter(item for basket in baskets for item in basket).most_common(10)]
    items = {item: ["y" if item in basket else "n" for basket in baskets] for item in common}
    yield f"baskets, {common[0]}", pd.DataFrame(items), common[0]
    casc = pd.read_csv(_SHARED / "casc/CASCrefmicrodata.csv", sep=None, engine="python").select_dtypes("number")
    bands = casc.iloc[:, :9].apply(_bands, parts=4)
    yield f"CASC census, {bands.columns[0]}", bands, bands.columns[0]
    yield "breast cancer", _cancer(), "ill"


def _shop() -> pd.DataFrame:
    lines = pd.read_parquet(_SHARED / "online_retail.parquet")
    column = {name.lower(): lines[name] for name in lines.columns}

    def named(part: str) -> pd.Series:
        return next(values for name, values in column.items() if part in name)

    price = pd.to_numeric(named("price").astype(str).str.replace(",", "."), errors="coerce").fillna(0)
    when = pd.to_datetime(named("date"), errors="coerce", format="mixed", dayfirst=True)
    known = pd.to_numeric(named("customer"), errors="coerce").fillna(0) > 0
    times = {"hour": when.dt.hour, "day": when.dt.dayofweek, "month": when.dt.month}
    return pd.DataFrame(
        {"quantity": _bands(named("quantity"), 6), "price": _bands(price, 8)}
        | {name: values.fillna(0).astype(int).astype(str) for name, values in times.items()}
        | {"known": known.astype(str)}
    )


def _cancer() -> pd.DataFrame:
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    return found.data.iloc[:, :8].apply(_bands, parts=4).assign(ill=found.target.astype(str))


def _bands(values: pd.Series, parts: int) -> pd.Series:
    """About as many in each."""
    return pd.qcut(values, parts, duplicates="drop").cat.codes.astype(str)
