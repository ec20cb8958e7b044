"""Two fits that differ in one customer, by software that nobody changed on either side."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import kakuran.vertical.party as party_module
from kakuran.errors import GuardError
from kakuran.samples import companies
from kakuran.vertical import Party, VerticalPlan
from kakuran.vertical.party import side_by_side

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

COLUMNS = {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]}
NAMES = [*COLUMNS["bank"], *COLUMNS["shop"], "spending"]
PLAN = VerticalPlan.of(COLUMNS, target="spending", holder="shop", ids="customer")
BANK, SHOP = (table.to_pandas().set_index("customer") for table in companies(300))
WHO, *_ = SHARED = BANK.index.intersection(SHOP.index)


def fitted(shop, folder=None):
    """Both fits; with a folder both keep their state in one of their own there."""
    frames = {"bank": BANK.reset_index(), "shop": shop.reset_index()}

    def run(name, links):
        return Party(name, PLAN, frames[name], state=None if folder is None else folder / name).fit(links)

    return side_by_side(list(PLAN.names), run)


def value_that_explains(before, after, column):
    """What the shop takes the customer's standardised value to be, from how its own columns' sums with it changed."""
    here, records, at = SHOP.loc[SHARED], len(SHARED), NAMES.index(column)
    sums = []
    for name in (*COLUMNS["shop"], "spending"):
        x, rest, row = here[name], here[name].drop(WHO), NAMES.index(name)
        sums.append((records * x.std(ddof=0) * before[row, at], rest.mean() - x[WHO], rest.std(ddof=0), after[row, at]))

    def unexplained(value):
        spread = np.sqrt((records - value**2) / (records - 1) - (value / (records - 1)) ** 2)
        return sum(
            ((total + lost * value) / width / spread / (records - 1) - told) ** 2 for total, lost, width, told in sums
        )

    grid = np.linspace(-6, 6, 601)
    best = grid[np.argmin(unexplained(grid))]
    return minimize_scalar(unexplained, bounds=(best - 0.02, best + 0.02), method="bounded", options={"xatol": 1e-12}).x


def test_without_memory_two_fits_tell_what_one_customer_has(monkeypatch):
    seen, pool = [], party_module.pool_moments

    def overheard(links, plan, me, *rest):
        moments = pool(links, plan, me, *rest)
        if me == "shop":
            seen.append(moments.matrix)
        return moments

    monkeypatch.setattr(party_module, "pool_moments", overheard)
    fitted(SHOP)
    fitted(SHOP.drop(WHO))
    for name in COLUMNS["bank"]:
        column = BANK.loc[SHARED, name]
        truth = (column[WHO] - column.mean()) / column.std(ddof=0)
        assert abs(value_that_explains(*seen, name) - truth) < 1e-3


def test_where_runs_are_remembered_a_fit_without_one_customer_is_refused(tmp_path):
    fitted(SHOP, tmp_path)
    with pytest.raises(GuardError, match="would speak of 1 person only, fewer than 34"):
        fitted(SHOP.drop(WHO), tmp_path)


def test_three_fits_that_differ_in_many_are_refused_where_together_they_differ_in_one(tmp_path):
    """Half of the customers, then the other half, then both and one more."""
    half = len(SHARED) // 2
    fitted(SHOP.loc[SHARED[:half]], tmp_path)
    fitted(SHOP.loc[SHARED[half:-1]], tmp_path)
    with pytest.raises(GuardError, match="would speak of 1 person only, fewer than 34"):
        fitted(SHOP.loc[SHARED], tmp_path)
