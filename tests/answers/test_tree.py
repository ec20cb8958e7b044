from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kakuran as kk
from kakuran.answers import Growth, fit_naive_bayes, grow_tree
from kakuran.answers.tree.counts import LatentCounts, PathCounts
from kakuran.mechanism import UniformMixture
from kakuran.model import latent_records
from kakuran.model.latent_records import PlacedRecords, average, fit_latent_classes

GROWTH = Growth((False, True, False, False, False), "entropy", max_depth=3, min_support=20)


def people(n, rng):
    """Ill if old and smoking, or if in job 2; sex does not matter."""
    age, smokes, job, sex = rng.integers(0, 8, n), rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    ill = ((age >= 5) & (smokes == 1)) | (job == 2)
    return [(ill ^ (rng.random(n) < 0.05)).astype(np.intp), age, smokes, job, sex], (2, 8, 2, 3, 2)


def perturbed(columns, sizes, retention, rng):
    drawn = [
        np.where(rng.random(len(column)) < retention, column, rng.integers(0, size, len(column)))
        for column, size in zip(columns, sizes, strict=True)
    ]
    transitions = tuple(UniformMixture(retention, np.full(size, 1 / size)) for size in sizes)
    distinct, counts = np.unique(np.ravel_multi_index(drawn, sizes), return_counts=True)
    return PlacedRecords(np.unravel_index(distinct, sizes), counts.astype(float), transitions, sizes)


def clean(columns, sizes):
    return PlacedRecords(tuple(columns), np.ones(len(columns[0])), (None,) * len(sizes), sizes)


@pytest.mark.parametrize("method", ["auto", "ibt", "inverse"])
def test_a_tree_from_perturbed_records_predicts_clean_ones(method):
    rng = np.random.default_rng(0)
    columns, sizes = people(12_000, rng)
    grown = grow_tree(perturbed(columns, sizes, 0.6, rng), GROWTH, method)
    fresh, _ = people(4_000, rng)
    accuracy = (grown.predict(clean(fresh, sizes)).argmax(axis=1) == fresh[0]).mean()
    assert accuracy > 0.9
    assert 4 not in {node.split.axis for node in grown.root.nodes() if node.split}


def test_without_noise_the_tree_is_the_one_plain_counting_gives():
    rng = np.random.default_rng(1)
    columns, sizes = people(5_000, rng)
    exact = grow_tree(clean(columns, sizes), GROWTH, "auto")
    for leaf in exact.root.leaves():
        on = np.all([allowed[column] for allowed, column in zip(leaf.path, columns, strict=True)], axis=0)
        assert leaf.counts == pytest.approx(np.bincount(columns[0][on], minlength=2))


def test_noise_alone_grows_no_tree():
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, size, 5_000) for size in (2, 8, 2, 3, 2)]
    grown = grow_tree(perturbed(columns, (2, 8, 2, 3, 2), 0.4, rng), GROWTH, "auto")
    assert grown.root.children is None


@pytest.mark.parametrize("criterion", ["entropy", "gini", "chi2"])
def test_every_criterion_finds_three_classes(criterion):
    rng = np.random.default_rng(3)
    group = rng.integers(0, 3, 9_000)
    columns = [np.where(rng.random(9_000) < 0.9, group, rng.integers(0, 3, 9_000)), group, rng.integers(0, 4, 9_000)]
    growth = replace(GROWTH, is_ordered=(False,) * 3, criterion=criterion)
    grown = grow_tree(perturbed(columns, (3, 3, 4), 0.5, rng), growth, "auto")
    found = grown.predict(clean([group[:3] * 0, np.arange(3), np.zeros(3, int)], (3, 3, 4)))
    assert found.argmax(axis=1).tolist() == [0, 1, 2]


def test_perturbed_records_are_predicted_with_the_doubt_they_deserve():
    rng = np.random.default_rng(4)
    columns, sizes = people(12_000, rng)
    grown = grow_tree(perturbed(columns, sizes, 0.6, rng), GROWTH, "auto")
    fresh, _ = people(4_000, rng)
    seen = [
        np.where(rng.random(4_000) < 0.6, column, rng.integers(0, size, 4_000))
        for column, size in zip(fresh, sizes, strict=True)
    ]
    transitions = tuple(UniformMixture(0.6, np.full(size, 1 / size)) for size in sizes)
    blurred = grown.predict(PlacedRecords(tuple(seen), np.ones(4_000), transitions, sizes))
    sharp = grown.predict(clean(seen, sizes))
    assert blurred.sum(axis=1) == pytest.approx(np.ones(4_000))
    truth = np.arange(4_000), fresh[0]
    assert np.log(blurred[truth]).mean() > np.log(sharp[truth]).mean()


def test_leaves_share_out_every_record():
    rng = np.random.default_rng(5)
    columns, sizes = people(6_000, rng)
    records = perturbed(columns, sizes, 0.5, rng)
    grown = grow_tree(records, GROWTH, "auto")
    paths = [leaf.path for leaf in grown.root.leaves()]
    assert grown.model.along(records, paths).sum(axis=1) == pytest.approx(np.ones(len(records.weights)))
    assert sum(leaf.counts.sum() for leaf in grown.root.leaves()) == pytest.approx(6_000, rel=1e-6)


