"""Joint predictions equal the pooled model's but for the rounding of parts, and only the receiver has them."""

import numpy as np
import pyarrow as pa
import pytest

from kakuran.errors import DataError, GuardError, ProtocolError
from kakuran.vertical import Limits, VerticalPlan, fit_vertically, party, predict_together
from kakuran.vertical.messages import InterceptPart, MaskedPart
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.party import side_by_side

from .companies import companies
from .pooled import pooled_ols

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")


def new_records(case, seed=8, count=40):
    rng = np.random.default_rng(seed)
    fresh = 3 + rng.normal(size=(count, len(case.columns)))
    p = len(case.a)
    ids, order = np.arange(count) + 10**6, rng.permutation(count)
    return fresh, {
        "alice": pa.table({"id": ids, **{name: fresh[:, at] for at, name in enumerate(case.a)}}),
        "bob": pa.table({"id": ids[order], **{name: fresh[order, p + at] for at, name in enumerate(case.b)}}),
    }


@pytest.mark.parametrize("receiver", ["alice", "bob"])
def test_predictions_equal_those_of_the_pooled_model(receiver):
    case = companies(200, 3, 3)
    fits = fit_vertically(case.frames, case.plan)
    fresh, frames = new_records(case)
    found = side_by_side(
        ["alice", "bob"],
        lambda name, links: predict_together(links, case.plan, fits[name], frames[name], receiver=receiver),
    )
    chosen = [case.columns.index(name) for name in fits["alice"].chosen]
    pooled = pooled_ols(case.X[:, chosen], case.y)
    expected = pooled.params[0] + fresh[:, chosen] @ pooled.params[1:]
    predictions = found.pop(receiver)
    rows = frames[receiver]["id"].to_numpy()[predictions.rows] - 10**6
    assert sorted(rows) == list(range(len(fresh)))
    step = fits[receiver].step(receiver)
    np.testing.assert_allclose(predictions.values, expected[rows], rtol=1e-5, atol=step / 2)
    assert list(found.values()) == [None]


def test_masks_hide_every_part_of_three_parties_from_the_receiver():
    case = companies(200, 4, 2, least=1, search="none")
    parts = {"alice": case.a[:2], "carol": case.a[2:], "bob": case.b}
    plan = VerticalPlan.of(parts, target="y", holder="bob", search="none", least=1)
    tables = {name: case.frames["bob" if name == "bob" else "alice"] for name in parts}
    fits = fit_vertically(tables, plan)
    fresh, frames = new_records(case)
    fresh_tables = {name: frames["bob" if name == "bob" else "alice"] for name in parts}
    heard = []

    def run(name, links):
        for link in links.values():
            hear = link.receive

            def listen(kind, hear=hear, **settings):
                message = hear(kind, **settings)
                if isinstance(message, MaskedPart):
                    heard.append(message.words)
                return message

            link.receive = listen
        return predict_together(links, plan, fits[name], fresh_tables[name], receiver="bob")

    predictions = side_by_side(list(parts), run)["bob"]
    pooled = pooled_ols(case.X, case.y)
    rows = frames["bob"]["id"].to_numpy()[predictions.rows] - 10**6
    step, expected = fits["bob"].step("bob"), pooled.params[0] + fresh @ pooled.params[1:]
    np.testing.assert_allclose(predictions.values, expected[rows], rtol=1e-5, atol=2 * step / 2)
    # A part is within 2⁴⁰ steps; under a mask it is anywhere in 2⁶⁴: all 40 small has probability 2⁻⁹⁰⁰.
    assert len(heard) == 2
    assert all((np.abs(words.astype(float)) > 2.0**50).any() for words in heard)


