"""Tables of columns that were perturbed together: every map against the matrix it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kakuran.mechanism import DenseTransition, UniformMixture
from kakuran.model import Operator
from kakuran.typing import Array

SHAPE = (3, 2, 4)


def _columns_adding_up_to_one(table: Array) -> Array:
    return table / table.sum(axis=0)


@pytest.fixture(params=range(4))
def case(request: pytest.FixtureRequest) -> tuple[Operator, Array]:
    """A table of a blurred, a public and an unordered column, the first and last as one value; and its matrix."""
    dice = np.random.default_rng(request.param)
    blur = _columns_adding_up_to_one(dice.random((3, 3)) + 3 * np.eye(3))
    first, last = (_columns_adding_up_to_one(dice.random(size)) for size in (3, 4))
    rho = dice.uniform(0.2, 0.9)
    operator = Operator([DenseTransition(blur), None, UniformMixture(1.0, last)], rho, [first, None, last])
    kept = np.einsum("ax,gh,cz->agcxhz", blur, np.eye(2), np.eye(4))
    anywhere = np.einsum("a,gh,c,x,z->agcxhz", first, np.eye(2), last, np.ones(3), np.ones(4))
    return operator, (rho * kept + (1 - rho) * anywhere).reshape(24, 24)


def test_every_map_is_that_of_the_whole_matrix(case: tuple[Operator, Array]) -> None:
    operator, matrix = case
    inverse = np.linalg.inv(matrix)
    table = np.random.default_rng(9).random(SHAPE)
    maps = {
        operator.forward: matrix,
        operator.adjoint: matrix.T,
        operator.solve: inverse,
        operator.adjoint_solve: inverse.T,
        operator.squared_solve: inverse**2,
        operator.squared_adjoint: matrix.T**2,
    }
    for apply, whole in maps.items():
        np.testing.assert_allclose(apply(table).ravel(), whole @ table.ravel(), rtol=1e-9, err_msg=apply.__name__)


def test_a_column_told_with_others_may_come_out_in_more_cells_than_it_has() -> None:
    dice = np.random.default_rng(4)
    wide = _columns_adding_up_to_one(dice.random((5, 3)))
    first, last = (_columns_adding_up_to_one(dice.random(size)) for size in (5, 4))
    operator = Operator([DenseTransition(wide), UniformMixture(1.0, last)], 0.6, [first, last])
    kept = np.einsum("ax,cz->acxz", wide, np.eye(4))
    anywhere = np.einsum("a,c,x,z->acxz", first, last, np.ones(3), np.ones(4))
    matrix = (0.6 * kept + 0.4 * anywhere).reshape(20, 12)
    true, seen = dice.random((3, 4)), dice.random((5, 4))
    np.testing.assert_allclose(operator.forward(true).ravel(), matrix @ true.ravel())
    np.testing.assert_allclose(operator.adjoint(seen).ravel(), matrix.T @ seen.ravel())
    np.testing.assert_allclose(operator.squared_adjoint(seen).ravel(), (matrix**2).T @ seen.ravel())
    np.testing.assert_allclose(operator.solve(operator.forward(true)), true)


def test_several_tables_on_a_first_axis_are_mapped_each_by_itself(case: tuple[Operator, Array]) -> None:
    operator, _ = case
    tables = np.random.default_rng(9).random((5, *SHAPE))
    np.testing.assert_allclose(operator.stacked().forward(tables), np.stack([*map(operator.forward, tables)]))


def test_an_axis_by_itself_is_what_the_table_sums_to(case: tuple[Operator, Array]) -> None:
    operator, _ = case
    table = np.random.default_rng(9).random(SHAPE)
    for axis in (0, 2):
        others = tuple(other for other in range(3) if other != axis)
        alone = operator.alone(axis)
        assert alone is not None
        np.testing.assert_allclose(
            alone.forward(table.sum(axis=others), 0), operator.forward(table).sum(axis=others), rtol=1e-9
        )


@given(st.integers(0, 10**6))
def test_along_an_axis_counts_are_what_it_makes_of_the_truth_and_what_chance_adds(seed: int) -> None:
    dice = np.random.default_rng(seed)
    blur = _columns_adding_up_to_one(dice.random((5, 5)) + np.eye(5))
    shares = [_columns_adding_up_to_one(dice.random(size)) for size in (5, 3)]
    operator = Operator([DenseTransition(blur), UniformMixture(1.0, shares[1])], 0.4, shares)
    truth = dice.random((5, 3))
    perturbed = operator.forward(truth)
    matrix, by_chance = operator.along(0, perturbed)
    np.testing.assert_allclose(perturbed, matrix @ truth + by_chance.T, rtol=1e-9)