def test_latent_classes_find_under_heavy_noise_what_they_would_take_thousands_of_steps_to():
    rng = np.random.default_rng(7)
    group, sizes = rng.integers(0, 2, 30_000), (3, 6, 6, 6, 6, 6)
    columns = [(rng.integers(0, size // 3, len(group)) + (size - size // 3) * group) for size in sizes]
    records = perturbed(columns, sizes, 0.16, rng)
    shares, profiles = average(fit_latent_classes(records))
    truth = np.bincount(columns[0] * 6 + columns[1], minlength=18).reshape(3, 6) / len(group)
    together, apart = (profiles[0] * shares) @ profiles[1].T, np.outer(truth.sum(axis=1), truth.sum(axis=0))
    assert np.abs(together - truth).sum() < 0.6 * np.abs(apart - truth).sum()


def test_both_sources_tell_nearly_the_same_of_a_joint_they_can_both_know():
    rng = np.random.default_rng(6)
    columns, sizes = people(200_000, rng)
    records = perturbed(columns, sizes, 0.7, rng)
    path = [np.ones(size, bool) for size in sizes]
    path[1], path[2] = np.arange(8) >= 5, np.array([False, True])
    truth = np.zeros((2, 3))
    on = (columns[1] >= 5) & (columns[2] == 1)
    np.add.at(truth, (columns[0][on], columns[3][on]), 1)
    latent = LatentCounts(*average(fit_latent_classes(records)), 200_000).table(path, 3)
    joint = PathCounts(records, "mle").tables([path])[0][2]
    assert np.abs(joint - truth).sum() < 0.05 * truth.sum()
    assert np.abs(latent - truth).sum() < 0.2 * truth.sum()
    assert (latent.argmax(axis=0) == truth.argmax(axis=0)).all()


def test_the_spread_of_a_path_is_what_simulation_shows():
    rng = np.random.default_rng(7)
    columns, sizes = people(4_000, rng)
    path = [np.ones(size, bool) for size in sizes]
    path[1], path[3] = np.arange(8) >= 5, np.array([False, False, True])
    found, said = [], []
    for _ in range(300):
        records = perturbed(columns, sizes, 0.5, rng)
        weights = records.weights
        for axis, share in ((1, 3 / 8), (3, 1 / 3)):
            is_on = path[axis][records.places[axis]]
            weights = weights * np.where(is_on, (1 - 0.5 * share) / 0.5, -0.5 * share / 0.5)
        found.append(weights.sum())
        said.append(PathCounts(records, "inverse").marginals.spread(path))
    assert np.mean(said) == pytest.approx(np.std(found), rel=0.2)


def test_naive_bayes_is_a_joint_model_whose_latent_classes_are_the_classes():
    rng = np.random.default_rng(8)
    columns, sizes = people(12_000, rng)
    bayes = fit_naive_bayes(perturbed(columns, sizes, 0.5, rng), method="auto")
    fresh, _ = people(4_000, rng)
    assert bayes.model.profiles[0].tolist() == [[1, 0], [0, 1]]
    assert (bayes.predict(clean(fresh, sizes)).argmax(axis=1) == fresh[0]).mean() > 0.8


def test_held_out_likelihood_prefers_what_predicts_better():
    rng = np.random.default_rng(9)
    columns, sizes = people(12_000, rng)
    records = perturbed(columns, sizes, 0.7, rng)
    tree = grow_tree(records, GROWTH, "auto")
    stump = grow_tree(records, replace(GROWTH, max_depth=1), "auto")
    assert tree.held_out > stump.held_out
    assert tree.held_out > fit_naive_bayes(records, method="auto").held_out


def test_latent_classes_predict_dependent_columns_better_than_independence_does():
    rng = np.random.default_rng(10)
    columns, sizes = people(12_000, rng)
    fit = fit_latent_classes(perturbed(columns, sizes, 0.6, rng))[0]
    assert len(fit.shares) > 1
    assert fit.shares.sum() == pytest.approx(1)
    for profile in fit.profiles:
        assert profile.sum(axis=0) == pytest.approx(np.ones(len(fit.shares)))


def test_axes_that_are_looked_up_at_once_tell_what_each_of_them_tells(monkeypatch):
    dice, sizes = np.random.default_rng(0), (3, 4, 2, 5)
    places = tuple(dice.integers(0, size, 400) for size in sizes)

    def fitted():
        records = PlacedRecords(places, np.ones(400), (None,) * 4, sizes)
        return records.runs, latent_records._fit(records, 2, 0)

    runs, together = fitted()
    monkeypatch.setattr(latent_records, "_MOST_IN_A_RUN", 0)
    alone, apart = fitted()
    assert len(runs) < len(alone) == 4
    assert together.score == pytest.approx(apart.score)
    for one, other in zip(together.profiles, apart.profiles, strict=True):
        assert one == pytest.approx(other)


def test_independent_columns_need_one_latent_class():
    rng = np.random.default_rng(12)
    columns = [rng.integers(0, size, 8_000) for size in (2, 5, 3)]
    assert [len(fit.shares) for fit in fit_latent_classes(perturbed(columns, (2, 5, 3), 0.5, rng))] == [1, 1, 1]


SCHEMA = kk.Schema(
    [
        kk.Categorical("ill", ["no", "yes"]),
        kk.Numeric("age", 0, 70, step=10),
        kk.Categorical("smokes", ["no", "yes"]),
    ]
)


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(11)
    age, smokes = 10 * rng.integers(0, 8, 20_000), rng.random(20_000) < 0.4
    ill = ((age >= 40) & smokes) ^ (rng.random(20_000) < 0.05)
    words = np.array(["no", "yes"])
    return pa.table({"ill": words[ill.astype(int)], "age": age, "smokes": words[smokes.astype(int)]})


@pytest.fixture(scope="module")
def release(patients):
    plan = kk.calibrate(SCHEMA, n=patients.num_rows, k=2, mechanisms={"age": "retention"}, tell="all")
    with pytest.warns(kk.NotForPublicationWarning):
        return kk.perturb(patients, plan, seed=1)


class TestRelease:
    def test_a_release_is_learned_from_and_clean_frames_are_predicted(self, patients, release):
        tree = kk.ReconstructedTree(max_depth=3).fit(release, target="ill")
        for frame in (patients, patients.to_pandas()):
            assert (tree.predict(frame) == np.array(patients["ill"])).mean() > 0.9
        assert tree.predict_proba(release).shape == (20_000, 2)
        assert tree.feature_importances_.sum() == pytest.approx(1)
        assert tree.feature_names_in_.tolist() == ["age", "smokes"]

    def test_the_tree_can_be_read_and_seen(self, release):
        tree = kk.ReconstructedTree(max_depth=3).fit(release, target="ill")
        text = tree.export_text()
        assert "smokes is" in text
        assert "age ≤ 30" in text
        assert "yes (" in text
        assert tree.plot().axes

    @pytest.mark.parametrize("estimator", [kk.ReconstructedTree, kk.ReconstructedNaiveBayes])
    @pytest.mark.parametrize("missing", ["error", "category"])
    def test_classes_are_the_values_of_the_target(self, estimator, missing):
        table = pa.table({"ill": [0, 1] * 2000, "smokes": ["no", "yes"] * 2000})
        ill = kk.Categorical("ill", [0, 1], missing=missing)
        schema = kk.Schema([ill, kk.Categorical("smokes", ["no", "yes"])])
        with pytest.warns(kk.NotForPublicationWarning):
            release = kk.perturb(table, kk.calibrate(schema, n=4000, k=2, tell="all"), seed=1)
        learned = estimator().fit(release, target="ill")
        assert learned.classes_.tolist() == [0, 1, *["missing"] * (missing == "category")]
        assert learned.predict(table.slice(0, 4)).tolist() == [0, 1, 0, 1]

    def test_some_columns_are_enough(self, release):
        tree = kk.ReconstructedTree(max_depth=1).fit(release, target="ill", features=["smokes"])
        assert tree.n_features_in_ == 1

    @pytest.mark.parametrize(
        ("target", "options", "words"),
        [
            (None, {}, "which column should be predicted"),
            ("age", {}, "must be a column of categories"),
            ("nonsense", {}, "no column 'nonsense'"),
            ("ill", {"features": ["ill"]}, "cannot be learned from itself"),
        ],
    )
    def test_what_cannot_be_learned_is_refused(self, release, target, options, words):
        with pytest.raises(kk.SchemaError, match=words):
            kk.ReconstructedTree().fit(release, target=target, **options)

    def test_a_target_of_which_nothing_was_kept_is_refused(self):
        table = pa.table({"ill": ["no", "yes"] * 50, "age": [0, 10] * 50, "smokes": ["no", "yes"] * 50})
        release = kk.perturb(table, kk.calibrate(SCHEMA, n=100, k=100, mechanisms={"age": "retention"}, tell="all"))
        with pytest.raises(kk.SchemaError, match="'ill' was replaced entirely"):
            kk.ReconstructedTree().fit(release, target="ill")

    @pytest.mark.parametrize(
        ("tree", "words"),
        [
            (kk.ReconstructedTree(criterion="magic"), "criterion must be one of"),
            (kk.ReconstructedTree(max_depth=0), "max_depth must be at least 1"),
        ],
    )
    def test_parameters_that_cannot_be_meant_are_refused(self, release, tree, words):
        with pytest.raises(kk.SchemaError, match=words):
            tree.fit(release, target="ill")

    def test_a_table_that_lacks_a_column_is_refused(self, release):
        bayes = kk.ReconstructedNaiveBayes().fit(release, target="ill")
        with pytest.raises(kk.DataError, match="'age'"):
            bayes.predict(pa.table({"smokes": ["no"]}))