def test_predictions_need_the_same_run_the_same_plan_and_the_columns():
    case = companies(200, 3, 3)
    fits, again = fit_vertically(case.frames, case.plan), fit_vertically(case.frames, case.plan)
    _, frames = new_records(case)

    def predict(alice, bob, plan=case.plan, frames=frames, receiver="bob"):
        held = {"alice": alice, "bob": bob}
        return side_by_side(
            ["alice", "bob"],
            lambda name, links: predict_together(links, plan, held[name], frames[name], receiver=receiver),
        )

    with pytest.raises(ProtocolError, match="wants to predict for bob with the model of run"):
        predict(fits["alice"], again["bob"])
    other = companies(200, 3, 3, criterion="bic").plan
    with pytest.raises(ProtocolError, match="made by another plan"):
        predict(fits["alice"], fits["bob"], plan=other)
    with pytest.raises(ProtocolError, match="no party 'carol'"):
        predict(fits["alice"], fits["bob"], receiver="carol")
    name = next(iter(fits["alice"].own))
    absurd = frames["alice"].set_column(frames["alice"].column_names.index(name), name, pa.array(np.full(40, 1e14)))
    with pytest.raises(DataError, match="'y': would lie far beyond"):
        predict(fits["alice"], fits["bob"], frames=frames | {"alice": absurd})
    with pytest.raises(DataError, match=name):
        predict(fits["alice"], fits["bob"], frames=frames | {"alice": frames["alice"].drop_columns([name])})


def fitted_on(answers, coefficients, seed=1, **settings):
    """A bank's columns that explain a shop's target; the plan, the fits and the tables."""
    rng, people = np.random.default_rng(seed), len(next(iter(answers.values())))
    target = sum(coefficients[name] * column for name, column in answers.items()) + rng.normal(size=people)
    tables = {
        "bank": pa.table({"id": range(people), **answers}),
        "shop": pa.table({"id": range(people), "s0": rng.normal(size=people), "y": target}),
    }
    names = {"bank": list(answers), "shop": ["s0"]}
    plan = VerticalPlan.of(names, target="y", holder="shop", search="none", least=1, **settings)
    return plan, fit_vertically(tables, plan), tables


def predicted(plan, fits, tables, **options):
    return side_by_side(
        list(plan.names),
        lambda name, links: predict_together(links, plan, fits[name], tables[name], receiver="shop", **options),
    )["shop"]


RNG = np.random.default_rng(4)
ILL, VISITS, INCOME = RNG.integers(0, 2, 900), RNG.poisson(4, 900), RNG.normal(size=900)


def test_rounding_is_no_finer_than_a_quarter_of_our_own_part_and_costs_little_of_what_a_prediction_is_worth():
    plan, fits, tables = fitted_on({"visits": VISITS, "income": INCOME}, {"visits": 0.5, "income": 1.0})
    fit, part = fits["bank"], tables["bank"]["visits"].to_numpy() * fits["bank"].own["visits"].coefficient
    part = part + tables["bank"]["income"].to_numpy() * fit.own["income"].coefficient
    assert fit.step("shop") == fits["shop"].step("shop") == pytest.approx(part.std() / 4)
    assert fit.bits_told("shop") == pytest.approx(np.log2(1 + 12 * 16) / 2)
    found = predicted(plan, fits, tables)
    exact = tables["shop"]["y"].to_numpy()[found.rows]
    assert np.std(exact - found.values) < 1.02 * fit.quality.variance**0.5


def test_a_yes_no_column_that_makes_up_most_of_a_part_is_not_told():
    answers, coefficients = {"ill": ILL, "income": INCOME}, {"ill": 3.0, "income": 1.0}
    with pytest.raises(GuardError, match=r"tell shop .* bits of each person's ill, which take 1\.0 to write down"):
        predicted(*fitted_on(answers, coefficients))
    predicted(*fitted_on(answers, coefficients, limits=Limits(bits_per_bit_told=0)))
    predicted(*fitted_on(answers, {"ill": 1.0, "income": 1.0}))


def remembered(plan, fits, tables, memory, **options):
    """Predictions of which only the bank remembers."""

    def run(name, links):
        kept = {"memory": memory, **options} if name == "bank" else {}
        return predict_together(links, plan, fits[name], tables[name], receiver="shop", **kept)

    found = side_by_side(list(plan.names), run)["shop"]
    return found.values[np.argsort(found.rows)]


