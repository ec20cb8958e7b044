from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import kakuran as kk
from kakuran.counts import cells_of
from kakuran.design import Plan, by_size, expected_error

SCHEMA = kk.Schema(
    [
        kk.Categorical("job", ["clerk", "nurse", "smith", "cook"]),
        kk.Numeric("age", 0, 99, step=1),
        kk.Categorical("sex", ["f", "m"]),
        kk.Categorical("town", ["u", "v"], role="keep"),
    ]
)

SOME_TABLES = [("job",), ("age",), ("sex",), ("job", "age"), ("job", "sex"), ("job", "age", "sex")]


def planned(n=100_000, k=10, schema=SCHEMA, tell="all", **choices):
    return kk.calibrate(schema, n=n, k=k, tell=tell, **choices)


def unperturbed(n=1000):
    mechanisms = {
        "job": kk.RetentionReplacement(4, 1.0),
        "age": kk.BoundedLaplace(100, 1, 0.0),
        "sex": kk.RetentionReplacement(2, 1.0),
    }
    return Plan.of_mechanisms(SCHEMA, mechanisms, n, 2.0, "data-dependent")


def transitions_of(plan, columns):
    matrices = []
    for name in columns:
        attribute = plan.schema[name]
        bins = min(10, attribute.points) if isinstance(attribute, kk.Numeric) else None
        cells, beyond = cells_of(plan.schema, name, bins), plan[name].beyond
        matrices.append(plan[name].transition(cells.edges, cells.extended(beyond).edges if beyond else None).matrix)
    return matrices


