"""The attacker knows the whole true table, every mechanism and the released rows; only who is whose is hidden.

For tables of up to six people her posterior can be written out: every assignment of people to rows, weighted by its
likelihood. It must never link anybody with more than the promised probability.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

import kakuran as kk
from kakuran.errors import CalibrationError
from kakuran.randomness import Randomness

SLACK = 1e-9
PRAM_MATRIX = [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.25, 0.25, 0.5]]
TELLTALE_MATRIX = [[0.8, 0.2, 0.0], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]]


def posteriors(log_likelihoods):
    """Pr[row s belongs to person i], from log p(row s | person i), by writing out all assignments."""
    people = len(log_likelihoods)
    assignments = np.array(list(itertools.permutations(range(people))))
    logs = log_likelihoods[np.arange(people), assignments].sum(axis=1)
    weights = np.exp(logs - logs.max())
    linked = np.zeros((people, people))
    for person in range(people):
        np.add.at(linked[person], assignments[:, person], weights)
    return linked / weights.sum()


def joint_log_likelihoods(mechanisms, table, released):
    """Per person and released row; a column without a mechanism is released as it is."""
    total = np.zeros((len(table), len(table)))
    for column, mechanism in enumerate(mechanisms):
        people, rows = table[:, column][:, None], released[:, column][None, :]
        if mechanism is None:
            total += np.where(people == rows, 0.0, -np.inf)
        else:
            total += mechanism.log_likelihood(rows, people)
    return total


def crowds(mechanisms, table):
    """Σ_j m_ij of every person."""
    cost = np.zeros((len(table), len(table)))
    for column, mechanism in enumerate(mechanisms):
        a, b = table[:, column][:, None], table[:, column][None, :]
        cost += np.where(a == b, 0.0, np.inf) if mechanism is None else mechanism.swap_cost(a, b)
    return np.exp(-cost).sum(axis=1)


def all_releases(mechanisms, table):
    """Every set of rows that could come out."""
    rows = []
    for person in table:
        outputs = [
            [code] if mechanism is None else range(-mechanism.reach, mechanism.size + mechanism.reach)
            for code, mechanism in zip(person.tolist(), mechanisms, strict=True)
        ]
        rows.append(list(itertools.product(*outputs)))
    for chosen in itertools.product(*rows):
        yield np.array(chosen, np.int32)


def worst_link(mechanisms, table, released):
    """The surest link of each person, or None where these rows cannot come from this table."""
    logs = joint_log_likelihoods(mechanisms, table, released)
    if not np.isfinite(logs.diagonal().sum()):
        return None
    return posteriors(logs).max(axis=1)


def tables(mechanisms, least=2, most=6):
    sizes = [3 if mechanism is None else mechanism.size for mechanism in mechanisms]
    return st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), min_size=least, max_size=most).map(
        lambda rows: np.array(rows, np.int32)
    )


@st.composite
def releases_of(draw, mechanisms, table):
    """Any rows that could come out of the table, likely or not."""
    released = table.copy()
    for column, mechanism in enumerate(mechanisms):
        if mechanism is not None:
            outputs = st.integers(-mechanism.reach, mechanism.size - 1 + mechanism.reach)
            released[:, column] = draw(st.lists(outputs, min_size=len(table), max_size=len(table)))
    return released


MECHANISMS = {
    "retention": lambda: kk.RetentionReplacement(3, 0.6),
    "retention of a number": lambda: kk.RetentionReplacement(5, 0.3, step=2.0),
    "bounded-laplace": lambda: kk.BoundedLaplace(5, 1, 1.5),
    "weak bounded-laplace": lambda: kk.BoundedLaplace(4, 1, 0.1),
    "laplace": lambda: kk.Laplace(4, 1, 0.8),
    "bounded-gaussian": lambda: kk.BoundedGaussian(5, 1, 2.0),
    "pram": lambda: kk.PRAM(PRAM_MATRIX),
    "telltale pram": lambda: kk.PRAM(TELLTALE_MATRIX),
    "invariant pram": lambda: kk.PRAM.invariant(PRAM_MATRIX, [3, 2, 1]),
    "kept": lambda: None,
}


class TestTheBound:
    @pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in ("kept", "laplace")])
    def test_no_release_at_all_links_anybody_above_one_over_their_crowd(self, name):
        mechanisms = [MECHANISMS[name]()]
        generator = np.random.default_rng(0)
        size = mechanisms[0].size
        for table in ([0, size - 1, 1], [0, 1, 1], generator.integers(0, size, 3), generator.integers(0, size, 4)):
            table = np.array(table, np.int32)[:, None]
            bound = 1 / crowds(mechanisms, table)
            found = [worst_link(mechanisms, table, released) for released in all_releases(mechanisms, table)]
            assert (np.max([link for link in found if link is not None], axis=0) <= bound + SLACK).all()

    def test_no_release_of_two_columns_links_anybody_above_one_over_their_crowd(self):
        mechanisms = [kk.RetentionReplacement(2, 0.7), kk.BoundedLaplace(3, 1, 1.0)]
        table = np.array([[0, 0], [1, 2], [0, 1]], np.int32)
        bound = 1 / crowds(mechanisms, table)
        found = [worst_link(mechanisms, table, released) for released in all_releases(mechanisms, table)]
        assert (np.max(found, axis=0) <= bound + SLACK).all()

    @settings(deadline=None, max_examples=150)
    @given(st.lists(st.sampled_from(list(MECHANISMS)), min_size=1, max_size=3), st.data())
    def test_the_bound_holds_for_any_columns_any_table_and_any_release(self, names, data):
        mechanisms = [MECHANISMS[name]() for name in names]
        table = data.draw(tables(mechanisms))
        released = data.draw(releases_of(mechanisms, table))
        links = worst_link(mechanisms, table, released)
        assume(links is not None)
        assert (links <= 1 / crowds(mechanisms, table) + SLACK).all()

    @settings(deadline=None, max_examples=100)
    @given(st.lists(st.sampled_from(list(MECHANISMS)), min_size=1, max_size=3), st.data(), st.integers(0, 1 << 30))
    def test_the_bound_holds_for_what_is_really_released(self, names, data, seed):
        mechanisms = [MECHANISMS[name]() for name in names]
        table = data.draw(tables(mechanisms))
        stream = Randomness.seeded(seed)
        columns = [
            table[:, place] if mechanism is None else mechanism.sample(np.ascontiguousarray(table[:, place]), stream)
            for place, mechanism in enumerate(mechanisms)
        ]
        links = worst_link(mechanisms, table, np.column_stack(columns))
        assert (links <= 1 / crowds(mechanisms, table) + SLACK).all()

    @pytest.mark.parametrize(
        ("mechanism", "table"),
        [
            (kk.RetentionReplacement(3, 0.6), [0, 1]),
            (kk.BoundedLaplace(5, 1, 1.5), [0, 4]),
            (kk.BoundedGaussian(5, 1, 2.0), [0, 4]),
            (kk.PRAM([[0.8, 0.2], [0.3, 0.7]]), [0, 1]),
        ],
        ids=["retention", "bounded-laplace", "bounded-gaussian", "pram"],
    )
    def test_the_bound_is_reached_by_two_people(self, mechanism, table):
        table = np.array(table, np.int32)[:, None]
        found = max(worst_link([mechanism], table, released).max() for released in all_releases([mechanism], table))
        assert found == pytest.approx(1 / crowds([mechanism], table)[0], rel=1e-4)

    def test_the_oracle_itself_knows_two_people_and_a_coin(self):
        coin = kk.RetentionReplacement(2, 0.5)
        table = np.array([[0], [1]], np.int32)
        assert worst_link([coin], table, table) == pytest.approx([0.9, 0.9])
        assert worst_link([coin], table, np.array([[0], [0]])) == pytest.approx([0.5, 0.5])


SCHEMAS = {
    "one category": [kk.Categorical("a", ["x", "y", "z"])],
    "one number": [kk.Numeric("a", 0, 4, step=1)],
    "a category and a number": [kk.Categorical("a", ["x", "y"]), kk.Numeric("b", 0, 2, step=0.5)],
    "two numbers and a kept column": [
        kk.Numeric("a", 0, 3, step=1),
        kk.Numeric("b", 10, 12, step=1),
        kk.Categorical("c", ["u", "v"], role="keep"),
    ],
    "a kept number": [kk.Categorical("a", ["x", "y", "z"]), kk.Numeric("b", 0, 1, step=1, role="keep")],
    "missing values": [kk.Numeric("a", 0, 2, step=1, missing="category"), kk.Categorical("b", ["x", "y"])],
}
CHOICES = {
    "default": {},
    "laplace": {"number": "bounded-laplace"},
    "gaussian": {"number": "bounded-gaussian"},
    "retention": {"number": "retention"},
    "pram": {"three values": kk.PRAM([[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]])},
}


def choices_for(schema, style):
    """The style's mechanisms for the columns they fit."""
    chosen = {}
    for attribute in schema.perturbed:
        if isinstance(attribute, kk.Numeric) and attribute.missing == "error" and "number" in CHOICES[style]:
            chosen[attribute.name] = CHOICES[style]["number"]
        if attribute.size == 3 and isinstance(attribute, kk.Categorical) and "three values" in CHOICES[style]:
            chosen[attribute.name] = CHOICES[style]["three values"]
    return chosen


