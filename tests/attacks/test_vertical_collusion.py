"""Two of three put together what they have: masks hide each part from the receiver, not from it and another."""

import numpy as np
import pyarrow as pa
import pytest

from kakuran.vertical import VerticalPlan, fit_vertically, predict_together, prediction
from kakuran.vertical.party import side_by_side

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

PEOPLE = 600


def test_receiver_and_another_party_open_the_parts_of_the_third(monkeypatch):
    values = np.random.default_rng(1).normal(size=(PEOPLE, 6))
    held = {"a": ["a0", "a1"], "b": ["b0", "b1"], "c": ["c0", "c1"]}
    columns = dict(zip((name for names in held.values() for name in names), values.T, strict=True))
    tables = {party: pa.table({"id": range(PEOPLE), **{n: columns[n] for n in names}}) for party, names in held.items()}
    tables["c"] = tables["c"].append_column("y", [values.sum(axis=1)])
    plan = VerticalPlan.of(held, target="y", holder="c", search="none")
    fits, sent, masked = fit_vertically(tables, plan), {}, prediction._masked

    def tapped(links, plan, me, receiver, steps):
        sent[me] = steps, masked(links, plan, me, receiver, steps)
        return sent[me][1]

    monkeypatch.setattr(prediction, "_masked", tapped)
    side_by_side(list(held), lambda name, links: predict_together(links, plan, fits[name], tables[name], receiver="c"))
    (ours, shown), (parts, hidden) = sent["a"], sent["b"]
    mask_of_a = shown - ours
    assert (hidden + mask_of_a == parts).all()
    assert (np.abs(hidden.astype(float)) > 2.0**40).mean() > 0.99  # the receiver alone sees random numbers
