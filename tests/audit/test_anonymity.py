"""The checks against the definitions, written out class by class."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk

ADULT = Path(__file__).parents[3] / "shared/data/adult.data"
NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]


def by_definition(table, quasi, sensitive):
    """distinct l, entropy l, equal t and ordered t, one class after the other."""
    values = sorted(table[sensitive].unique())

    def shares(part):
        return np.array([(part[sensitive] == value).mean() for value in values])

    overall = shares(table)
    distinct, entropy, equal, ordered = [], [], [], []
    for _, part in table.groupby(quasi):
        found = shares(part)
        distinct.append((found > 0).sum())
        entropy.append(np.exp(-sum(share * np.log(share) for share in found if share)))
        equal.append(np.abs(found - overall).sum() / 2)
        ordered.append(np.abs(np.cumsum(found - overall)).sum() / max(len(values) - 1, 1))
    return min(distinct), min(entropy), max(equal), max(ordered)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 5)), min_size=1, max_size=40),
)
def test_every_check_is_what_its_definition_says(rows):
    table = pd.DataFrame(rows, columns=["a", "b", "s"])
    found = kk.check_anonymity(table, ["a", "b"], ["s"])
    sizes = table.groupby(["a", "b"]).size()
    assert (found.k, found.classes, found.uniques) == (sizes.min(), len(sizes), (sizes == 1).sum())
    assert found.risks == pytest.approx(1 / table.groupby(["a", "b"])["s"].transform("size").to_numpy())
    assert found.expected_risk == pytest.approx(found.risks.mean())
    s = found.sensitive["s"]
    assert (s.distinct_l, s.entropy_l, s.equal_t, s.ordered_t) == pytest.approx(
        by_definition(table, ["a", "b"], "s"), abs=1e-9
    )


def test_categories_have_no_ordered_closeness():
    table = pd.DataFrame({"a": [1, 1, 2], "s": ["x", "y", "x"]})
    assert kk.check_anonymity(table, ["a"], ["s"]).sensitive["s"].ordered_t is None


def test_a_missing_value_is_a_value_of_its_own():
    table = pd.DataFrame({"a": ["x", None, None, "x"], "s": [1.0, 2.0, np.nan, 1.0]})
    found = kk.check_anonymity(table, ["a"], ["s"])
    assert (found.k, found.classes) == (2, 2)
    assert found.sensitive["s"].distinct_l == 1
    assert found.sensitive["s"].ordered_t is None


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(kk.DataError, match=r"'c'.*not in the table"):
        kk.check_anonymity(pd.DataFrame({"a": [1]}), ["c"])
    with pytest.raises(kk.DataError, match="quasi names no column"):
        kk.check_anonymity(pd.DataFrame({"a": [1]}), [])
    with pytest.raises(kk.DataError, match="empty"):
        kk.check_anonymity(pd.DataFrame({"a": []}), ["a"])


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data set is not beside the checkout")
def test_adult_is_as_anonymous_as_pycanon_says():
    adult = pd.read_csv(ADULT, header=None, names=NAMES, skipinitialspace=True)
    found = kk.check_anonymity(adult, ["sex", "race"], ["occupation", "hours-per-week"])
    # pycanon 1.0.1: k_anonymity, l_diversity, int(entropy_l_diversity), t_closeness
    occupation, hours = found.sensitive["occupation"], found.sensitive["hours-per-week"]
    assert found.k == 109
    assert (occupation.distinct_l, hours.distinct_l) == (11, 23)
    assert (int(occupation.entropy_l), int(hours.entropy_l)) == (8, 6)
    assert occupation.equal_t == pytest.approx(0.32220540754980986)
    assert hours.ordered_t == pytest.approx(0.049617546210691386)


def test_problems_name_what_was_asked_and_not_kept():
    table = pd.DataFrame({"a": [1, 1, 2, 2, 2], "ill": ["x", "x", "x", "y", "y"], "pay": [1, 2, 1, 2, 3]})
    found = kk.check_anonymity(table, ["a"], ["ill", "pay"])
    assert found.problems() == []
    assert found.problems(k=2, l=1, t=1) == []
    assert found.problems(k=3) == ["the smallest class has 2 records, fewer than 3"]
    assert found.problems(l=1.5) == ["ill: a class is 1-diverse, less than 1.5"]
    assert found.problems(t=0.3) == ["ill: a class is 0.4-close, farther than 0.3"]  # pay is closer, on a line


def test_an_outcome_is_told_in_plain_values():
    told = kk.check_anonymity(pd.DataFrame({"a": [1, 1, 2], "s": [1, 2, 3]}), ["a"], ["s"]).to_dict()
    assert (told["k"], told["uniques"], told["highest_risk"]) == (1, 1, 1.0)
    assert set(told["sensitive"]["s"]) == {"distinct_l", "entropy_l", "equal_t", "ordered_t"}