def test_models_are_counted_together_for_each_person_and_each_content(tmp_path):
    memory, answers = tmp_path / "runs", {"ill": ILL, "income": INCOME}
    first = fitted_on(answers, {"ill": 1.0, "income": 0.5})
    second = fitted_on(answers, {"ill": -1.0, "income": 0.5}, seed=2)
    some, others = ({name: table.slice(start, 450) for name, table in first[2].items()} for start in (0, 450))
    told = remembered(*first[:2], some, memory)
    with pytest.raises(GuardError, match=r"bits of each person's ill, .*--despite-earlier-runs"):
        remembered(*second[:2], some, memory)
    remembered(*second[:2], others, memory)
    assert (remembered(*first[:2], some, memory) == told).all()
    changed = some["bank"].set_column(2, "income", pa.array(INCOME[:450] + 1))
    remembered(*first[:2], some | {"bank": changed}, memory)
    remembered(*second[:2], some, memory, despite_earlier_runs=True)


def test_a_rare_answer_that_rounding_tells_in_full_is_not_told():
    """Every yes was one step and every no none, of 300 among 10,000 people, and counted as a tenth of a bit."""
    rng, people = np.random.default_rng(2), 3_000
    ill = (np.arange(people) < 90).astype(int)
    noise, other, income = rng.normal(size=(3, people))
    others = np.column_stack([np.ones(people), ill, income, other])
    noise -= others @ np.linalg.lstsq(others, noise, rcond=None)[0]
    bank = pa.table({"id": range(people), "ill": ill, "income": income})
    shop = pa.table({"id": range(people), "s0": other, "y": 0.16 * ill + noise})
    tables, names = {"bank": bank, "shop": shop}, {"bank": ["ill", "income"], "shop": ["s0"]}
    plan = VerticalPlan.of(names, target="y", holder="shop", search="none", least=1)
    fits = fit_vertically(tables, plan)
    assert fits["bank"].bits_told("shop") < 0.12
    with pytest.raises(GuardError, match=r"tell shop 0\.2 bits of each person's ill, which take 0\.2 to write down"):
        predicted(plan, fits, tables)


def test_people_unlike_those_fitted_count_by_what_they_are_told():
    """A model of incomes that are alike told those of all others, 7.1 bits of each, said to be 3.8."""
    plan, fits, tables = fitted_on({"visits": VISITS, "income": INCOME}, {"visits": 0.5, "income": 1.0})
    said, wide = [], tables["bank"].set_column(2, "income", pa.array(30 * INCOME))
    predicted(plan, fits, tables | {"bank": wide}, notify=said.append)
    steps = fits["bank"].in_steps(OwnColumns.read(wide, ["visits", "income"]), "shop")
    _, counts = np.unique(steps, return_counts=True)
    entropy = -counts @ np.log2(counts / 900) / 900
    assert entropy > 7
    assert f"our parts tell shop {entropy:.1f} bits of each of these people" in said
    often = tables["bank"].set_column(1, "visits", pa.array(30 * VISITS))
    with pytest.raises(GuardError, match=r"tell shop .* bits of each person's visits"):
        predicted(plan, fits, tables | {"bank": often})


@pytest.mark.parametrize("is_remembered", [True, False])
def test_people_chosen_to_be_alike_are_not_told_by_what_is_left(is_remembered, tmp_path):
    """Among people of nearly one income, every part was the answer to the other question: 60 of 60 were read."""
    plan, fits, tables = fitted_on({"ill": ILL, "income": INCOME}, {"ill": 0.7, "income": 0.5})
    alike = np.argsort(np.abs(INCOME))[:60]
    chosen = {"bank": tables["bank"], "shop": tables["shop"].take(alike)}
    steps = fits["bank"].in_steps(OwnColumns.read(tables["bank"].take(alike), ["ill", "income"]), "shop")
    assert ((steps > np.median(np.unique(steps))) == ILL[alike]).all()
    with pytest.raises(GuardError, match=r"tell shop \d\.\d bits of each person's ill, which take 1\.0"):
        remembered(plan, fits, chosen, tmp_path / "runs" if is_remembered else None)


