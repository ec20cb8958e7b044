"""The audit itself under attack: honest releases pass, tampered ones fail."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

import kakuran as kk
from kakuran.design import Tell
from kakuran.mechanism import Apart
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.release import Manifest
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
    return replace(plan, tells=(Tell(Apart(mechanisms), 1.0),))


def drawn(people, plan, claimed=None, *, shuffle=True, order="shuffled"):
    """A release drawn by one plan that claims another, past all the checks that would refuse it."""
    dice = Randomness.secure()
    kernel = Kernel(plan)
    codes = kernel.sample(plan.schema.encode(people), dice)
    rows = dice.permutation(people.num_rows) if shuffle else np.arange(people.num_rows)
    table = pa.Table.from_batches([kernel.decode({name: column[rows] for name, column in codes.items()})])
    return Release(table, Manifest(claimed or plan, people.num_rows, order, seeded=False))


@pytest.mark.parametrize("k", [2, 5, 20])
@pytest.mark.parametrize("calibration", ["worst case", "data-dependent"])
def test_an_honest_release_passes_and_nobody_is_linked_above_the_promise(people, schema, k, calibration):
    basis = {"n": people.num_rows} if calibration == "worst case" else {"data": people, "calibration": calibration}
    outcome = kk.audit(people, kk.perturb(people, kk.calibrate(schema, k=k, **basis)))
    assert outcome.passed, outcome.problems
    assert outcome.worst_posterior <= outcome.certified <= outcome.bound * (1 + 1e-9) == pytest.approx(1 / k)
    assert abs(outcome.weakness) < 6
    assert outcome.closeness < 1
    assert abs(outcome.alignment) < 6
    assert outcome.before.uniques > 0.2


def test_a_manifest_with_parameters_too_weak_fails(people, schema):
    weak = weakened(kk.calibrate(schema, n=600, k=5, tell="all"), 6)
    outcome = kk.audit(people, drawn(people, weak))
    assert not outcome.passed
    assert any("too weak" in problem for problem in outcome.problems)
    assert outcome.certified > outcome.bound


def test_a_release_drawn_with_less_noise_than_its_manifest_says_fails(people, schema):
    honest = kk.calibrate(schema, n=600, k=5, tell="all")
    outcome = kk.audit(people, drawn(people, weakened(honest, 6), honest))
    assert not outcome.passed
    assert any("closer to the originals" in problem for problem in outcome.problems)


def test_originals_passed_off_as_a_release_fail(people, schema):
    honest = kk.calibrate(schema, n=600, k=5, tell="all")
    manifest = kk.perturb(people, honest).manifest
    assert not kk.audit(people, Release(people, manifest)).passed


def test_originals_fail_even_where_all_records_are_equally_likely():
    schema = kk.Schema([kk.Categorical("job", VALUES), kk.Categorical("town", VALUES)])
    grid = np.array([[job, town] for job in VALUES for town in VALUES] * 10)
    people = pa.table({"job": grid[:, 0], "town": grid[:, 1]})
    manifest = kk.perturb(people, kk.calibrate(schema, n=640, k=20, tell="all")).manifest
    assert not kk.audit(people, Release(people, manifest)).passed


def test_a_release_that_says_shuffled_but_is_not_fails(people, schema):
    everybody = pa.concat_tables([people] * 5)
    plan = kk.calibrate(schema, n=3000, k=5, tell="all")
    outcome = kk.audit(everybody, drawn(everybody, plan, shuffle=False))
    assert any("although it says shuffled" in problem for problem in outcome.problems)


def test_a_record_that_nobody_could_have_fails(people):
    schema = kk.Schema([kk.Categorical("job", VALUES, role="keep"), kk.Categorical("town", VALUES), kk.Dropped("age")])
    few = people.filter(pa.compute.is_in(people["job"], pa.array(["a", "b"])))
    release = kk.perturb(few, kk.calibrate(schema, n=100, k=5, tell="all"))
    strange = release.table.set_column(0, "job", pa.array(["h", *release.table["job"].to_pylist()[1:]]))
    outcome = kk.audit(few, Release(strange, release.manifest))
    assert any("cannot come from this original" in problem for problem in outcome.problems)


def test_a_release_in_its_original_order_fails_and_its_links_are_counted(people, schema):
    plan = weakened(kk.calibrate(schema, n=600, k=5, tell="all"), 40)
    outcome = kk.audit(people, drawn(people, plan, shuffle=False, order="kept"))
    assert any("original order" in problem for problem in outcome.problems)
    assert min(outcome.linked, outcome.linked_one_to_one) > 1.5 * outcome.bound


def test_a_seeded_release_fails(people, schema):
    with pytest.warns(kk.NotForPublicationWarning):
        release = kk.perturb(people, kk.calibrate(schema, n=600, k=5, tell="all"), seed=1)
    assert any("seed" in problem for problem in kk.audit(people, release).problems)


def test_on_a_handful_of_records_the_posterior_is_exact(schema):
    few = pa.table({"job": ["a", "b", "a", "c"], "town": ["a", "a", "h", "b"], "age": [20, 30, 40, 50]})
    outcome = kk.audit(few, kk.perturb(few, kk.calibrate(schema, n=4, k=2, tell="all")))
    assert outcome.is_exact
    assert outcome.worst_posterior <= outcome.certified <= 0.5 + 1e-9


def test_a_table_too_large_to_attack_whole_is_attacked_in_part(people, schema):
    release = kk.perturb(people, kk.calibrate(schema, n=600, k=5, tell="all"))
    outcome = kk.audit(people, release, most_pairs=600 * 100)
    assert (outcome.attacked, outcome.n, outcome.linked_one_to_one) == (100, 600, None)
    assert outcome.passed


def test_tables_that_do_not_belong_together_are_refused(people, schema):
    release = kk.perturb(people, kk.calibrate(schema, n=600, k=5, tell="all"))
    with pytest.raises(kk.ReleaseError, match="do not belong together"):
        kk.audit(people.slice(0, 599), release)


def test_the_picture_shows_the_promise_and_the_risk_before(people, schema):
    figure = kk.audit(people, kk.perturb(people, kk.calibrate(schema, n=600, k=5, tell="all"))).plot()
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "promised: 1/k = 0.2" in labels
    assert any(label.startswith("before, at worst") for label in labels)
