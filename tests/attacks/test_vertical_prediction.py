"""What a prediction tells of whole numbers: the receiver takes its own part off and looks which of them fit."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from kakuran.vertical import VerticalPlan, fit_vertically, predict_together
from kakuran.vertical.party import side_by_side

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

PEOPLE, KNOWN = 1100, 8
RNG = np.random.default_rng(2)
ANSWERS = np.column_stack(
    [RNG.integers(18, 90, PEOPLE), RNG.poisson(4, PEOPLE), RNG.integers(0, 4, PEOPLE), RNG.integers(0, 2, PEOPLE)]
)
NAMES = ("age", "visits", "children", "ill")
OURS = RNG.normal(size=(PEOPLE, 2))
TARGET = ANSWERS @ [0.05, 0.4, 0.7, 1.1] + OURS.sum(axis=1) + RNG.normal(size=PEOPLE)


def parts_of(*others):
    """What the shop is left with of its predictions, and whose they are, where others bring these columns each."""
    held = {f"other {at}": names for at, names in enumerate(others)}
    columns = {name: {each: ANSWERS[:, NAMES.index(each)] for each in names} for name, names in held.items()}
    columns["shop"] = {"s0": OURS[:, 0], "s1": OURS[:, 1], "y": TARGET}
    tables = {name: pa.table({"id": range(PEOPLE), **brought}) for name, brought in columns.items()}
    plan = VerticalPlan.of({**held, "shop": ["s0", "s1"]}, target="y", holder="shop", search="none")
    fits = fit_vertically(tables, plan)
    found = side_by_side(
        list(plan.names), lambda name, links: predict_together(links, plan, fits[name], tables[name], receiver="shop")
    )["shop"]
    own = dict(zip(("s0", "s1"), OURS[found.rows].T, strict=True))
    return found.values - fits["shop"].part(own, PEOPLE), ANSWERS[found.rows]


@pytest.mark.parametrize("others", [[NAMES], [("age",), ("visits", "children", "ill")]], ids=["one other", "masked"])
def test_few_people_are_read_off_the_others_parts(others):
    """With exact parts it was all, also off the sum of two others' parts under masks."""
    parts, truth = parts_of(*others)
    design = np.column_stack([np.ones(KNOWN), truth[:KNOWN]])
    constant, *coefficients = np.linalg.lstsq(design, parts[:KNOWN], rcond=None)[0]
    every = np.array(list(itertools.product(range(18, 90), range(16), range(4), range(2))))
    near = np.abs(constant + every @ coefficients - parts[KNOWN:, None]).argmin(axis=1)
    assert (every[near] == truth[KNOWN:]).all(axis=1).sum() < 20
