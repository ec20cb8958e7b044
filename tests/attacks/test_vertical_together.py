"""Columns of ours that are each about many people and together about few: differences, and levels left out.

A category is coded as yes/no columns, one level left out as the reference. Where few people have that level, an
unchanged partner computes from one ordinary run how many they are and who.
"""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial import cKDTree

import kakuran.vertical.party as party_module
from kakuran.errors import GuardError
from kakuran.samples import companies
from kakuran.vertical import Limits, VerticalPlan, fit_vertically
from kakuran.vertical.disclosure import check_columns
from kakuran.vertical.own import OwnColumns

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

RECORDS = 800
GRADES = ("grade_A", "grade_B", "grade_C")


def grades(rng, people, records=RECORDS):
    """Three common levels as yes/no columns, and a fourth that is left out and that few have."""
    level = rng.choice(3, records, p=[0.3, 0.35, 0.35])
    few = rng.choice(records, people, replace=False)
    level[few] = 3
    return (level[:, None] == np.arange(3)).astype(float), few


def seasons(rng, people):
    """Two yes/no columns that differ in few, and one more."""
    spring = (rng.random(RECORDS) < 0.4).astype(float)
    autumn = spring.copy()
    changed = rng.choice(RECORDS, people, replace=False)
    autumn[changed] = 1 - autumn[changed]
    return np.column_stack([spring, autumn, np.exp(0.5 * rng.normal(size=RECORDS))])


def incomes(rng, people):
    """Incomes of two years that differ for few."""
    last = np.exp(0.5 * rng.normal(size=RECORDS)) * 4e6
    this = last.copy()
    this[rng.choice(RECORDS, people, replace=False)] *= rng.uniform(0.5, 2, people)
    return np.column_stack([last, this, rng.normal(size=RECORDS)])


def accounts(rng, people):
    """A score that is made of five others by one rule, but for few."""
    parts = np.column_stack([rng.poisson(3, (RECORDS, 3)), rng.exponential(size=(RECORDS, 2))])
    score = parts @ [2, -1, 3, 0.5, 1]
    score[rng.choice(RECORDS, people, replace=False)] += rng.normal(size=people) * 2
    return np.column_stack([parts, score])


TABLES = {"grades": lambda *given: grades(*given)[0], "seasons": seasons, "incomes": incomes, "accounts": accounts}


def guarded(values, **limits):
    names = tuple(f"x{at}" for at in range(values.shape[1]))
    columns = {"bank": names, "shop": ("visits",)}
    plan = VerticalPlan.of(columns, target="y", holder="shop", limits=Limits(**limits))
    check_columns(OwnColumns(names, values), plan, sums=2)


def companies_with_grades(people):
    rng = np.random.default_rng(people)
    columns, few = grades(rng, people)
    theirs = rng.normal(size=(RECORDS, 4))
    bank = pa.table({"id": range(RECORDS), **dict(zip(GRADES, columns.T, strict=True))})
    known = {f"s{at}": column for at, column in enumerate(theirs.T)}
    shop = pa.table({"id": range(RECORDS), **known, "y": theirs.sum(axis=1) + rng.normal(size=RECORDS)})
    return (
        {"bank": bank, "shop": shop},
        VerticalPlan.of({"bank": GRADES, "shop": tuple(known)}, target="y", holder="shop"),
        set(few.tolist()),
    )


def named_by_the_shop(seen):
    """Whom the left-out level is about, from the moments and the shop's own columns: three people at most."""
    moments, own = seen
    told = moments.matrix[:3, :3]
    odds = -np.array([told[0, 1] * told[0, 2] / told[1, 2], told[0, 1] * told[1, 2] / told[0, 2],
                      told[0, 2] * told[1, 2] / told[0, 1]])  # fmt: skip
    counts = np.rint(RECORDS * odds / (1 + odds))
    spreads = np.sqrt(counts * (RECORDS - counts)) / RECORDS
    sums = -RECORDS * (spreads @ moments.matrix[:3, 3:])
    pairs = np.array(list(itertools.combinations(range(RECORDS), 2)))
    away, third = cKDTree(own.values).query(sums - own.values[pairs].sum(axis=1))
    best = away.argmin()
    return int(RECORDS - counts.sum()), {*pairs[best].tolist(), int(third[best])}