def test_what_their_columns_predict_of_ours_leaves_less_to_hide_the_rest():
    """A shop that nearly knows incomes read the other answer of 98 % of all people off honest predictions."""
    rng = np.random.default_rng(3)
    for noise, is_refused in ((0.3, True), (2.0, False)):
        known = INCOME + noise * rng.normal(size=900)
        target = 0.7 * ILL + 0.5 * INCOME + rng.normal(size=900)
        bank = pa.table({"id": range(900), "ill": ILL, "income": INCOME})
        tables = {"bank": bank, "shop": pa.table({"id": range(900), "known": known, "y": target})}
        columns = {"bank": ["ill", "income"], "shop": ["known"]}
        plan = VerticalPlan.of(columns, target="y", holder="shop", search="none", least=1)
        fits = fit_vertically(tables, plan)
        if is_refused:
            with pytest.raises(GuardError, match="bits of each person's ill"):
                predicted(plan, fits, tables)
        else:
            predicted(plan, fits, tables)


def test_nobody_makes_the_step_larger_by_a_spread_it_does_not_have(monkeypatch):
    """One of three parties said that its part varies more than it does; every yes was one step then, and no no."""
    case = companies(200, 4, 2, least=1, search="none")
    parts = {"alice": case.a[:2], "carol": case.a[2:], "bob": case.b}
    plan = VerticalPlan.of(parts, target="y", holder="bob", search="none", least=1)
    tables = {name: case.frames["bob" if name == "bob" else "alice"] for name in parts}
    honest = fit_vertically(tables, plan)["bob"]
    monkeypatch.setattr(party, "InterceptPart", lambda value, spread: InterceptPart(value, 1000 * spread))
    fits = fit_vertically(tables, plan)
    own = dict(zip(honest.inference.names, honest.inference.coefficients, strict=True))
    for fit in fits.values():
        most = sum(abs(own[name]) for name in parts["carol"]) * honest.target_scale
        assert fit.spreads["carol"] == pytest.approx(most)


@pytest.mark.parametrize(("times", "is_said"), [(1, False), (10, True)])
def test_parts_much_larger_than_those_fitted_are_said(times, is_said):
    """A bank that sent any numbers made the shop predict any, and nobody heard of it."""
    plan, fits, tables = fitted_on({"visits": VISITS, "income": INCOME}, {"visits": 0.5, "income": 1.0})
    said = []

    def run(name, links):
        if name == "bank":
            link = links["shop"]
            send = link.send
            link.send = lambda message: send(
                MaskedPart(times * message.words) if isinstance(message, MaskedPart) else message
            )
        notify = said.append if name == "shop" else lambda _: None
        return predict_together(links, plan, fits[name], tables[name], receiver="shop", notify=notify)

    side_by_side(["bank", "shop"], run)
    assert any("times as large as among those fitted" in sentence for sentence in said) == is_said


def test_few_people_are_not_predicted():
    plan, fits, tables = fitted_on({"visits": VISITS, "income": INCOME}, {"visits": 0.5, "income": 1.0})
    with pytest.raises(GuardError, match="only 19 people would be predicted, fewer than 20"):
        predicted(plan, fits, {name: table.slice(0, 19) for name, table in tables.items()})
    assert len(predicted(plan, fits, {name: table.slice(0, 20) for name, table in tables.items()}).values) == 20


def test_a_refusal_that_depends_on_values_is_written_down_and_counts_a_bit(tmp_path):
    """Who chooses the people learns one bit from each refusal, and asked as often as it liked."""
    memory = tmp_path / "runs"
    plan, fits, tables = fitted_on({"ill": ILL, "income": INCOME}, {"ill": 1.0, "income": 1.0})
    some, others = ({name: table.slice(start, 450) for name, table in tables.items()} for start in (0, 450))
    wide = some["bank"].set_column(1, "ill", pa.array(30 * ILL[:450]))
    with pytest.raises(GuardError, match="bits of each person's ill, which take"):
        remembered(plan, fits, some | {"bank": wide}, memory)
    with pytest.raises(GuardError, match=r"tell shop 1\.\d bits of each person's ill, .*--despite-earlier-runs"):
        remembered(plan, fits, some, memory)
    remembered(plan, fits, others, memory)


