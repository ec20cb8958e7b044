"""How many people keep their category where domains are found privately, on real tables that are there or not."""

from pathlib import Path

import pandas as pd
import pytest

import kakuran as kk

DATA = Path(__file__).parents[3] / "shared" / "data"
ADULT = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation", "relationship"),
    *("race", "sex", "capital_gain", "capital_loss", "hours", "country", "income"),
]
CATEGORIES = ["workclass", "education", "marital", "occupation", "relationship", "race", "sex", "country", "income"]


def kept(table, epsilon):
    """Of people and columns, the share whose category is listed."""
    schema = kk.Schema.infer(table, epsilon=epsilon)
    columns = [one for one in schema.released if isinstance(one, kk.Categorical)]
    return sum(table[one.name].isin(one.values).mean() for one in columns) / len(table.columns)


@pytest.mark.skipif(not (DATA / "adult.data").exists(), reason="needs Adult")
def test_adult_keeps_most_categories():
    """32,561 people, nine columns: noise over all of them is three times that over one."""
    adult = pd.read_csv(DATA / "adult.data", names=ADULT, skipinitialspace=True)[CATEGORIES]
    assert kept(adult, 0.1) > 0.92
    assert kept(adult, 0.3) > 0.975
    assert kept(adult, 1.0) > 0.99
    alone = [kept(adult[[column]], 0.1) for column in CATEGORIES]
    assert sum(alone) / len(alone) > 0.98


@pytest.mark.skipif(not (DATA / "online_retail.parquet").exists(), reason="needs the retail table")
def test_retail_keeps_countries():
    """541,909 rows of 38 countries."""
    retail = pd.read_parquet(DATA / "online_retail.parquet", columns=["Country"])
    assert kept(retail, 0.1) > 0.99
