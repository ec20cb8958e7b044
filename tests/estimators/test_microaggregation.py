import numpy as np
import pandas as pd
from sklearn.base import clone

import kakuran as kk


def test_the_estimator_gives_what_the_function_gives_and_can_be_cloned():
    table = pd.DataFrame({"a": np.arange(20.0), "b": list("xy") * 10})
    estimator = clone(kk.Microaggregation(k=4, method="local-search"))
    masked = estimator.fit_transform(table)
    assert kk.check_anonymity(masked, ["a", "b"]).k == estimator.k_ >= 4
    assert np.bincount(estimator.groups_).min() >= 4
    assert estimator.get_params()["k"] == 4
