"""A partner that changes nothing and reduces a lattice: columns of few values are in the sums, record by record."""

import numpy as np
import pyarrow as pa
import pytest

import kakuran.vertical.party as party_module
from kakuran.errors import GuardError
from kakuran.vertical import Limits, VerticalPlan, fit_vertically
from kakuran.vertical.disclosure import check_columns
from kakuran.vertical.gram import rounded
from kakuran.vertical.own import OwnColumns

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

RECORDS, THEIRS = 40, 6
RNG = np.random.default_rng(2)
SECRET = RNG.permutation(np.repeat([1, 2, 3, 4, 5], RECORDS // 5))


def plan_of(own=("answer", "v"), theirs=THEIRS, **limits):
    columns = {"bank": list(own), "shop": [f"s{at}" for at in range(theirs)]}
    return VerticalPlan.of(columns, target="y", holder="shop", limits=Limits(**limits))


def tables():
    shop = RNG.normal(size=(RECORDS, THEIRS + 1))
    names = [*(f"s{at}" for at in range(THEIRS)), "y"]
    return {
        "bank": pa.table({"id": range(RECORDS), "answer": SECRET, "v": RNG.normal(size=RECORDS)}),
        "shop": pa.table({"id": range(RECORDS), **dict(zip(names, shop.T, strict=True))}),
    }


def reduced(basis):
    """A basis (rows) of the same lattice, reduced as Lenstra, Lenstra and Lovász do it."""
    rows, at = basis.copy(), 1
    while at < len(rows):
        triangle = np.linalg.qr(rows[: at + 1].T.astype(float), mode="r")
        for below in range(at - 1, -1, -1):
            times = np.rint(triangle[below, at] / triangle[below, below])
            rows[at] -= int(times) * rows[below]
            triangle[:, at] -= times * triangle[:, below]
        if triangle[at, at] ** 2 + triangle[at - 1, at] ** 2 >= 0.99 * triangle[at - 1, at - 1] ** 2:
            at += 1
        else:
            rows[[at - 1, at]] = rows[[at, at - 1]]
            at = max(at - 1, 1)
    return rows


def read_off(sums, columns, bits):
    """What the shortest vectors say: whole numbers that are orthogonal to whatever the sums say ours are."""
    orthogonal = np.linalg.svd(sums[None, :])[2][1:].T
    weights = columns / 2.0**bits @ orthogonal
    noise = np.sqrt(len(columns)) * 0.29 * 2.0**-bits
    weights = np.rint((weights - weights.mean(axis=0)) / noise).astype(np.int64)
    return reduced(np.hstack([np.eye(len(columns), dtype=np.int64), weights]))[:2, : len(columns)]


def test_without_the_limit_every_answer_is_read_off_the_moments_of_an_ordinary_run(monkeypatch):
    """No record is known to the shop. 150 records of 0, 1 or 2 with 30 columns took fpylll 24 s."""
    seen, pool, rows, align = {}, party_module.pool_moments, {}, party_module.align

    def overheard(links, plan, me, own, *rest):
        seen[me] = pool(links, plan, me, own, *rest), own
        return seen[me][0]

    def aligned(links, plan, me, ids, *rest):
        rows[me] = align(links, plan, me, ids, *rest)
        return rows[me]

    monkeypatch.setattr(party_module, "pool_moments", overheard)
    monkeypatch.setattr(party_module, "align", aligned)
    plan = plan_of(bits_per_bit_told=0)
    fits = fit_vertically(tables(), plan)
    moments, own = seen["shop"]
    found = read_off(moments.between(("answer",))[0, 1:], rounded(own.values, moments.bits), moments.bits)
    truth = SECRET[rows["bank"]]
    assert any(len(np.unique(sign * row - truth)) == 1 for row in found for sign in (1, -1))
    assert "answer" in fits["bank"].exposure.pinned_down
    with pytest.raises(GuardError, match=r"up to 667 bits of 'answer', which takes 93 to write down for 40 records"):
        fit_vertically(tables(), plan_of())


@pytest.mark.parametrize(
    ("column", "columns"),
    [
        (RNG.choice([0, 1, 2], 150, p=[0.5, 0.3, 0.2]), 30),
        (RNG.integers(1, 6, 100), 20),
        (RNG.poisson(4, 100), 20),
        (RNG.integers(0, 2, 300), 60),
        (np.arange(20_000) < 20, 5),
    ],
    ids=["children", "answers from 1 to 5", "visits", "yes/no", "yes for twenty of 20,000"],
)
def test_what_was_read_in_full_is_refused(column, columns):
    """The last one by power sums: somebody with made-up columns found all twenty from seven sums."""
    own = OwnColumns(("answer", "v"), np.column_stack([column, RNG.normal(size=len(column))]))
    with pytest.raises(GuardError, match=r"'answer', .* all its values could be computed"):
        check_columns(own, plan_of(theirs=columns - 2), sums=columns)


@pytest.mark.parametrize("records", [300, 1500])
def test_ordinary_whole_numbers_are_let_pass(records):
    """Ages, visits and a yes/no question; a run with three columns and a target."""
    ages, visits, member = RNG.normal(45, 12, records).round(), RNG.poisson(4, records), RNG.integers(0, 2, records)
    own = OwnColumns(("age", "visits"), np.column_stack([ages, visits]))
    check_columns(own, plan_of(("age", "visits"), 3), sums=5)
    if records > 600:
        check_columns(OwnColumns(("member", "age"), np.column_stack([member, ages])), plan_of(("member", "age"), 3), 5)
