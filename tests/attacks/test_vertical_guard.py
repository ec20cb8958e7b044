"""Columns made up to read one person's values off the moments: what the guard refuses of ours and sees of theirs."""

import numpy as np
import pyarrow as pa
import pytest

import kakuran.vertical.party as party_module
from kakuran.errors import DataError, GuardError, ProtocolError
from kakuran.samples import companies
from kakuran.vertical import Limits, Party, VerticalPlan, disclosure
from kakuran.vertical.disclosure import check_columns, check_moments
from kakuran.vertical.messages import InterceptPart
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.party import side_by_side
from kakuran.vertical.regression import Moments

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

RECORDS = 1500
DICE = np.random.default_rng(5)
PLAN = VerticalPlan.of({"bank": ["income"], "shop": ["visits", "made_up"]}, target="spending", holder="shop")


def indicator(people, height=1.0):
    column = np.zeros(RECORDS)
    column[:people] = height
    return column


def guarded(*columns, plan=PLAN, party="shop"):
    check_columns(OwnColumns(plan.held_by(party), np.column_stack(columns)), plan, sums=1)


def noise(size=1.0):
    return size * DICE.normal(size=RECORDS)


@pytest.mark.parametrize(
    ("made_up", "words"),
    [
        (indicator(1), "only 1 record on one side"),
        (indicator(1) + noise(1e-9), "leverage of 1.00"),
        (indicator(1, 0.9 * RECORDS**0.5) + noise(), "leverage of 0.4"),
        (indicator(10), "only 10 records on one side"),
        (indicator(10) + noise(1e-3), "10 records carry 99% of the spread"),
        (indicator(12, 0.5 ** np.arange(12)), "leverage of 0.7"),
        (indicator(12, 1 + np.arange(12) / 10), "records carry 99% of the spread"),
        (indicator(18, np.repeat([1, 1.0001], 9)), "18 records carry 99% of the spread"),
    ],
    ids=["one", "one in noise", "one of .45", "ten", "ten in noise", "powers of two", "steps", "two near levels"],
)
def test_a_column_that_is_about_few_people_is_refused_by_its_owners_own_software(made_up, words):
    with pytest.raises(GuardError, match=words):
        guarded(noise(), made_up, noise())
    with pytest.raises(GuardError, match=words):
        guarded(noise(), noise(), made_up)  # as the target


def test_two_columns_whose_difference_is_about_one_person_are_refused():
    column = noise()
    with pytest.raises(GuardError, match=r"leverage of 1\.00"):
        guarded(column, column + indicator(1, 0.01), noise())


def test_ordinary_columns_are_let_pass():
    """Of 200 drawn tables each, as `benchmarks.vertical_guard` counts them, none of these was refused."""
    for column in (
        noise(),
        DICE.poisson(0.5, RECORDS).astype(float),
        DICE.exponential(size=RECORDS),
        np.exp(noise(0.5)),
        (DICE.random(RECORDS) < 0.1) * DICE.exponential(size=RECORDS),
        (DICE.random(RECORDS) < 0.05).astype(float),
    ):
        guarded(noise(), column, noise())
    for name, table in zip(("bank", "shop"), companies(400), strict=True):
        columns = {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]}
        plan = VerticalPlan.of(columns, target="spending", holder="shop", ids="customer")
        check_columns(OwnColumns.read(table, plan.held_by(name)), plan, sums=4)


def tables(made_up):
    """A bank with three columns, and a shop that brings what it likes."""
    bank, shop = DICE.normal(size=(400, 3)), DICE.normal(size=(400, 2))
    shop[:, 1] = made_up
    plan = VerticalPlan.of({"bank": ["a", "b", "c"], "shop": ["d", "made_up"]}, target="y", holder="shop")
    target = bank.sum(axis=1) + shop[:, 0] + DICE.normal(size=400)
    frames = {
        "bank": pa.table({"id": range(400), **dict(zip("abc", bank.T, strict=True))}),
        "shop": pa.table({"id": range(400), "d": shop[:, 0], "made_up": shop[:, 1], "y": target}),
    }
    return plan, frames


def fit_with_a_cheat(plan, frames, monkeypatch):
    """The bank's outcome, and what it sent, where the shop runs no guard of its own."""
    honest, sent = party_module.check_columns, []
    monkeypatch.setattr(
        party_module,
        "check_columns",
        lambda own, *rest: own.standardised(intercept=True) if "y" in own.names else honest(own, *rest),
    )
    looks = party_module.check_moments
    monkeypatch.setattr(
        party_module, "check_moments", lambda moments, own, *rest: "y" in own.names or looks(moments, own, *rest)
    )

    def run(name, links):
        if name == "bank":
            send = links["shop"].send
            links["shop"].send = lambda message: (sent.append(message), send(message))
        try:
            return Party(name, plan, frames[name]).fit(links)
        except (GuardError, ProtocolError) as error:
            return error

    return side_by_side(list(plan.names), run)["bank"], sent


@pytest.mark.parametrize("hidden_in", [0, 1e-5])
def test_a_cheats_column_about_one_of_our_records_is_noticed_and_nothing_more_is_sent(monkeypatch, hidden_in):
    made_up = np.zeros(400)
    made_up[7] = 1
    outcome, sent = fit_with_a_cheat(*tables(made_up + hidden_in * DICE.normal(size=400)), monkeypatch)
    assert isinstance(outcome, GuardError)
    assert "the moments of 'made_up' with our columns are the values of one of our records" in str(outcome)
    assert not any(isinstance(message, InterceptPart) for message in sent)


