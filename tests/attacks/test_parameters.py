"""What the parameters of a data-dependent plan tell of somebody, to whoever knows everybody else.

The attacker knows all records but one, calibrates again for every value the last may have, and keeps those that give
the published parameters. Somebody is singled out where one value is left.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

import kakuran as kk
from kakuran.counts import Tally
from kakuran.design import Crowd, plan_within
from kakuran.release.files import Manifest
from kakuran.samples import census, census_schema

SCHEMA = kk.Schema(
    [kk.Categorical("sex", ["f", "m"]), kk.Numeric("age", 0, 9, step=1), kk.Categorical("region", list("abcd"))]
)
NOISE = {"age": "bounded-laplace"}
"""Whose swap costs differ from pair to pair: what is calibrated on a table tells more of it."""
CELLS = list(itertools.product(*(range(attribute.size) for attribute in SCHEMA.released)))


def records(n):
    codes = census_schema().encode(census(5000))
    sex, age, region = codes["sex"] % 2, codes["age"] * 9 // codes["age"].max(), codes["region"] % 4
    return np.column_stack([sex, age, region])[:n]


def parameters(table, k):
    """What is published."""
    plan = kk.calibrate(SCHEMA, data=tally_of(table), calibration="data-dependent", k=k, mechanisms=NOISE, tell="all")
    return {name: mechanism.parameters() for name, mechanism in plan.mechanisms.items()}


def exact_epsilon(table, k):
    """What would be published if the noise were just enough."""
    crowd = Crowd(tally_of(table))

    def excess(epsilon):
        return crowd.smallest([plan_within(SCHEMA, epsilon, mechanisms=NOISE).tells[0].telling]) - k

    return brentq(excess, 1e-6, 60, xtol=1e-12)


def tally_of(table):
    tally = Tally.of_columns(SCHEMA.released)
    tally.update(dict(zip(SCHEMA.names, table.T.astype(np.int32), strict=True)))
    return tally


def given_parameters(table, k):
    told = parameters(table, k)
    return lambda candidate: parameters(candidate, k) == told


def given_exact_epsilon(table, k):
    told = plan_within(SCHEMA, exact_epsilon(table, k), mechanisms=NOISE).tells[0].telling
    return lambda candidate: abs(Crowd(tally_of(candidate)).smallest([told]) / k - 1) < 1e-7


def singled_out(told):
    """Of 20 people each in two tables, how many have one value left that agrees with what is told of the table."""
    found = 0
    for n, k in ((30, 2), (300, 5)):
        table = records(n)
        agrees = told(table, k)
        people = np.random.default_rng(0).choice(n, 20, replace=False)
        alike, times = np.unique(table[people], axis=0, return_counts=True)
        for record, count in zip(alike, times, strict=True):
            candidates = np.repeat(table[None], len(CELLS), axis=0)
            candidates[:, np.flatnonzero((table == record).all(axis=1))[0]] = CELLS
            left = list(itertools.islice(filter(agrees, candidates), 2))  # two are as good as many
            found += int(count) * (len(left) == 1)
    return found


def test_exact_parameters_would_single_out_five_of_40_people():
    assert singled_out(given_exact_epsilon) == 5


def test_rounded_parameters_single_out_one_of_40_people():
    assert singled_out(given_parameters) == 1


def test_two_tables_on_one_rung_have_the_same_manifest_to_the_last_digit():
    tables = [records(301)[:300], records(301)[1:]]
    assert abs(exact_epsilon(tables[0], 5) - exact_epsilon(tables[1], 5)) > 1e-4
    plans = [
        kk.calibrate(SCHEMA, data=tally_of(table), calibration="data-dependent", k=5, tell="all") for table in tables
    ]
    manifests = [Manifest(plan, 300, "shuffled", seeded=False).to_json() for plan in plans]
    assert manifests[0] == manifests[1]


def test_rounding_takes_at_most_a_tenth_of_epsilon_and_a_fiftieth_on_average():
    lost = [
        1
        - kk.calibrate(
            SCHEMA, data=tally_of(records(n)), calibration="data-dependent", k=k, mechanisms=NOISE, tell="all"
        ).epsilon
        / exact_epsilon(records(n), k)
        for n in (30, 100, 300, 1000)
        for k in (1.5, 2, 3, 5, 8)
    ]
    assert min(lost) >= 0
    assert max(lost) <= 1 / 11
    assert np.mean(lost) == pytest.approx(0.02, abs=0.01)
