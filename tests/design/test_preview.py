from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import kakuran as kk
from kakuran.counts import cells_of
from kakuran.design import Plan

SCHEMA = kk.Schema(
    [
        kk.Categorical("job", ["clerk", "nurse", "smith", "cook"]),
        kk.Numeric("age", 0, 99, step=1),
        kk.Categorical("sex", ["f", "m"]),
        kk.Categorical("town", ["u", "v"], role="keep"),
    ]
)


def planned(n=100_000, k=10, schema=SCHEMA, **choices):
    return kk.calibrate(schema, n=n, k=k, **{"tell": "all"} | choices)


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


def simulated_error(plan, columns, n, tables=1500, seed=1):
    """The root mean square error of a cell: truths from a flat Dirichlet, perturbed counts, best linear estimate."""
    generator = np.random.default_rng(seed)
    joint = np.eye(1)
    for matrix in transitions_of(plan, columns):
        joint = np.kron(joint, matrix)
    cells = joint.shape[1]
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
    def test_all_one_and_two_way_tables_of_perturbed_columns_are_listed(self):
        columns = [table.columns for table in kk.preview(planned())]
        assert columns == [("job",), ("age",), ("sex",), ("job", "age"), ("job", "sex"), ("age", "sex")]

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
        assert [table.error for table in kk.preview(unperturbed())] == pytest.approx([0] * 6, abs=1e-6)

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
    @pytest.mark.parametrize("columns", [("job",), ("age",), ("sex",), ("job", "age"), ("job", "sex")], ids="-".join)
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
