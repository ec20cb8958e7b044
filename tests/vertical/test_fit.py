"""Fitting together equals fitting the pooled table."""

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.errors import DataError, LeakageWarning
from kakuran.vertical import VerticalFit, VerticalPlan, fit_vertically

from .companies import Companies, companies
from .pooled import backward, pooled_ols, tables

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")


def fitted(case):
    """Both parties' fits, without the warning the residual protocol starts with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakageWarning)
        return fit_vertically(case.frames, case.plan)


def check_equals_pooled(case, fits, tolerance, *, ranking="exact", least=2, forced=()):
    """Same variables, coefficients, standard errors, t, AIC, intercept as statsmodels on the pooled table."""
    chosen = backward(case.X, case.y, case.owners, ranking=ranking, least=least, forced=forced)
    pooled = pooled_ols(case.X[:, chosen], case.y)
    alice, bob = fits["alice"], fits["bob"]
    assert list(alice.chosen) == list(bob.chosen) == [case.columns[j] for j in chosen]
    own = {**alice.own, **bob.own}
    size = np.abs(pooled.params[1:]).max()
    for at, name in enumerate(alice.chosen, start=1):
        assert own[name].coefficient == pytest.approx(pooled.params[at], rel=tolerance, abs=tolerance * size)
        assert own[name].standard_error == pytest.approx(pooled.bse[at], rel=tolerance)
        low, high = pooled.conf_int(1 - DEFAULT_LEVEL)[at]
        width = high - low
        assert own[name].low == pytest.approx(low, abs=tolerance * (width + size))
        assert own[name].high == pytest.approx(high, abs=tolerance * (width + size))
    for fit in (alice, bob):
        scale = np.abs(pooled.tvalues).max()
        np.testing.assert_allclose(fit.inference.t, pooled.tvalues[1:], rtol=tolerance, atol=tolerance * scale)
        assert fit.quality.aic == pytest.approx(pooled.aic + 2, rel=tolerance)
        assert fit.quality.r_squared == pytest.approx(pooled.rsquared, rel=tolerance)
        assert fit.intercept == pytest.approx(pooled.params[0], rel=tolerance, abs=tolerance * size)


def test_the_level_asked_for_changes_intervals_alone_and_is_remembered(tmp_path):
    case = companies(80, 3, 4, 0.5)
    wide, narrow = (fit_vertically(case.frames, case.plan, level=level)["alice"] for level in (0.99, 0.5))
    np.testing.assert_allclose(wide.inference.coefficients, narrow.inference.coefficients)
    assert (wide.inference.low < narrow.inference.low).all()
    assert "50% interval" in narrow.report()
    narrow.save(tmp_path / "fit.json")
    read = VerticalFit.load(tmp_path / "fit.json")
    np.testing.assert_allclose(read.inference.high, narrow.inference.high)
    assert all(own.low < wide.own[name].high for name, own in narrow.own.items())
    with pytest.raises(kk.ArgumentError, match="level must lie between 0 and 1, got 95"):
        fit_vertically(case.frames, case.plan, level=95)


@pytest.mark.parametrize("correlation", [0.0, 0.9, 0.99])
@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("ranking", ["s2", "exact"])
def test_residual_equals_pooled_least_squares_to_six_digits(correlation, accelerated, ranking):
    case = companies(80, 3, 4, correlation, protocol="residual", accelerated=accelerated, ranking=ranking)
    check_equals_pooled(case, fitted(case), 1e-6, ranking=ranking)


@pytest.mark.parametrize("seed", range(3))
def test_gram_equals_pooled_least_squares_to_four_digits(seed):
    case = companies(150, 5, 6, 0.9, seed=seed, noise=3.0)
    check_equals_pooled(case, fitted(case), 1e-4)


def ill_conditioned(condition, seed=4, records=150, p=3, q=3):
    """A pooled table whose standardised columns have about this condition number."""
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.normal(size=(records, p + q)) - 0.0)
    basis -= basis.mean(axis=0)
    mix, _ = np.linalg.qr(rng.normal(size=(p + q, p + q)))
    X = np.sqrt(records) * (basis * np.geomspace(1, 1 / condition, p + q)) @ mix.T
    X = X / X.std(axis=0)
    y = X @ rng.normal(size=p + q) + 0.5 * rng.normal(size=records)
    return X[:, :p], X[:, p:], y


@pytest.mark.parametrize(("condition", "tolerance"), [(1e2, 1e-4), (1e3, 1e-4)])
def test_gram_keeps_four_digits_at_condition_numbers_up_to_a_thousand(condition, tolerance):
    case = Companies(*ill_conditioned(condition), search="none")
    fits = fit_vertically(case.frames, case.plan)
    pooled = pooled_ols(case.X, case.y)
    own = {**fits["alice"].own, **fits["bob"].own}
    found = np.array([own[name].coefficient for name in case.columns])
    errors = np.array([own[name].standard_error for name in case.columns])
    assert fits["alice"].quality.condition == pytest.approx(condition, rel=0.5)
    assert np.linalg.norm(found - pooled.params[1:]) <= tolerance * np.linalg.norm(pooled.params[1:])
    np.testing.assert_allclose(errors, pooled.bse[1:], rtol=tolerance)


@pytest.mark.parametrize("condition", [10, 1e3, 1e5])
def test_gram_says_how_many_digits_are_left_and_keeps_its_word(condition):
    case = Companies(*ill_conditioned(condition), search="none")
    fits = fit_vertically(case.frames, case.plan)
    pooled = pooled_ols(case.X, case.y)
    own = {**fits["alice"].own, **fits["bob"].own}
    found = np.array([own[name].coefficient for name in case.columns])
    error = np.linalg.norm(found - pooled.params[1:]) / np.linalg.norm(pooled.params[1:])
    assert error <= 10.0 ** -fits["alice"].quality.digits
    assert fits["alice"].quality.digits >= 6 - np.log10(condition)


@pytest.mark.parametrize("protocol", ["gram", "residual"])
def test_forced_columns_stay_and_every_party_keeps_its_least(protocol):
    case = companies(80, 4, 4, 0.3, noise=30.0, protocol=protocol, forced=("a1", "b3"), least=1)
    check_equals_pooled(case, fitted(case), 1e-4, least=1, forced=(1, 7))


@pytest.mark.parametrize(
    "settings",
    [
        {"protocol": "gram"},
        {"protocol": "residual"},
        {"protocol": "residual", "ranking": "s2"},
        {"protocol": "residual", "accelerated": False},
    ],
)
@pytest.mark.parametrize(("useless", "seed"), [("alice", 1), ("bob", 0)])
def test_a_party_may_lose_all_its_columns(useless, seed, settings):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(200, 2)), rng.normal(size=(200, 2))
    y = (B if useless == "alice" else A) @ [1.0, 2.0] + rng.normal(size=200)
    case = Companies(A, B, y, least=0, **settings)
    fits = fitted(case)
    check_equals_pooled(case, fits, 1e-4, least=0, ranking=case.plan.ranking)
    assert not fits[useless].own


@pytest.mark.parametrize(("search", "criterion"), [("forward", "bic"), ("both", "aicc"), ("backward", "aicc")])
def test_other_searches_and_criteria_agree_between_the_parties(search, criterion):
    case = companies(80, 4, 4, 0.6, noise=5.0, search=search, criterion=criterion)
    fits = fitted(case)
    assert fits["alice"].chosen == fits["bob"].chosen
    assert [s.column for s in fits["alice"].selection.steps] == [s.column for s in fits["bob"].selection.steps]


@pytest.mark.parametrize("protocol", ["gram", "residual"])
def test_a_fit_without_intercept_equals_the_pooled_one(protocol):
    case = companies(80, 3, 3, 0.5, shift=0.5, intercept=False, search="none", protocol=protocol)
    fits = fitted(case)
    pooled = pooled_ols(case.X, case.y, intercept=False)
    own = {**fits["alice"].own, **fits["bob"].own}
    np.testing.assert_allclose([own[n].coefficient for n in case.columns], pooled.params, rtol=1e-5)
    np.testing.assert_allclose([own[n].standard_error for n in case.columns], pooled.bse, rtol=1e-5)
    assert fits["alice"].intercept is None


def test_three_parties_fit_as_one():
    A, B, y = tables(250, 6, 3, 0.8)
    case = Companies(A, B, y)
    frame = case.frames["alice"]
    frames = {
        "alice": frame.select(["id", "a0", "a1"]),
        "carol": frame.select(["id", "a2", "a3", "a4", "a5"]).slice(2),
        "bob": case.frames["bob"],
    }
    plan = VerticalPlan.of({"alice": case.a[:2], "carol": case.a[2:], "bob": case.b}, target="y", holder="bob", least=1)
    fits = fit_vertically(frames, plan)
    shared = set(frames["carol"]["id"].to_pylist()) & set(frames["bob"]["id"].to_pylist())
    assert {fit.quality.records for fit in fits.values()} == {len(shared)}
    both = frames["carol"].join(frames["alice"], "id", join_type="inner").join(frames["bob"], "id", join_type="inner")
    X = np.column_stack([both[name].to_numpy() for name in plan.columns])
    owners = list(plan.owners)
    chosen = backward(X, both["y"].to_numpy(), owners, least=1)
    assert all(list(fit.chosen) == [plan.columns[j] for j in chosen] for fit in fits.values())
    pooled = pooled_ols(X[:, chosen], both["y"].to_numpy())
    own = {name: held.coefficient for fit in fits.values() for name, held in fit.own.items()}
    np.testing.assert_allclose([own[n] for n in fits["bob"].chosen], pooled.params[1:], rtol=1e-4)
    assert fits["carol"].intercept == pytest.approx(pooled.params[0], rel=1e-4)


def test_pandas_and_polars_frames_give_the_same_fit():
    import polars as pl

    case = companies(60, 2, 2, search="none")
    fit = fitted(case)["alice"]
    arrow = fit.inference.coefficients
    drawn = [bar.get_width() for bar in fit.plot().axes[0].patches]
    np.testing.assert_allclose(sorted(drawn), sorted(arrow))  # one step is no path: its coefficients are shown
    case.frames = {"alice": case.frames["alice"].to_pandas(), "bob": pl.from_arrow(case.frames["bob"])}
    np.testing.assert_allclose(fitted(case)["alice"].inference.coefficients, arrow, rtol=1e-12)


def test_the_target_of_gram_stays_with_its_holder_and_that_of_residual_does_not():
    for protocol, is_told in (("gram", False), ("residual", True)):
        fits = fitted(companies(60, 2, 2, protocol=protocol))
        kinds = {kind for _, kind, _, _ in fits["alice"].transcripts[0]["messages"]}
        assert ("Target" in kinds) == is_told
        assert fits["alice"].target_mean is None
        assert fits["bob"].target_mean is not None


def test_both_sides_hold_the_same_transcript():
    fits = fitted(companies(60, 2, 2))
    ours, theirs = (fits[name].transcripts[0]["messages"] for name in ("alice", "bob"))
    swapped = {"sent": "received", "received": "sent"}
    assert sorted((swapped[d], *rest) for d, *rest in ours) == sorted((d, *rest) for d, *rest in theirs)
    assert len(ours) > 5


def test_residual_warns_of_what_it_reveals():
    case = companies(60, 2, 2, protocol="residual")
    with pytest.warns(LeakageWarning, match="who knows a few of our records can then compute all of them"):
        fit_vertically(case.frames, case.plan)


def test_a_fit_survives_being_saved(tmp_path):
    fit = fitted(companies(60, 3, 2))["alice"]
    fit.save(tmp_path / "alice.json")
    assert VerticalFit.load(tmp_path / "alice.json").to_dict() == fit.to_dict()
    assert (tmp_path / "alice.json").stat().st_mode & 0o077 == 0
    with pytest.raises(kk.ReleaseError, match="exists already"):
        fit.save(tmp_path / "alice.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(kk.ProtocolError, match="not a fit"):
        VerticalFit.load(tmp_path / "bad.json")


def test_the_report_stands_alone_and_shows_path_meter_and_transcript():
    page = fitted(companies(60, 3, 2))["alice"].report()
    assert "Selection path" in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert "could have learned" in page
    assert "EncryptionKey" in page
    assert page.count('src="') == 1
    assert "default-src 'none'" in page


@pytest.mark.parametrize("protocol", ["gram", "residual"])
def test_the_report_is_japanese_when_asked_but_for_names_and_digests(protocol, english_on):
    for fit in fitted(companies(60, 3, 2, protocol=protocol)).values():
        fit = replace(fit, exposure=replace(fit.exposure, pinned_down=tuple(fit.own)))
        kinds, digests = zip(*(message[1::2] for one in fit.transcripts for message in one["messages"]), strict=True)
        assert english_on(fit.report("ja"), "alice", "bob", "1e-9", fit.fingerprint, *kinds, *digests) == set()


@pytest.mark.parametrize("protocol", ["gram", "residual"])
def test_a_column_the_two_tables_share_is_refused_by_name(protocol):
    A, B, y = tables(200, 3, 3)
    B[:, 2] = 5 - 2 * A[:, 0]
    case = Companies(A, B, y, protocol=protocol)
    with pytest.raises(DataError, match=r"column '(a0|b2)': is a combination of other columns"):
        fitted(case)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda t: t.set_column(1, "a0", pa.array(["x"] * t.num_rows)),
            "'a0': is string, not numbers. Code categories",
        ),
        (lambda t: t.set_column(1, "a0", pa.array(["3,5"] * t.num_rows)), "'a0': is .* CSV file: --decimal \",\""),
        (lambda t: t.set_column(1, "a0", pa.array([None] * t.num_rows, pa.float64())), "missing values"),
        (lambda t: t.set_column(1, "a0", pa.array([np.inf] * t.num_rows)), "infinite"),
        (lambda t: t.set_column(1, "a0", pa.array([1.0] * t.num_rows)), "same for all shared records"),
        (lambda t: t.drop_columns(["a0"]), "in the plan but not in the data"),
        (lambda t: t.drop_columns(["id"]), "column of ids"),
    ],
)
def test_columns_that_cannot_be_used_are_refused_by_name(change, words):
    case = companies(60, 2, 2)
    case.frames["alice"] = change(case.frames["alice"])
    with pytest.raises(DataError, match=words):
        fitted(case)