def test_a_refusal_counts_against_every_column_where_the_table_has_one_without_a_name(tmp_path):
    """Tables with an index come so from pandas; the bit was taken for one of that column."""
    plan, fits, tables = fitted_on({"ill": ILL, "income": INCOME}, {"ill": 1.0, "income": 1.0})
    indexed = tables["bank"].append_column("", [np.arange(900)])
    wide = indexed.set_column(1, "ill", pa.array(30 * ILL))
    for bank in (wide, indexed):
        with pytest.raises(GuardError, match="bits of each person's ill, which take"):
            remembered(plan, fits, tables | {"bank": bank}, tmp_path / "runs")


def test_a_value_too_large_to_predict_is_a_refusal_that_counts(tmp_path):
    memory = tmp_path / "runs"
    plan, fits, tables = fitted_on({"ill": ILL, "income": INCOME}, {"ill": 1.0, "income": 1.0})
    absurd = tables["bank"].set_column(2, "income", pa.array(np.full(900, 1e14)))
    with pytest.raises(DataError, match="would lie far beyond"):
        remembered(plan, fits, tables | {"bank": absurd}, memory)
    with pytest.raises(GuardError, match="--despite-earlier-runs"):
        remembered(plan, fits, tables, memory)


def test_a_refusal_by_the_model_alone_costs_nothing(tmp_path):
    memory, answers = tmp_path / "runs", {"ill": ILL, "income": INCOME}
    first, second = (fitted_on(answers, {"ill": sign, "income": 0.5}, seed=2) for sign in (0.7, -0.7))
    mild = fitted_on(answers, {"ill": 0.7, "income": 0.5}, seed=3)
    remembered(*first, memory)
    with pytest.raises(GuardError, match="person's ill"):
        remembered(*second, memory)
    remembered(*mild, memory)


def test_renamed_columns_count_as_those_they_may_be(tmp_path):
    """Models with other names each read small columns, as nothing was known of the earlier ones."""
    memory = tmp_path / "runs"
    first = fitted_on({"ill": ILL, "income": INCOME}, {"ill": 0.7, "income": 0.5})
    renamed = {"illness": ILL, "earnings": INCOME}
    second = fitted_on(renamed, {"illness": -0.7, "earnings": 0.5}, seed=2)
    remembered(*first, memory)
    with pytest.raises(GuardError, match=r"illness, .*told of 'ill', 'income', which our table does not have"):
        remembered(*second, memory)
    plan, fits, tables = second
    for ill in (ILL, 2 * ILL + 1):
        kept = tables["bank"].append_column("ill", [ill]).append_column("income", [3 * INCOME])
        with pytest.raises(GuardError, match="bits of each person's ill"):
            remembered(plan, fits, tables | {"bank": kept}, memory)
    others = np.random.default_rng(7).permuted(np.array([ILL, INCOME]), axis=1)
    kept = tables["bank"].append_column("ill", [others[0]]).append_column("income", [others[1]])
    remembered(plan, fits, tables | {"bank": kept}, memory)


def test_a_prediction_is_written_down_before_it_is_sent(tmp_path):
    """Cut off at the first part, it counts like one that arrived."""
    memory, answers = tmp_path / "runs", {"ill": ILL, "income": INCOME}
    first, second = (fitted_on(answers, {"ill": sign, "income": 0.5}, seed=2) for sign in (0.7, -0.7))
    plan, fits, tables = first

    def run(name, links):
        send = links["shop"].send if name == "bank" else None

        def fail(message):
            if isinstance(message, MaskedPart):
                raise OSError("the power failed")
            send(message)

        if name == "bank":
            links["shop"].send = fail
        return predict_together(links, plan, fits[name], tables[name], receiver="shop", memory=tmp_path / name)

    with pytest.raises(OSError, match="power"):
        side_by_side(["bank", "shop"], run)
    (tmp_path / "bank").rename(memory)
    with pytest.raises(GuardError, match="person's ill"):
        remembered(*second, memory)