def test_what_the_moments_do_not_show_is_not_noticed(monkeypatch):
    """As the guide says: hidden in noise of a tenth of its spread, or about two people, it reads as any other."""
    made_up = np.zeros(400)
    made_up[7] = 1
    outcome, _ = fit_with_a_cheat(*tables(made_up + 0.005 * DICE.normal(size=400)), monkeypatch)
    assert not isinstance(outcome, Exception)
    made_up[8] = 1
    outcome, _ = fit_with_a_cheat(*tables(made_up), monkeypatch)
    assert not isinstance(outcome, Exception)


def test_honest_columns_are_not_taken_for_made_up_ones():
    """Twenty tables, each with 31 columns of theirs: by chance one would be taken for such once in 50,000 runs."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(300, 34)) if seed % 2 else rng.exponential(size=(300, 34))
        own = OwnColumns(tuple("abc"), values[:, :3]).standardised(intercept=True)
        everything = OwnColumns(tuple(map(str, range(34))), values).standardised(intercept=True).values
        names = ("a", "b", "c", *map(str, range(30)))
        matrix = everything.T @ everything / 300
        check_moments(Moments(names, ("",) * 33, matrix, 300, True, 1.0, 22), own, Limits())


def moments_of(values):
    """Our three columns of six, standardised, and the moments of all."""
    standard = OwnColumns(tuple("abcdef"), values).standardised(intercept=True)
    matrix = standard.values.T @ standard.values / len(values)
    return standard.only("abc"), Moments(tuple("abcde"), ("",) * 5, matrix, len(values), True, 1.0, 22)


@pytest.mark.parametrize("invented", [0.9, np.nan])
def test_moments_of_no_table_are_refused(invented):
    """The owner of the key tells us the sums; those it invents do not go with the rest."""
    own, moments = moments_of(DICE.normal(size=(400, 6)))
    moments.matrix[:3, 3:] = moments.matrix[3:, :3] = invented
    with pytest.raises(ProtocolError, match="are those of no table"):
        check_moments(moments, own, Limits())


def test_columns_of_theirs_that_differ_by_rounding_are_refused():
    values = DICE.normal(size=(400, 6))
    values[:, 4] = values[:, 3] + 1e-5 * DICE.normal(size=400)
    own, moments = moments_of(values)
    with pytest.raises(GuardError, match="differ by no more than rounding"):
        check_moments(moments, own, Limits())


def test_where_all_our_columns_are_yes_or_no_nothing_can_be_told_of_theirs():
    values = DICE.normal(size=(400, 6))
    values[:, :3] = values[:, :3] > 0
    values[:, 3] = np.arange(400) == 7
    own, moments = moments_of(values)
    check_moments(moments, own, Limits())


def test_a_column_without_spread_takes_as_long_to_refuse_as_any_other(monkeypatch):
    """It was refused before the search that every other refusal comes after, and the partner saw it by the time."""
    searched = []
    monkeypatch.setattr(disclosure, "sparse_combinations", lambda *own: searched.append(own) or [])
    with pytest.raises(DataError, match="is the same for all shared records"):
        guarded(noise(), np.ones(RECORDS), noise())
    assert len(searched) == 1


def test_columns_without_spread_are_refused():
    with pytest.raises(DataError, match="is the same for all shared records"):
        guarded(np.ones(RECORDS), np.ones(RECORDS), np.zeros(RECORDS))


@pytest.mark.parametrize("parties", [("bank", "shop"), ("shop", "bank")])
def test_a_partner_without_a_guard_reads_a_person_with_each_column_but_one(parties, monkeypatch):
    """What remains: columns of theirs that differ in one person. Nothing that computes exact moments prevents it."""
    rng, people = np.random.default_rng(3), np.array([7, 70, 700])
    ours = np.column_stack([rng.lognormal(12, 0.4, RECORDS), rng.integers(18, 90, RECORDS), rng.poisson(4, RECORDS)])
    base = rng.normal(size=RECORDS)
    theirs = {"s": base, **{f"s{person}": base + (np.arange(RECORDS) == person) for person in people}}
    tables = {
        "bank": pa.table({"id": range(RECORDS), **dict(zip(("income", "age", "visits"), ours.T, strict=True))}),
        "shop": pa.table({"id": range(RECORDS), **theirs, "y": rng.normal(size=RECORDS)}),
    }
    columns = {"bank": ["income", "age", "visits"], "shop": list(theirs)}
    plan = VerticalPlan.of({name: columns[name] for name in parties}, target="y", holder="shop", search="none")
    pool, seen = party_module.pool_moments, {}

    def overhear(links, plan, me, *rest):
        seen[me] = pool(links, plan, me, *rest)
        return seen[me]

    def guard(own, plan, sums):
        return own.standardised(intercept=True) if "s" in own.names else check_columns(own, plan, sums)

    monkeypatch.setattr(party_module, "pool_moments", overhear)
    monkeypatch.setattr(party_module, "check_columns", guard)
    side_by_side(list(parties), lambda name, links: Party(name, plan, tables[name]).fit(links))
    moments = dict(zip([*theirs, "y"], seen["shop"].between(columns["bank"]).T, strict=True))
    for person in people:
        column = f"s{person}"
        read = RECORDS * (theirs[column].std() * moments[column] - base.std() * moments["s"])
        np.testing.assert_allclose(read, ((ours - ours.mean(axis=0)) / ours.std(axis=0))[person], atol=1e-4)
