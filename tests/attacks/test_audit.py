"""The audit itself under attack: honest releases pass, tampered ones fail."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.release.release import Release

VALUES = list("abcdefgh")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 600
    return pa.table(
        {
            "job": np.array(VALUES)[np.minimum(rng.geometric(0.35, n) - 1, 7)],
            "town": np.array(VALUES)[rng.integers(0, 8, n)],
            "age": np.clip(rng.normal(45, 15, n), 0, 99).astype(int),
        }
    )


@pytest.fixture(scope="module")
def schema():
    return kk.Schema([kk.Categorical("job", VALUES), kk.Categorical("town", VALUES), kk.Numeric("age", 0, 99, step=1)])


def weakened(plan, factor):
    """The plan with every mechanism's ε multiplied."""
    budget = 2 * plan.epsilon / 3 * factor
    mechanisms = {
        "job": kk.RetentionReplacement.for_swap_cost(8, budget),
        "town": kk.RetentionReplacement.for_swap_cost(8, budget),
        "age": kk.BoundedLaplace.for_swap_cost(100, 1, budget),
    }
    return replace(plan, mechanisms=mechanisms)


@pytest.mark.parametrize("k", [2, 5, 20])
@pytest.mark.parametrize("calibration", ["worst case", "data-dependent"])
def test_an_honest_release_passes_and_nobody_is_linked_above_the_promise(people, schema, k, calibration):
    basis = {"n": people.num_rows} if calibration == "worst case" else {"data": people}
    outcome = kk.audit(people, kk.perturb(people, kk.calibrate(schema, k=k, **basis)))
    assert outcome.passed, outcome.problems
    assert outcome.worst_posterior <= outcome.certified <= outcome.bound * (1 + 1e-9) == pytest.approx(1 / k)
    assert abs(outcome.weakness) < 6
    assert outcome.before.uniques > 0.2


def test_a_manifest_with_parameters_too_weak_fails(people, schema):
    weak = weakened(kk.calibrate(schema, n=600, k=5), 6)
    release = Release(kk.perturb(people, weak).table, replace(kk.perturb(people, weak).manifest, plan=weak))
    outcome = kk.audit(people, release)
    assert not outcome.passed
    assert any("too weak" in problem for problem in outcome.problems)
    assert outcome.certified > outcome.bound


def test_a_release_drawn_with_less_noise_than_its_manifest_says_fails(people, schema):
    honest = kk.calibrate(schema, n=600, k=5)
    drawn = kk.perturb(people, weakened(honest, 6))
    outcome = kk.audit(people, Release(drawn.table, replace(drawn.manifest, plan=honest)))
    assert not outcome.passed
    assert any("closer to the originals" in problem for problem in outcome.problems)


def test_originals_passed_off_as_a_release_fail(people, schema):
    honest = kk.calibrate(schema, n=600, k=5)
    manifest = kk.perturb(people, honest).manifest
    assert not kk.audit(people, Release(people, manifest)).passed


def test_a_release_in_its_original_order_fails_and_its_links_are_counted(people, schema):
    plan = weakened(kk.calibrate(schema, n=600, k=5), 40)
    drawn = kk.perturb(people, plan, shuffle=False)
    outcome = kk.audit(people, drawn)
    assert any("original order" in problem for problem in outcome.problems)
    assert min(outcome.linked, outcome.linked_one_to_one) > 1.5 * outcome.bound


def test_a_seeded_release_fails(people, schema):
    with pytest.warns(kk.NotForPublicationWarning):
        release = kk.perturb(people, kk.calibrate(schema, n=600, k=5), seed=1)
    assert any("seed" in problem for problem in kk.audit(people, release).problems)


def test_on_a_handful_of_records_the_posterior_is_exact(schema):
    few = pa.table({"job": ["a", "b", "a", "c"], "town": ["a", "a", "h", "b"], "age": [20, 30, 40, 50]})
    outcome = kk.audit(few, kk.perturb(few, kk.calibrate(schema, n=4, k=2)))
    assert outcome.is_exact
    assert outcome.worst_posterior <= outcome.certified <= 0.5 + 1e-9


def test_a_table_too_large_to_attack_whole_is_attacked_in_part(people, schema, monkeypatch):
    monkeypatch.setattr("kakuran.release.linkage_audit._PAIRS", 600 * 100)
    outcome = kk.audit(people, kk.perturb(people, kk.calibrate(schema, n=600, k=5)))
    assert (outcome.attacked, outcome.n, outcome.linked_one_to_one) == (100, 600, None)
    assert outcome.passed


def test_tables_that_do_not_belong_together_are_refused(people, schema):
    release = kk.perturb(people, kk.calibrate(schema, n=600, k=5))
    with pytest.raises(kk.ReleaseError, match="do not belong together"):
        kk.audit(people.slice(0, 599), release)


def test_the_picture_shows_the_promise_and_the_risk_before(people, schema):
    figure = kk.audit(people, kk.perturb(people, kk.calibrate(schema, n=600, k=5))).plot()
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "promised: 1/k = 0.2" in labels
    assert any(label.startswith("before, at worst") for label in labels)