def frame_of(schema, codes):
    """The table that has these codes, value by value."""
    columns = {}
    for place, attribute in enumerate(schema.released):
        values = list(attribute.values) if isinstance(attribute, kk.Categorical) else None
        if values is None:
            values = [attribute.low + attribute.step * point for point in range(attribute.points)]
        values += [None]
        columns[attribute.name] = pa.array([values[code] for code in codes[:, place]])
    return pa.table(columns)


@st.composite
def people_in(draw, schema, least=2):
    row = st.tuples(*(st.integers(0, attribute.size - 1) for attribute in schema.released))
    return np.array(draw(st.lists(row, min_size=least, max_size=6)), np.int32)


def smallest_group(schema, codes):
    """The fewest people who share their kept values."""
    kept = [place for place, attribute in enumerate(schema.released) if attribute.role == "keep"]
    return int(np.unique(codes[:, kept], axis=0, return_counts=True)[1].min()) if kept else len(codes)


def mechanisms_of(plan):
    return [plan.mechanisms.get(attribute.name) for attribute in plan.schema.released]


def pushed_outwards(mechanisms, table):
    """The rows that part low from high codes most clearly, where noise is worst."""
    released = table.copy()
    for place, mechanism in enumerate(mechanisms):
        if mechanism is not None:
            released[:, place] = np.where(2 * table[:, place] < mechanism.size - 1, 0, mechanism.size - 1)
    return released


