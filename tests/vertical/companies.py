"""Parties made from matrices, with ids in different orders and some that the other does not have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kakuran.vertical import VerticalPlan

from .pooled import names, tables


class Companies:
    """Alice and Bob; `X`, `y` are the shared records as somebody who sees both would have them."""

    def __init__(self, A, B, y, *, strangers=7, seed=3, **settings):
        rng = np.random.default_rng(seed)
        self.A, self.B, self.X, self.y = A, B, np.hstack([A, B]), y
        self.a, self.b = names(A.shape[1], B.shape[1])
        self.owners = ["alice"] * len(self.a) + ["bob"] * len(self.b)
        records = len(y)
        ids = rng.permutation(10 * records)[: records + 2 * strangers]
        self.frames = {
            "alice": self._table(rng, ids[: records + strangers], self.a, A, {}),
            "bob": self._table(rng, np.r_[ids[:records], ids[records + strangers :]], self.b, B, {"y": y}),
        }
        self.plan = VerticalPlan.of({"alice": self.a, "bob": self.b}, target="y", holder="bob", **settings)

    @staticmethod
    def _table(rng, ids, columns, values, extra):
        more = len(ids) - len(values)
        order = rng.permutation(len(ids))
        padded = np.vstack([values, 100 * rng.normal(size=(more, values.shape[1]))])
        held = {name: padded[order, at] for at, name in enumerate(columns)}
        for name, column in extra.items():
            held[name] = np.r_[column, 100 * rng.normal(size=more)][order]
        return pa.table({"id": ids[order], **held})

    @property
    def columns(self):
        return [*self.a, *self.b]


def companies(records=300, p=4, q=4, correlation=0.7, seed=1, noise=1.0, shift=3.0, **settings):
    A, B, y = tables(records, p, q, correlation, seed=seed, noise=noise, shift=shift)
    return Companies(A, B, y, **settings)