def simulated_error(plan, columns, n, seed=1):
    """The root mean square error of a cell: truths from a flat Dirichlet, perturbed counts, best linear estimate.

    Of so many cells in all tables together that its own standard error is a hundredth or so.
    """
    generator = np.random.default_rng(seed)
    joint = np.eye(1)
    for matrix in transitions_of(plan, columns):
        joint = np.kron(joint, matrix)
    cells = joint.shape[1]
    tables = max(300, 6000 // cells)
    shares = generator.dirichlet(np.ones(cells), tables)
    truth = np.rint(shares * n).astype(int)
    released = np.zeros((tables, len(joint)))
    for cell in range(cells):
        released += generator.multinomial(truth[:, cell], joint[:, cell] / joint[:, cell].sum())
    prior = n**2 * (np.eye(cells) / cells - 1 / cells**2) / (cells + 1)
    noise = n / cells * (np.diag(joint.sum(axis=1)) - joint @ joint.T)
    gain = prior @ joint.T @ np.linalg.pinv(joint @ prior @ joint.T + noise)
    estimate = n / cells + (released - n / cells * joint.sum(axis=1)) @ gain.T
    return np.sqrt(((estimate - truth) ** 2).mean())


class TestTables:
    def test_all_one_two_and_three_way_tables_of_perturbed_columns_are_listed(self):
        columns = [table.columns for table in kk.preview(planned())]
        assert columns[:6] == [("job",), ("age",), ("sex",), ("job", "age"), ("job", "sex"), ("age", "sex")]
        assert columns[6:] == [("job", "age", "sex")]

    def test_of_very_many_columns_the_triples_of_the_first_are(self):
        schema = kk.Schema([kk.Categorical(f"c{place}", ["no", "yes"]) for place in range(40)])
        ways = [len(table.columns) for table in kk.preview(planned(schema=schema))]
        assert [ways.count(size) for size in (1, 2, 3)] == [40, 40 * 39 // 2, 30 * 29 * 28 // 6]

    def test_numbers_are_cut_into_ten_cells(self):
        cells = {table.columns: table.cells for table in kk.preview(planned())}
        assert cells["age",] == 10
        assert cells["job", "age"] == 40

    def test_numbers_of_few_points_keep_them(self):
        schema = kk.Schema([kk.Numeric("x", 0, 4, step=1)])
        assert kk.preview(planned(schema=schema))[0].cells == 5

    def test_missing_values_are_a_cell_of_their_own(self):
        schema = kk.Schema([kk.Numeric("x", 0, 99, step=1, missing="category")])
        assert kk.preview(planned(schema=schema))[0].cells == 11

    def test_a_typical_cell_holds_its_share_of_the_records(self):
        for table in kk.preview(planned(), n=8000):
            assert table.count == 8000 / table.cells
            assert table.relative == table.error / table.count

    def test_the_number_of_records_is_the_plans_unless_given(self):
        plan = planned(n=5000)
        assert kk.preview(plan) == kk.preview(plan, n=5000)


class TestErrors:
    def test_the_relative_error_shrinks_as_records_are_added(self):
        plan = planned()
        by_size = [[table.relative for table in kk.preview(plan, n=n)] for n in (10**2, 10**4, 10**6, 10**8)]
        for fewer, more in pairwise(by_size):
            assert all(b < a for a, b in zip(fewer, more, strict=True))

    def test_the_error_grows_with_k(self):
        by_k = [[table.error for table in kk.preview(planned(k=k))] for k in (2, 10, 100, 1000)]
        for weaker, stronger in pairwise(by_k):
            assert all(b > a for a, b in zip(weaker, stronger, strict=True))

    def test_nothing_perturbed_means_no_error(self):
        assert [table.error for table in kk.preview(unperturbed())] == pytest.approx([0] * 7, abs=1e-6)

    def test_everything_forgotten_is_no_better_than_guessing(self):
        mechanisms = {
            "job": kk.RetentionReplacement(4, 0.0),
            "age": kk.BoundedLaplace(100, 1, float("inf")),
            "sex": kk.RetentionReplacement(2, 0.0),
        }
        for table in kk.preview(Plan.of_mechanisms(SCHEMA, mechanisms, 10**6, 2.0, "data-dependent")):
            cells = table.cells
            assert table.relative == pytest.approx(np.sqrt((cells - 1) / (cells + 1)), rel=1e-3)

    def test_a_plan_and_its_preview_can_be_made_for_one_column(self):
        schema = kk.Schema([kk.Categorical("sex", ["f", "m"])])
        assert len(kk.preview(planned(schema=schema))) == 1

    @pytest.mark.parametrize("n", [300, 10_000, 1_000_000])
    @pytest.mark.parametrize("columns", SOME_TABLES, ids="-".join)
    def test_a_simulation_agrees(self, n, columns):
        plan = planned(n=100_000, k=10)
        said = {table.columns: table.error for table in kk.preview(plan, n=n)}[columns]
        assert said == pytest.approx(simulated_error(plan, columns, n), rel=0.15)

    @pytest.mark.parametrize("kind", ["square-wave", "bounded-laplace", "bounded-gaussian", "laplace", "retention"])
    def test_a_simulation_agrees_for_every_mechanism_on_numbers(self, kind):
        schema = kk.Schema([kk.Numeric("age", 0, 99, step=1), kk.Categorical("sex", ["f", "m"])])
        plan = planned(n=20_000, k=5, schema=schema, mechanisms={"age": kind})
        for table in kk.preview(plan):
            assert table.error == pytest.approx(simulated_error(plan, table.columns, 20_000), rel=0.15)

    def test_a_simulation_agrees_for_pram(self):
        pram = kk.PRAM([[0.6, 0.2, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.2, 0.2, 0.4, 0.2], [0.1, 0.1, 0.2, 0.6]])
        plan = planned(n=20_000, k=5, mechanisms={"job": pram})
        said = {table.columns: table.error for table in kk.preview(plan)}
        for columns in [("job",), ("job", "sex")]:
            assert said[columns] == pytest.approx(simulated_error(plan, columns, 20_000), rel=0.15)


class TestTells:
    def test_what_some_record_tells_rests_on_counts_and_all_else_on_the_model(self):
        for tell in (1, 2, 3):
            for table in kk.preview(planned(tell=tell)):
                assert table.rests_on == ("counts" if len(table.columns) <= tell else "model")

    def test_the_error_is_what_designs_expect(self):
        """People in the wrong cell of half the sum of L normal errors, averaged over all tables."""
        plan = planned(tell=2)
        expected = expected_error(plan.tells, plan.n)
        for ways, wrong in ((1, expected.one_way), (2, expected.two_way), (3, expected.three_way)):
            tables = [table.relative for table in kk.preview(plan) if len(table.columns) == ways]
            assert np.mean(tables) * np.sqrt(2 / np.pi) / 2 == pytest.approx(wrong)

    def test_pairs_told_as_one_value_are_expected_to_lose_less_than_pairs_that_nobody_tells(self):
        told, untold = (
            {table.columns: table.error for table in kk.preview(planned(tell=tell))}["job", "sex"] for tell in (2, 1)
        )
        assert told < untold


class TestInShort:
    def test_the_best_the_typical_and_the_worst_are_named_by_the_number_of_columns(self):
        errors = [
            kk.TableError((name,), cells=2, count=100.0, error=error)
            for name, error in (("a", 5.0), ("b", 1.0), ("c", 95.0))
        ]
        errors += [kk.TableError(("a", "b"), cells=4, count=50.0, error=20.0, rests_on="model")]
        one, two = by_size(errors)
        assert [found.columns for found in (one.best, one.typical, one.worst)] == [("b",), ("a",), ("c",)]
        assert (one.ways, one.tables, one.guessing, one.on_model) == (1, 3, 1, 0)
        assert (two.ways, two.tables, two.guessing, two.on_model) == (2, 1, 0, 1)

    def test_one_column_has_one_line(self):
        schema = kk.Schema([kk.Categorical("sex", ["f", "m"])])
        assert [found.ways for found in by_size(kk.preview(planned(schema=schema)))] == [1]