def styles_that_differ():
    """Schemas and styles, but of styles that come to the same in a schema only the first."""
    for name, columns in SCHEMAS.items():
        chosen = {style: choices_for(kk.Schema(columns), style) for style in CHOICES}
        for place, style in enumerate(chosen):
            if chosen[style] not in list(chosen.values())[:place]:
                yield pytest.param(kk.Schema(columns), style, id=f"{name}-{style}")


@pytest.mark.parametrize(("schema", "style"), list(styles_that_differ()))
class TestThePromise:
    @settings(deadline=None, max_examples=25)
    @given(data=st.data())
    def test_the_worst_case_calibration_links_nobody_above_one_over_k(self, schema, style, data):
        table = data.draw(people_in(schema))
        n = smallest_group(schema, table)
        assume(n >= 2)
        k = data.draw(st.floats(1.01, n))
        plan = self.calibrated(schema, style, n=n, k=k)
        tally = plan.tally()
        tally.update(schema.encode(frame_of(schema, table)), len(table))
        plan.check(tally)
        self.assert_kept(plan, table, data)

    @settings(deadline=None, max_examples=25)
    @given(data=st.data())
    def test_the_data_dependent_calibration_links_nobody_above_one_over_k(self, schema, style, data):
        table = data.draw(people_in(schema))
        most = smallest_group(schema, table)
        assume(most >= 2)
        k = data.draw(st.floats(1.01, most * (1 - 1e-5)))
        plan = self.calibrated(schema, style, data=frame_of(schema, table), calibration="data-dependent", k=k)
        self.assert_kept(plan, table, data)

    @staticmethod
    def calibrated(schema, style, **promise):
        try:
            return kk.calibrate(schema, mechanisms=choices_for(schema, style), tell="all", **promise)
        except CalibrationError as error:
            assume("make them noisier" not in str(error) and "too weak" not in str(error))
            raise

    @staticmethod
    def assert_kept(plan, table, data):
        mechanisms = mechanisms_of(plan)
        for released in (table, pushed_outwards(mechanisms, table), data.draw(releases_of(mechanisms, table))):
            links = worst_link(mechanisms, table, released)
            if links is not None:
                assert links.max() <= 1 / plan.k + SLACK


