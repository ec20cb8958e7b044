"""Records of the joint model, weighed as the tells have it, and how much of the model stays among them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers.formula import FormulaColumns, ModelFormula
from kakuran.answers.groups import told_cells
from kakuran.answers.reader import model_cells
from kakuran.answers.tilted import TiltedRecords
from kakuran.model import moments_of

N = 6_000


@pytest.fixture(scope="module")
def release():
    """Two smiths among thousands, of whom nobody is ill."""
    dice = np.random.default_rng(3)
    job = np.where(np.arange(N) < 2, "smith", np.array(["clerk", "nurse"])[dice.integers(0, 2, N)])
    ill = np.where(dice.random(N) < np.where(job == "nurse", 0.6, 0.0), "yes", "no")
    people = pa.table({"age": dice.integers(20, 61, N), "job": job, "ill": ill})
    schema = kk.Schema(
        [
            kk.Numeric("age", 20, 60, step=1),
            kk.Categorical("job", ["clerk", "nurse", "smith"]),
            kk.Categorical("ill", ["no", "yes"]),
        ]
    )
    return kk.perturb(people, kk.calibrate(schema, n=N, k=10, tell=2))


@pytest.fixture(scope="module")
def asked(release):
    read = ModelFormula.of("ill ~ age + job", release.plan.schema)
    columns = FormulaColumns.of(release.reader, read)
    joint = release.reader.joint([model_cells(release.plan, attribute.name) for attribute in read.columns])
    moments = moments_of(told_cells(release.reader, columns.cells, int), columns.bases, N, order=2, smooth=True)
    return joint, (read.columns, columns.cells, columns.bases), moments


@pytest.fixture(scope="module")
def records(release, asked):
    joint, columns, moments = asked
    return TiltedRecords.of(release.reader, joint, *columns, moments)


def test_some_records_are_drawn_of_every_category_and_weigh_what_the_model_says(asked, records):
    joint = asked[0]
    place = [axis.name for axis in joint.axes].index("job")
    assert np.bincount(records.codes["job"], minlength=3).min() >= 32
    found = np.bincount(records.codes["job"], records.model, 3)
    # Shares of 16,384 records: 0.02 are five standard deviations, once in 10⁶ runs.
    np.testing.assert_allclose(found, joint.model.table([place]), atol=0.02)


def test_what_the_model_has_stays_possible_however_sure_tells_seem(release, asked, records):
    joint, columns, moments = asked
    unsure = replace(moments, covariance=100 * moments.covariance)
    vague = TiltedRecords.of(release.reader, joint, *columns, unsure)
    kept = [float((one.beside_the_model().weights / one.model).min()) for one in (records, vague)]
    assert 0.005 < kept[0] < 0.7 < kept[1]  # of 40 draws between 0.11 and 0.35, and from 0.99 on
    assert records.beside_the_model().weights.sum() == pytest.approx(1)


def test_for_what_is_curved_unsure_tells_still_say_how_strongly_columns_go_together(release, asked, records):
    joint, columns, moments = asked
    model = records.model @ records.functions
    single = {name: value for name, value in zip(moments.names, model, strict=True) if np.count_nonzero(name) == 1}
    independent = [
        np.prod([single[tuple(np.where(np.arange(3) == axis, name, 0))] for axis in np.flatnonzero(name)])
        for name in moments.names
    ]
    weaker = (independent - model) / 2
    told = replace(moments, values=model + weaker, covariance=10 * moments.covariance)
    precision = np.linalg.pinv(moments.covariance) @ weaker

    def follows(*, is_curved):
        found = TiltedRecords.of(release.reader, joint, *columns, told, is_curved=is_curved)
        return (found.weights @ found.functions - model) @ precision / (weaker @ precision)

    # Of three draws 0.45 … 0.54 and 0.64 … 0.72.
    assert follows(is_curved=False) + 0.05 < follows(is_curved=True) < 1


def test_a_category_that_hardly_anybody_has_is_no_law(release):
    found = release.regress("ill ~ age + job")
    assert np.abs(found.coefficients).max() < 12
    assert found.errors[0, found.names.index("job[T.smith]")] > 0.5
