"""S0's noise scales from its own data; an extra, enabled where the data set lies beside the checkout."""

from pathlib import Path

import pandas as pd
import pytest

import kakuran as kk

ADULT = Path(__file__).parents[3] / "shared/data/adult.data"


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data set is not beside the checkout")
@pytest.mark.parametrize(
    ("place", "name", "scale"), [(0, "age", 14.05), (10, "capital-gain", 19247.53), (4, "education-num", 2.887)]
)
def test_the_noise_scales_of_s0_come_out_of_its_data(place, name, scale):
    column = pd.read_csv(ADULT, header=None, usecols=[place], names=[name], skipinitialspace=True)
    with pytest.warns(kk.InferredDomainWarning):
        schema = kk.Schema.infer(column)
    found = kk.calibrate(schema.confirmed(), n=len(column), k=2, mechanisms={name: "laplace"}, tell="all")[name].scale
    assert found == pytest.approx(scale, rel=3e-4 if name == "education-num" else 1e-4)