@pytest.mark.parametrize("calibration", ["n", "data"])
def test_no_release_at_all_breaks_the_promise_of_a_small_plan(calibration):
    schema = kk.Schema(SCHEMAS["a category and a number"])
    table = np.array([[0, 0], [1, 4], [0, 2]], np.int32)
    promise = (
        {"n": len(table)} if calibration == "n" else {"data": frame_of(schema, table), "calibration": "data-dependent"}
    )
    plan = kk.calibrate(schema, k=2, tell="all", **promise)
    mechanisms = mechanisms_of(plan)
    surest = max(worst_link(mechanisms, table, released).max() for released in all_releases(mechanisms, table))
    assert surest <= 1 / 2 + SLACK


def test_people_with_other_kept_values_are_no_crowd():
    """Three people share what is perturbed, but one of them stands alone in the kept column."""
    schema = kk.Schema([kk.Categorical("a", ["x", "y"]), kk.Categorical("town", ["u", "v"], role="keep")])
    table = np.array([[0, 0], [0, 0], [0, 1]], np.int32)
    with pytest.raises(CalibrationError, match="kept values"):
        kk.calibrate(schema, data=frame_of(schema, table), calibration="data-dependent", k=2, tell="all")
    plan = kk.calibrate(schema, n=3, k=2, tell="all")
    links = worst_link(mechanisms_of(plan), table, table)
    assert links[2] == 1
    tally = plan.tally()
    tally.update(schema.encode(frame_of(schema, table)), 3)
    with pytest.raises(CalibrationError, match="only 1 in the smallest group that shares its kept values"):
        plan.check(tally)


def test_a_broken_calibration_would_be_found_out():
    """The oracle has the power to see a promise that is a tenth too weak."""
    schema = kk.Schema(SCHEMAS["one number"])
    table = np.array([[0], [4]], np.int32)
    plan = kk.calibrate(schema, n=2, k=1.5, mechanisms={"a": "bounded-laplace"}, tell="all")
    weaker = [kk.BoundedLaplace(5, 1, plan["a"].scale * 0.9)]
    surest = max(worst_link(weaker, table, released).max() for released in all_releases(weaker, table))
    assert surest > 1 / 1.5 + 0.01


def test_the_posterior_is_a_doubly_stochastic_matrix():
    table = np.array([[0], [1], [2], [2]], np.int32)
    mechanism = kk.PRAM(TELLTALE_MATRIX)
    linked = posteriors(joint_log_likelihoods([mechanism], table, np.array([[0], [1], [1], [2]])))
    assert linked.sum(axis=0) == pytest.approx(1)
    assert linked.sum(axis=1) == pytest.approx(1)
    assert math.isclose(linked[2, 0], 0)
