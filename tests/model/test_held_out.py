"""Splits of counts into records that are kept and records that are held out."""

import numpy as np

from kakuran.model.estimators import splits


def test_every_record_is_held_out_once():
    counts = np.random.default_rng(7).integers(0, 1000, 50).astype(float)
    folds = list(splits(counts, 10, np.random.default_rng(8)))
    for kept, held in folds:
        assert (kept + held == counts).all()
        assert 0.08 < held.sum() / counts.sum() < 0.12
    assert (sum(held for _, held in folds) == counts).all()