def test_without_the_guard_an_unchanged_partner_names_who_has_the_level_that_is_left_out(monkeypatch):
    frames, plan, few = companies_with_grades(3)
    unguarded = {"smallest_group": 0, "bits_per_bit_told": 0}
    seen, rows, pool, align = {}, {}, party_module.pool_moments, party_module.align

    def overheard(links, plan, me, own, *rest):
        seen[me] = pool(links, plan, me, own, *rest), own
        return seen[me][0]

    def aligned(links, plan, me, *rest, **more):
        rows[me] = align(links, plan, me, *rest, **more)
        return rows[me]

    monkeypatch.setattr(party_module, "pool_moments", overheard)
    monkeypatch.setattr(party_module, "align", aligned)
    fit_vertically(frames, VerticalPlan(plan.parties, "y", "shop", limits=Limits(**unguarded)))
    people, named = named_by_the_shop(seen["shop"])
    assert people == 3
    assert {int(rows["shop"][place]) for place in named} == few


@pytest.mark.parametrize("people", [3, 4, 5])
def test_yes_no_columns_that_leave_out_a_level_of_few_people_are_refused_by_name(people):
    frames, plan, _ = companies_with_grades(people)
    words = f"columns 'grade_A', 'grade_B', 'grade_C' leave out a level that only {people} records have"
    with pytest.raises(GuardError, match=words):
        fit_vertically(frames, plan)


@pytest.mark.parametrize("people", [3, 8, 15, 19])
@pytest.mark.parametrize("kind", TABLES)
def test_columns_that_together_are_about_few_people_are_refused(kind, people):
    rng = np.random.default_rng(people)
    for _ in range(3):
        with pytest.raises(GuardError, match=r"(together the columns|leave out a level).* \d+ records"):
            guarded(TABLES[kind](rng, people), largest_leverage=1, bits_per_bit_told=0)


def test_the_columns_that_take_part_are_named_and_no_others():
    values = np.column_stack([np.random.default_rng(1).normal(size=RECORDS), seasons(np.random.default_rng(2), 5)])
    with pytest.raises(GuardError, match="together the columns 'x1', 'x2' are about 5 records"):
        guarded(values)


def test_what_is_left_may_be_about_many_and_still_take_too_few_bits():
    """A level of 40 among 800 people takes 229 bits to write down; four sums tell 232 of it."""
    with pytest.raises(GuardError, match=r"bits of what 'x0', 'x[12]', 'x[12]' leave of each other"):
        guarded(grades(np.random.default_rng(3), 40)[0])
    guarded(grades(np.random.default_rng(3), 40)[0], bits_per_bit_told=0)


def test_a_rare_level_among_many_people_is_found_though_few_records_are_searched():
    """Of 30,000 people 25 have one level and 3 the one that is left out; some thousand stand for all."""
    rng = np.random.default_rng(4)
    level = rng.choice(4, 30_000)
    level[:25], level[25:28] = 4, 5
    columns = (level[:, None] == np.arange(5)).astype(float)
    with pytest.raises(GuardError, match="leave out a level that only 3 records have"):
        guarded(np.column_stack([columns, rng.lognormal(size=(30_000, 3))]), bits_per_bit_told=0)


def test_all_levels_of_a_category_are_about_nobody():
    """Their sum is the same for everybody: the regression refuses that, not the guard."""
    rng = np.random.default_rng(5)
    level = rng.choice(4, RECORDS)
    guarded(np.column_stack([(level[:, None] == np.arange(4)).astype(float), rng.normal(size=RECORDS)]))


def test_ordinary_columns_are_let_pass():
    rng = np.random.default_rng(6)
    for _ in range(5):
        guarded(rng.normal(size=(100, 4)))
        guarded(rng.poisson(2, (400, 3)).astype(float))
        guarded((rng.random((2_000, 4)) < 0.2).astype(float))
        common = rng.normal(size=(300, 1))
        guarded(common + 0.1 * rng.normal(size=(300, 4)))  # correlated .99
        guarded(grades(rng, 300)[0])
    for table, named in zip(
        companies(400), (("income", "age", "savings"), ("visits", "basket", "coupons", "spending")), strict=True
    ):
        guarded(OwnColumns.read(table, named).values)
