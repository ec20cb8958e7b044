import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import kakuran as kk
from kakuran.answers import Reader, ask
from kakuran.counts import Tally
from kakuran.mechanism import UniformMixture
from kakuran.model import transition_between

JOBS = ["clerk", "nurse", "cook", "guard", "pilot"]
SCHEMA = kk.Schema(
    [
        kk.Categorical("job", JOBS),
        kk.Categorical("class", ["a", "b", "c"]),
        kk.Numeric("age", 0, 99, step=1),
        kk.Numeric("pay", 0, 39, step=1),
        kk.Categorical("region", ["east", "west"], role="keep"),
        kk.Numeric("visits", 0, 4, step=1, missing="category"),
    ]
)
MATRIX = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
PLAN = kk.calibrate(
    SCHEMA,
    n=500,
    k=2,
    mechanisms={"class": kk.PRAM(MATRIX), "age": "bounded-laplace", "pay": "retention", "visits": "retention"},
    tell="all",
)


def people(n=1000):
    dice = np.random.default_rng(7)
    return pa.table(
        {
            "job": dice.choice(JOBS, n, p=[0.4, 0.3, 0.2, 0.1, 0.0]),
            "class": dice.choice(["a", "b", "c"], n),
            "age": dice.integers(0, 100, n),
            "pay": dice.integers(0, 40, n),
            "region": np.repeat(["east", "west"], n // 2),
            "visits": pa.array(dice.integers(0, 5, n), mask=dice.random(n) < 0.2),
        }
    )


@pytest.fixture(scope="module")
def release():
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(people(), PLAN, seed=3)


def only_axis(where, *columns):
    (axis,) = ask(PLAN, columns, {}, where).axes
    return axis


def test_values_that_are_replaced_uniformly_are_lumped_by_their_share_of_the_domain():
    """S4 eq. 6: the cells of a condition keep ρ, and catch (1−ρ) b_r where b_r is their share of the domain."""
    axis = only_axis("10 <= pay < 14 or pay == 39")
    transition = transition_between(axis, PLAN["pay"])
    assert isinstance(transition, UniformMixture)
    assert transition.retention == PLAN["pay"].retention
    assert transition.shares[axis.of_code[[0, 10, 14, 39]]] == pytest.approx([10 / 40, 4 / 40, 25 / 40, 1 / 40])
    assert transition.shares == pytest.approx(np.bincount(axis.of_code) / 40)


def test_values_that_need_not_be_told_apart_share_a_cell_wherever_they_lie():
    axis = only_axis("pay in [3, 17, 30]")
    assert np.flatnonzero(axis.of_code == axis.of_code[3]).tolist() == [3, 17, 30]
    assert transition_between(axis, PLAN["pay"]).matrix == pytest.approx(
        PLAN["pay"].retention * np.eye(2) + (1 - PLAN["pay"].retention) * np.array([[37 / 40], [3 / 40]])
    )


def test_lumping_loses_nothing(release):
    whole = release.crosstab("pay", bins={"pay": 40}, method="inverse")
    part = release.count("10 <= pay < 14", method="inverse")
    assert part.counts == pytest.approx(whole.counts[10:14].sum())
    assert part.naive == whole.naive[10:14].sum()


def test_values_with_a_matrix_of_their_own_stay_apart():
    axis = only_axis("`class` == 'a'")
    assert axis.size == 3
    assert transition_between(axis, PLAN["class"]).matrix == pytest.approx(MATRIX.T)


def test_noisy_numbers_are_cut_into_runs_at_the_ends_of_the_condition_too():
    axis = only_axis("7 <= age <= 41")
    starts = np.flatnonzero(np.diff(axis.of_code, prepend=-1))
    assert {7, 42} <= set(starts)
    assert len(starts) == axis.size == 51
    assert np.diff(starts).max() <= 2


def test_noisy_numbers_of_a_large_table_are_cut_less_finely_and_of_a_larger_one_not_at_all():
    sizes = [
        [axis.size for axis in ask(PLAN, columns, {"age": 10, "pay": 40}, None).axes]
        for columns in (("age", "pay"), ("age", "pay", "class"), ("age", "pay", "class", "region"))
    ]
    assert sizes == [[50, 40], [20, 40, 3], [10, 40, 3, 2]]


def test_kept_columns_are_cut_only_where_the_condition_needs_it(release):
    question = ask(PLAN, (), {}, "region == 'west'")
    assert question.axes[0].size == 2
    assert release.reader.operator(question).transitions == (None,)


def test_a_condition_on_kept_columns_is_counted_exactly(release):
    found = release.count("region == 'west'")
    assert (found.counts, found.low, found.high, found.naive) == (500, 500, 500, 500)


def test_a_condition_on_a_displayed_column_empties_the_cells_it_excludes(release):
    table = release.crosstab("job", "age", where="job != 'cook' and age >= 33", bins={"age": 3})
    assert table.counts.shape == (5, 3)
    excluded = np.zeros((5, 3), bool)
    excluded[2], excluded[:, 0] = True, True
    assert (table.counts[excluded] == 0).all()
    assert (table.high[excluded] == 0).all()
    assert (table.naive[~excluded] > 0).all()


@pytest.mark.parametrize("method", ["inverse", "auto", "shrink"])
def test_a_table_with_a_condition_adds_up_to_its_count(release, method):
    where = "age < 50 and not (job == 'clerk' or visits is None)"
    table = release.crosstab("visits", where=where, method=method)
    count = release.count(where, method=method)
    assert table.naive.sum() == count.naive
    if method == "inverse":
        assert table.counts.sum() == pytest.approx(count.counts)
    assert table.counts[-1] == pytest.approx(0)
    complement = release.crosstab("visits", where=f"not ({where})", method=method)
    assert table.counts.sum() + complement.counts.sum() == pytest.approx(release.n)


@given(
    st.lists(st.sampled_from(JOBS), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2, unique=True),
    st.sampled_from(["and", "or"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_a_count_is_the_sum_over_the_cells_of_the_whole_cross_tab(release, jobs, classes, word, negated):
    whole = release.crosstab("job", "class", "region", method="inverse")
    left, right = np.isin(JOBS, jobs)[:, None], np.isin(["a", "b", "c"], classes)
    member = (left & right if word == "and" else left | right) ^ negated
    text = f"job in {jobs} {word} `class` in {classes}"
    count = release.count(f"not ({text})" if negated else text, method="inverse")
    assert count.counts == pytest.approx(whole.counts.sum(axis=2)[member].sum(), abs=1e-6)
    assert count.naive == whole.naive.sum(axis=2)[member].sum()
    by_region = release.crosstab("region", where=f"not ({text})" if negated else text, method="inverse")
    assert by_region.counts == pytest.approx(whole.counts[member].sum(axis=0), abs=1e-6)


@pytest.mark.parametrize("where", ["age >= 0", "not age < 0", "visits is None or visits is not None"])
def test_a_condition_that_always_holds_counts_everybody(release, where):
    found = release.count(where)
    assert found.counts == pytest.approx(1000)
    assert found.low == pytest.approx(1000)


def test_a_condition_that_never_holds_counts_nobody(release):
    found = release.count("age < 0")
    assert (found.counts, found.low, found.high) == (0, 0, 0)


def test_the_operator_fits_the_tally_of_the_same_axes(release):
    question = ask(PLAN, ("job", "age"), {"age": 7}, "pay < 11 and `class` == 'b' and age > 3")
    operator, tally = release.reader.operator(question), release.tally(question.axes)
    assert [transition.size for transition in operator.transitions] == list(tally.counts.shape)
    assert question.reading.of(tally.counts).shape == (5, 7)
    truth = Tally.of(SCHEMA.encode(people()), question.axes)
    expected = operator.forward(truth.counts)
    assert expected.sum() == pytest.approx(1000)
    assert np.abs(expected - tally.counts).sum() < np.abs(truth.counts - tally.counts).sum()


def test_a_table_too_large_to_estimate_is_refused():
    schema = kk.Schema([kk.Numeric("x", 0, 2999, step=1), kk.Numeric("y", 0, 1999, step=1)])
    table = pa.table({"x": np.arange(50), "y": np.arange(50)})
    release = kk.perturb(
        table, kk.calibrate(schema, n=50, k=2, mechanisms={"x": "retention", "y": "retention"}, tell="all")
    )
    words = "x × y has 6,000,000 cells, more than 4,194,304; use fewer columns or wider bins"
    with pytest.raises(kk.SchemaError, match=words):
        release.crosstab("x", "y", bins={"x": 3000, "y": 2000})


def kept_everything():
    schema = kk.Schema([kk.Categorical("job", ["a", "b"]), kk.Numeric("age", 0, 9, step=1)])
    table = pa.table({"job": ["a", "b"] * 50, "age": list(range(10)) * 10})
    mechanisms = {"job": kk.RetentionReplacement(2, 1.0), "age": kk.RetentionReplacement(10, 1.0, 1)}
    return kk.perturb(table, kk.Plan.of_mechanisms(schema, mechanisms, 100, 1, "worst-case"))


def test_a_release_that_kept_everything_gives_exact_answers():
    release = kept_everything()
    for method in ("auto", "mle", "inverse", "simplex", "ibt"):
        table = release.crosstab("job", "age", bins={"age": 2}, where="age != 3", method=method)
        assert table.counts == pytest.approx(np.array([[30, 20], [10, 30]]))
        assert table.low == pytest.approx(table.naive)
        assert table.high == pytest.approx(table.naive)
    assert not release.count("job == 'a'").unclear


@pytest.mark.parametrize("kind", ["retention", "bounded-laplace", "bounded-gaussian"])
def test_a_release_that_kept_nothing_says_so(kind):
    schema = kk.Schema([kk.Categorical("job", ["a", "b"]), kk.Numeric("age", 0, 9, step=1)])
    table = pa.table({"job": ["a", "b"] * 50, "age": list(range(10)) * 10})
    release = kk.perturb(table, kk.calibrate(schema, n=100, k=100, mechanisms={"age": kind}, tell="all"))
    words = "column '{}' was replaced entirely: the release tells nothing about it"
    with pytest.raises(kk.SchemaError, match=words.format("age")):
        release.crosstab("age")
    with pytest.raises(kk.SchemaError, match=words.format("age")):
        release.count("age < 5", method="inverse")
    with pytest.raises(kk.SchemaError, match=words.format("job")):
        release.crosstab("job", method="mle")


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("job", "job"), {}, "a column stands twice in job, job"),
        ((["job", "age"],), {}, "name the columns one by one"),
        (("job",), {"level": 0}, "level must lie between 0 and 1, .* got 0"),
        (("job",), {"level": 1.0}, "level must lie between 0 and 1"),
        (("job",), {"level": float("nan")}, "level must lie between 0 and 1"),
        (("job",), {"about": "world"}, "about must be 'table' or 'population', got 'world'"),
        (("job",), {"where": "salary > 3"}, "no column 'salary'"),
        (("job",), {"where": "age > 3", "bins": {"age": 3}}, "bins are given for 'age', which is not among"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_meant_says_why(release, arguments, options, words):
    with pytest.raises(kk.SchemaError, match=words):
        release.crosstab(*arguments, **options)


@pytest.mark.parametrize("method", ["auto", "inverse"])
def test_an_estimate_does_not_depend_on_what_its_reader_has_counted_before(rough_models, method):
    dice, n = np.random.default_rng(1), 5_000
    schema = kk.Schema([kk.Numeric("amount", 0, 999, step=1), kk.Categorical("sex", ["f", "m"])])
    table = pa.table({"amount": np.minimum(dice.gamma(1.2, 40, n), 999).round(), "sex": dice.choice(["f", "m"], n)})
    with pytest.warns(kk.NotForPublicationWarning):
        release = kk.perturb(table, kk.calibrate(schema, n=n, k=5, tell=1), seed=1)
    question = ask(release.plan, ("amount",), {}, None)
    (counts,) = release.reader.count([question])
    fresh = Reader(release.records, release.plan, release.n)
    for end in ("counts", "low", "high"):
        one, other = (getattr(some.estimate(question, counts, method=method), end) for some in (release.reader, fresh))
        np.testing.assert_array_equal(one, other)
