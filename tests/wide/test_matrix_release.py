"""The release of a wide table."""

import json
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

import kakuran as kk
from kakuran.audit import mean_absolute_loss
from kakuran.wide import matrix_release as release, release_matrix


def classes_of(matrix):
    return Counter(map(bytes, np.asarray(matrix.toarray())))


@pytest.mark.parametrize(("rank", "most"), [(3, 0.0105), (5, 0.0108), (10, 0.0113), (20, 0.0117)])
def test_s1s_kind_of_matrix_loses_little_more_than_its_flips(planted, rank, most):
    losses = [release_matrix(planted(rank, seed)[0], 10, rank=rank).losses for seed in range(2)]
    for found in losses:
        assert found["aggregate"] < min(found["empty"], found["microaggregation"], found["perturb"])
    assert np.mean([found["aggregate"] for found in losses]) <= most


@pytest.mark.parametrize("kind", ["binary", "counts"])
def test_every_released_row_is_shared_by_at_least_k_people(kind, planted):
    X = planted(5, 0, rows=300, columns=80)[0]
    if kind == "counts":
        X = X.astype(float) * 3
    released = release_matrix(X, 7, kind=kind, protect="aggregate")
    assert min(classes_of(released.matrix).values()) >= 7
    assert released.manifest["smallest_class"] >= 7


def test_a_whole_k_is_one_however_it_is_written():
    X = np.kron(np.eye(3, dtype=int), np.ones((20, 4), int))
    released = release_matrix(X, np.float64(10), rank=3)
    assert json.loads(json.dumps(released.manifest))["k"] == 10


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.float32])
@pytest.mark.parametrize("protect", ["aggregate", "perturb"])
def test_counts_in_few_bits_are_counts_all_the_same(dtype, protect):
    X = np.kron(np.eye(3, dtype=int), np.full((20, 4), 100)).astype(dtype)
    wide = release_matrix(X.astype(float), 5, kind="counts", rank=3, protect=protect)
    narrow = release_matrix(csr_array(X), 5, kind="counts", rank=3, protect=protect)
    assert narrow.losses["microaggregation"] == pytest.approx(wide.losses["microaggregation"])
    assert narrow.losses["empty"] == pytest.approx(X.astype(float).mean())


def test_auto_takes_what_loses_less_and_shows_what_else_there_was(planted):
    X, *_ = planted(5, 1, rows=400, columns=200)
    released = release_matrix(X, 5)
    assert set(released.losses) == {"empty", "microaggregation", "aggregate", "perturb"}
    assert released.loss == min(released.losses["aggregate"], released.losses["perturb"])
    assert released.losses["empty"] == pytest.approx(X.mean())


def test_the_loss_is_that_of_the_released_matrix(planted):
    X, *_ = planted(5, 1, rows=400, columns=200)
    for protect in ("aggregate", "perturb"):
        released = release_matrix(X, 5, protect=protect, shuffle=False)
        assert mean_absolute_loss(X, released.matrix) == pytest.approx(released.loss)


def test_rows_come_in_an_order_of_their_own(planted):
    X, *_ = planted(5, 1, rows=400, columns=200)
    with pytest.warns(kk.NotForPublicationWarning):
        kept, shuffled = (release_matrix(X, 5, protect="aggregate", seed=1, shuffle=one) for one in (False, True))
    assert classes_of(kept.matrix) == classes_of(shuffled.matrix)
    assert (kept.matrix != shuffled.matrix).sum() > 0
    assert shuffled.manifest["order"] == "shuffled"
    assert not shuffled.manifest["for_publication"]


def test_the_manifest_says_what_is_needed_and_nothing_of_the_originals(planted):
    X, *_ = planted(5, 1, rows=400, columns=200)
    aggregated, perturbed = (release_matrix(X, 5, protect=protect).manifest for protect in ("aggregate", "perturb"))
    for manifest in (aggregated, perturbed):
        assert json.loads(json.dumps(manifest)) == manifest
        assert (manifest["k"], manifest["rows"], manifest["columns"]) == (5, 400, 200)
        assert manifest["for_publication"]
        assert not {"seed", "losses", "loss"} & set(manifest)
    assert perturbed["plan"]["calibration"] == "worst-case"


def test_counts_are_released_below_empty_and_plain_microaggregation():
    rng = np.random.default_rng(0)
    X = csr_array(rng.poisson(rng.gamma(0.2, 2, (500, 3)) @ rng.gamma(0.3, 1, (3, 60))).astype(float))
    released = release_matrix(X, 5, kind="counts")
    assert issparse(released.matrix)
    assert released.loss < released.losses["empty"]
    assert released.loss <= released.losses["microaggregation"]


def test_many_rows_take_the_way_of_blocks(planted, monkeypatch):
    X, *_ = planted(5, 1, rows=2500, columns=100)
    monkeypatch.setattr(release, "MANY_ROWS", 1000)
    released = release_matrix(X, 10, rank=5)
    assert released.loss < released.losses["empty"]


def test_a_class_that_came_out_too_small_stops_the_release(planted, monkeypatch):
    X, *_ = planted(3, 1, rows=200, columns=100)
    monkeypatch.setattr(release, "aggregate_bits", lambda *_: np.arange(200))
    with pytest.raises(kk.ReleaseError, match="nothing is released"):
        release_matrix(X, 5, rank=3)


@pytest.mark.parametrize("kind", ["binary", "counts"])
def test_a_matrix_without_a_single_one_is_released_as_it_is(kind):
    released = release_matrix(np.zeros((30, 12)), 5, rank=2, kind=kind)
    assert released.loss == 0
    assert released.matrix.nnz == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"k": 1}, "k=1 hides nobody"),
        ({"k": 31}, "more than the 30 records"),
        ({"kind": "ratings"}, "kind must be one of binary, counts"),
        ({"protect": "noise"}, "protect must be one of"),
        ({"calibration": "none"}, "calibration must be one of"),
        ({"rank": 12}, "from 1 to 11"),
    ],
)
def test_what_cannot_be_promised_is_refused(options, problem):
    with pytest.raises(kk.CalibrationError, match=problem):
        release_matrix(np.eye(30, 12), **({"k": 5} | options))


def test_a_table_too_small_to_hide_entries_of_is_released():
    released = release_matrix(np.array([[1, 1], [1, 0], [0, 1]]), 2)
    assert released.matrix.shape == (3, 2)


def test_one_column_has_no_patterns_to_release():
    with pytest.raises(
        kk.CalibrationError,
        match=r"a 30 × 1 matrix has no factors, .* release a single column with perturb or microaggregate",
    ):
        release_matrix(np.ones((30, 1)), 5)


def test_the_estimator_releases_what_the_function_does(planted):
    X, *_ = planted(3, 1, rows=200, columns=100)
    estimator = kk.MatrixRelease(k=5, rank=3)
    matrix = estimator.fit_transform(X)
    assert min(classes_of(matrix).values()) >= 5
    assert estimator.loss_ == estimator.losses_[estimator.manifest_["protect"]]
