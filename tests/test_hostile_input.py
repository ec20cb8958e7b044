"""Hostile or odd input ends in an error of ours that says what, where and what to do; or in an answer."""

import decimal
import itertools
import json
import random
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kakuran as kk
from kakuran.answers.tree.columns import MOST_CLASSES, MOST_VALUES
from kakuran.audit import information_loss
from kakuran.design.plan import MOST_PEOPLE
from kakuran.errors import LONGEST_MESSAGE
from kakuran.release.files import Manifest
from kakuran.schema.tree import MOST_LEVELS
from kakuran.wide import microaggregate

WORDS = kk.Schema([kk.Categorical("x", ["a", "b"])])
NUMBERS = kk.Schema([kk.Numeric("x", 0, 100, step=1)])
CODES = kk.Schema([kk.Categorical("x", [1, 2])])
BOTH = kk.Schema([kk.Categorical("job", ["a", "b"]), kk.Numeric("age", 0, 100, step=1)])
MANIFEST = Manifest(kk.calibrate(BOTH, n=100, k=5, tell="all"), 100, "shuffled", seeded=False).to_json()
NESTED = "[" * 100_000 + "]" * 100_000

pytestmark = pytest.mark.filterwarnings("ignore::kakuran.InferredDomainWarning")


class TestManifests:
    @pytest.mark.parametrize(
        "text",
        [
            NESTED,
            f'{MANIFEST[:-1]}, "more": {NESTED}}}',
            '{"format":' * 50_000 + "1" + "}" * 50_000,
            f'{MANIFEST[:-1]}, "records": {"9" * 5000}}}',
            b"\xff\xfe{",
        ],
        ids=["lists", "a member", "objects", "digits", "bytes"],
    )
    def test_what_python_cannot_parse_is_a_damaged_manifest(self, text):
        with pytest.raises(kk.ReleaseError, match="its manifest is damaged"):
            Manifest.from_json(text, "out.parquet")

    @pytest.mark.parametrize("member", ["k", "n", "records"])
    @pytest.mark.parametrize("number", [10**400, 2**64, 1e400, float("nan"), -1])
    def test_numbers_that_count_nothing_are_refused(self, member, number):
        with pytest.raises(kk.ReleaseError, match=rf"manifest is damaged \({member} must be"):
            Manifest.from_json(json.dumps(json.loads(MANIFEST) | {member: number}), "out.parquet")

    def test_as_many_people_as_can_be_counted_are_taken(self):
        read = Manifest.from_json(json.dumps(json.loads(MANIFEST) | {"records": MOST_PEOPLE}), "out.parquet")
        assert read.records == MOST_PEOPLE

    def test_whatever_value_is_changed_the_error_is_ours_short_and_can_be_printed(self):
        dice = random.Random(0)
        odd = [10**400, 2**64, 1e308, 1e-320, float("nan"), "\ud800", "x" * 100_000, "", None, True, [], {}, [[]], -1]
        odd += [["\ud800", "b"], {"\ud800": ["a", "b"]}, {"g": ["a", "b", 10**400]}, {"a": ["b"], "b": ["a"]}]
        refused = []
        for _ in range(600):
            fields = json.loads(MANIFEST)
            del fields["central"]  # for people to read; it follows from the rest, and is computed anew
            *way, last = dice.choice(list(_paths(fields)))
            place = fields
            for step in way:
                place = place[step]
            place[last] = dice.choice(odd)
            try:
                manifest = Manifest.from_json(json.dumps(fields), "out.parquet")
                repr(kk.Release(None, manifest)), manifest.to_json().encode(), manifest.plan.k_for(manifest.plan.n)
            except kk.KakuranError as error:
                refused.append(str(error).encode())
        assert len(refused) > 500
        assert max(map(len, refused)) < 2 * LONGEST_MESSAGE

    @pytest.mark.parametrize("retention", [0, 5e-324, 1e-300, 1e-18, 1e-16, 2.0**-42, 2.0**-40, 1e-9, 1e-3])
    def test_a_release_of_which_hardly_anything_is_left_is_refused_by_name_or_adds_up(self, retention):
        fields = json.loads(MANIFEST)
        fields["columns"]["job"]["mechanism"]["retention"] = retention
        table = pa.table({"job": ["a"] * 60 + ["b"] * 40, "age": [*range(100)]})
        release = kk.Release(table, Manifest.from_json(json.dumps(fields), "out.parquet"))
        if retention < 2.0**-41:
            with pytest.raises(kk.SchemaError, match="column 'job' was replaced entirely"):
                release.crosstab("job")
        else:
            assert release.crosstab("job").counts.sum() == pytest.approx(100, rel=1e-3)

    def test_a_tell_that_no_coin_shows_is_refused_by_name(self):
        plan = kk.calibrate(BOTH, n=100, k=5, tell=1)
        fields = json.loads(Manifest(plan, 100, "shuffled", seeded=False).to_json())
        fields["tells"][0]["retention"] = 5e-324
        with pytest.raises(kk.ReleaseError, match="a tell has a retention of 5e-324"):
            Manifest.from_json(json.dumps(fields), "out.parquet")

    @pytest.mark.parametrize("mechanism", ["square-wave", "laplace", "bounded-laplace", "bounded-gaussian"])
    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_whatever_number_of_a_mechanism_is_changed_questions_are_answered_or_refused(self, mechanism):
        plan = kk.calibrate(BOTH, n=100, k=5, tell="all", mechanisms={"age": mechanism})
        text = Manifest(plan, 100, "shuffled", seeded=False).to_json()
        table = pa.table({"job": ["a"] * 60 + ["b"] * 40, "age": [*range(100)]})
        odd = [5e-324, 1e-300, 1e-16, 1e-3, 1e9, 1e300, float("nan"), "inf"]
        answered = 0
        for name, number in itertools.product(("retention", "scale", "half_width"), odd):
            fields = json.loads(text)
            if name not in fields["columns"]["age"]["mechanism"]:
                continue
            fields["columns"]["age"]["mechanism"][name] = number
            try:
                release = kk.Release(table, Manifest.from_json(json.dumps(fields), "out.parquet"))
                release.crosstab("age"), release.mean("age"), release.count("age > 30")
                answered += 1
            except kk.KakuranError:
                continue
        assert answered

    def test_a_tree_like_a_thread_is_refused_by_how_deep_it_is(self):
        fields = json.loads(MANIFEST)
        thread = {f"g{level}": [f"g{level + 1}"] for level in range(50_000)} | {"g50000": ["a", "b"]}
        fields["columns"]["job"]["tree"] = thread
        with pytest.raises(kk.ReleaseError, match=f"'job': tree: .* is more than {MOST_LEVELS} levels deep"):
            Manifest.from_json(json.dumps(fields), "out.parquet")

    def test_a_tree_of_as_many_levels_as_there_may_be_is_taken(self):
        thread = {f"g{level}": [f"g{level + 1}"] for level in range(MOST_LEVELS - 2)}
        tree = kk.Tree(thread | {f"g{MOST_LEVELS - 2}": ["leaf"]})
        assert len(tree.path("leaf")) == MOST_LEVELS
        with pytest.raises(kk.SchemaError, match="is its own ancestor"):
            kk.Tree({"a": ["b"], "b": ["c"], "c": ["a"]})


class _Name(str):
    """A name that counts how often any is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        _Name.compared += 1
        return str.__eq__(self, other)


def test_a_schema_compares_no_name_with_all_others():
    names = [_Name(f"c{place}") for place in range(2000)]
    _Name.compared = 0
    schema = kk.Schema([kk.Categorical(name, ["a", "b"]) for name in names])
    schema.check_columns(names)
    assert len(schema.some(names)) == len(names)
    assert _Name.compared <= 20 * len(names)  # it was the square


def test_a_message_about_many_columns_is_cut_short_and_keeps_the_way_out():
    schema = kk.Schema([kk.Dropped(f"c{place}") for place in range(20_000)] + [kk.Dropped("last")])
    with pytest.raises(kk.SchemaError, match=r"^no column 'c_7' .* … .*'last'\.$") as refused:
        schema["c_7"]
    assert len(str(refused.value)) <= LONGEST_MESSAGE + 3


class TestTomlFiles:
    @pytest.mark.parametrize("load", [kk.Schema.load, kk.Survey.load, kk.VerticalPlan.load])
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (f"x = {NESTED}", "a value is nested too deep"),
            ("x = " + "{a = " * 5000 + "1" + "}" * 5000, "a value is nested too deep"),
            (".".join(["a"] * 20_000) + " = 1", "a key has more than 100 parts"),
            ("x = {" + " . ".join(['"a b"'] * 20_000) + " = 1}", "a key has more than 100 parts"),
            ("x = " + "9" * 5000, "a number has too many digits"),
            (b"\xff", "can't decode byte"),
        ],
        ids=["lists", "tables", "dots", "quoted dots", "digits", "bytes"],
    )
    def test_what_python_cannot_parse_is_named_with_the_file(self, tmp_path, load, text, words):
        path = tmp_path / "settings.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(kk.KakuranError, match=f"settings.toml: .*{words}"):
            load(path)

    @pytest.mark.parametrize("bound", ["inf", "nan", "1e400", "9" * 400, "1979-05-27", "true"])
    def test_bounds_that_are_no_numbers_are_named(self, tmp_path, bound):
        path = tmp_path / "schema.toml"
        path.write_text(f'[columns.age]\ntype = "numeric"\nlow = 0\nhigh = {bound}\nstep = 1\n')
        with pytest.raises(kk.SchemaError, match=r"schema.toml: column 'age': high must be a finite number, got"):
            kk.Schema.load(path)

    def test_prose_with_many_dots_is_no_key(self, tmp_path):
        path = tmp_path / "schema.toml"
        text = "and so on ... " * 200 + "1.2.3.4"
        path.write_text(f'[columns.word]\ntype = "categorical"\nvalues = [{json.dumps(text)}, "b"]\n')
        assert kk.Schema.load(path)["word"].values[0] == text


NO_KIND = "Make it text or numbers, or leave it out"
ODD = {
    "complex": (pd.DataFrame({"x": np.full(4, 1 + 2j)}), f"'x': holds complex128, .*{NO_KIND}"),
    "extended": (pd.DataFrame({"x": np.ones(4, np.longdouble)}), f"'x': holds float.*{NO_KIND}"),
    "128 bits": (pl.DataFrame({"x": pl.Series([2**100] * 4, dtype=pl.Int128)}), f"'x': holds Int128, .*{NO_KIND}"),
    "65 bits": (pd.DataFrame({"x": [2**64 + 1, 1, 2, 1]}), "'x': .*more than 64 bits, for example 1844.* Make them"),
    "400 digits": (pd.DataFrame({"x": [10**400, 1, 2, 1]}), "'x': .*more than 64 bits, for example 1000.* Make them"),
    "half a character": (
        pd.DataFrame({"x": pd.Series(["\ud800", "a", "b", "a"], dtype=object)}),
        r"'x': holds text with half a character, for example '\\ud800'. Correct",
    ),
    "half a character in a name": (
        pd.DataFrame(np.ones((4, 2)), columns=pd.Index(["x", "\ud800"], dtype=object)),
        r"'\\ud800': holds text with half a character",
    ),
    "bytes as text": (
        pa.table(
            {
                "x": pa.Array.from_buffers(
                    pa.string(),
                    4,
                    [None, pa.py_buffer(np.arange(5, dtype=np.int32).tobytes()), pa.py_buffer(b"\xff\xfeab")],
                )
            }
        ),
        "'x': is damaged .*Invalid UTF8.* Read the table again",
    ),
    "a mixture": (pd.DataFrame({"x": [1, "a", 2.0, None]}), "'x': holds values of several kinds"),
}
USES = {
    "infer": kk.Schema.infer,
    "perturb words": lambda table: kk.perturb(table, kk.calibrate(WORDS, n=4, k=2, tell="all")),
    "perturb numbers": lambda table: kk.perturb(table, kk.calibrate(NUMBERS, n=4, k=2, tell="all")),
    "calibrate": lambda table: kk.calibrate(NUMBERS, k=2, data=table, calibration="data-dependent", tell="all"),
    "microaggregate": lambda table: microaggregate(table, 2),
    "check": lambda table: kk.check_anonymity(table, ["x"], ["x"]),
    "loss": lambda table: information_loss(table, table, "discrete"),
}


class TestColumns:
    @pytest.mark.parametrize("use", USES.values(), ids=USES)
    @pytest.mark.parametrize(("table", "words"), ODD.values(), ids=ODD)
    def test_what_no_table_holds_is_named_with_the_way_out(self, use, table, words):
        with pytest.raises(kk.DataError, match=words):
            use(table)

    @pytest.mark.parametrize("use", [USES["microaggregate"], USES["check"], USES["loss"]])
    @pytest.mark.parametrize(
        ("table", "kind"),
        [
            (pd.DataFrame({"x": [[1], [2], [1], [1]]}), "list"),
            (pd.DataFrame({"x": [{"a": 1}] * 4}), "struct"),
            (pa.table({"x": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64()))}), "map"),
            (pd.DataFrame({"x": pd.period_range("2020-01", periods=4, freq="M")}), "period"),
            (pd.DataFrame({"x": pd.interval_range(0, 4)}), "interval"),
            (pa.table({"x": pa.array([uuid.UUID(int=1).bytes] * 4, pa.uuid())}), "uuid"),
            (
                pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 0]), pa.array([[1, 2]]))}),
                "dictionary<values=list",
            ),
        ],
        ids=["list", "struct", "map", "period", "interval", "uuid", "dictionary"],
    )
    def test_values_that_cannot_be_compared_are_named_by_their_kind(self, use, table, kind):
        with pytest.raises(kk.DataError, match=f"'x': holds .*{kind}.*, whose values cannot be compared. {NO_KIND}"):
            use(table)
        assert isinstance(kk.Schema.infer(table)["x"], kk.Dropped)

    def test_sparse_columns_are_what_they_would_be_dense(self):
        dense = pd.DataFrame({"x": [1.0, 0, 0, 1] * 25})
        sparse = dense.astype(pd.SparseDtype(float, 0.0))
        plan = kk.calibrate(NUMBERS, n=100, k=5, tell="all")
        with pytest.warns(kk.NotForPublicationWarning):
            released, expected = (kk.perturb(table, plan, seed=0).table for table in (sparse, dense))
        assert kk.Schema.infer(sparse) == kk.Schema.infer(dense)
        assert released["x"].tolist() == expected["x"].tolist()
        assert microaggregate(sparse, 2).table["x"].tolist() == dense["x"].tolist()
        assert kk.check_anonymity(sparse, ["x"]).k == 50

    def test_columns_named_by_pairs_are_columns(self):
        table = pd.DataFrame(np.ones((4, 2)), columns=pd.MultiIndex.from_tuples([("x", 1), ("y", 2)]))
        assert kk.Schema.infer(table).names == ("('x', 1)", "('y', 2)")

    def test_whole_numbers_beyond_63_bits_are_never_taken_for_their_neighbours(self):
        near = kk.Schema([kk.Categorical("x", [2**60, 2**60 + 1])])
        unsigned = pa.table({"x": pa.array([2**60 + 1, 2**60], pa.uint64())})
        assert near.encode(unsigned)["x"].tolist() == [1, 0]
        with pytest.raises(kk.DataError, match=r"'x': 1 row not among .*, for example 18446744073709551615"):
            CODES.encode(pa.table({"x": pa.array([2**64 - 1, 1], pa.uint64())}))
        with pytest.raises(kk.SchemaError, match=r"'x': 9223372036854775808 has more than 64 bits .*; make all text"):
            kk.Categorical("x", [2**63, 1])

    @pytest.mark.parametrize(
        "values",
        [
            pa.array([2**64 - 1, 1, 2, 1], pa.uint64()),
            pa.array([1e308, -1e308, 1.0, 2.0]),
            pa.array([decimal.Decimal(10) ** 70] * 4, pa.decimal256(76, 0)),
        ],
        ids=["64 bits", "float", "decimal"],
    )
    def test_one_column_of_numbers_without_a_grid_does_not_keep_the_others_from_being_inferred(self, values):
        with pytest.warns(kk.InferredDomainWarning, match="Dropped, as numbers beyond 2⁶² .*: x"):
            schema = kk.Schema.infer(pa.table({"x": values, "y": [1, 2, 1, 2]}))
        assert isinstance(schema["x"], kk.Dropped)
        assert isinstance(schema["y"], kk.Numeric)

    def test_a_declared_name_or_value_is_text_that_can_be_written(self):
        for declare in (lambda: kk.Categorical("\ud800", ["a"]), lambda: kk.Categorical("x", ["\ud800", "a"])):
            with pytest.raises(kk.SchemaError, match=r"'\\ud800' has half a character in it"):
                declare()


class TestFiles:
    @pytest.fixture
    def release(self, tmp_path):
        table = pa.table({"job": ["a", "b"] * 150, "age": list(range(100)) * 3})
        kk.perturb(table, kk.calibrate(BOTH, n=300, k=3, tell="all")).save(tmp_path / "out.parquet")
        return tmp_path / "out.parquet"

    @pytest.mark.parametrize("use", [lambda path: kk.read_release(path).crosstab("job"), kk.Schema.infer])
    def test_damaged_parquet_is_refused_by_its_name_or_read(self, release, tmp_path, use):
        whole, dice, refused = release.read_bytes(), random.Random(0), []
        for _ in range(100):
            path = tmp_path / "damaged.parquet"
            path.write_bytes(_damaged(whole, dice))
            try:
                use(path)
            except kk.KakuranError as error:
                refused.append(str(error))
        assert len(refused) > 50
        assert [words for words in refused if "damaged.parquet" not in words] == []

    def test_damaged_arrow_files_are_refused_or_read(self, tmp_path):
        table = pa.table({"job": ["a", "b"] * 150, "age": list(range(100)) * 3})
        with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
            writer.write_table(table)
        whole, dice, refused = (tmp_path / "t.arrow").read_bytes(), random.Random(0), 0
        for _ in range(100):
            (tmp_path / "t.arrow").write_bytes(_damaged(whole, dice))
            try:
                kk.Schema.infer(tmp_path / "t.arrow")
            except kk.KakuranError:
                refused += 1
        assert refused > 50

    def test_text_that_is_none_is_named_with_its_place(self, tmp_path):
        words = pa.Array.from_buffers(
            pa.string(), 2, [None, pa.py_buffer(np.arange(3, dtype=np.int32).tobytes()), pa.py_buffer(b"a\xff")]
        )
        pq.write_table(pa.table({"id": [1, 2], "x": words}), tmp_path / "t.parquet", store_schema=False)
        with pytest.raises(kk.SchemaError, match=r"t.parquet, row group 0, column 'x': cannot be read: .*UTF8"):
            kk.Schema.infer(tmp_path / "t.parquet")

    def test_records_without_columns_are_an_empty_table(self):
        records = pa.table({"x": [1, 2]}).drop_columns(["x"])
        with pytest.raises(kk.SchemaError, match="cannot infer a schema from an empty table"):
            kk.Schema.infer(records)

    def test_nested_parquet_is_dropped_or_named(self, tmp_path):
        pq.write_table(pa.table({"x": [{"a": [1]}, {"a": [2]}], "y": [1, 2]}), tmp_path / "t.parquet")
        assert isinstance(kk.Schema.infer(tmp_path / "t.parquet")["x"], kk.Dropped)
        schema = kk.Schema([kk.Numeric("x", 0, 9, step=1), kk.Dropped("y")])
        with pytest.raises(kk.DataError, match="'x': the schema says numbers but the column holds struct"):
            kk.perturb_file(tmp_path / "t.parquet", tmp_path / "o.parquet", kk.calibrate(schema, n=2, k=2, tell="all"))


MANY = MOST_VALUES + 1


@pytest.fixture(scope="module")
def coded():
    """A release with a column of more values than can be learned from."""
    values = [f"v{place}" for place in range(MANY)]
    schema = kk.Schema([kk.Categorical("code", values), kk.Categorical("ill", ["n", "y"])])
    codes = pa.DictionaryArray.from_arrays(pa.array(np.arange(200), pa.int32()), pa.array(values))
    return kk.perturb(pa.table({"code": codes, "ill": ["n", "y"] * 100}), kk.calibrate(schema, n=200, k=2, tell="all"))


class TestLearning:
    @pytest.mark.parametrize("kind", [kk.ReconstructedTree, kk.ReconstructedNaiveBayes])
    def test_so_many_classes_are_refused_before_their_square_is_held(self, coded, kind):
        with pytest.raises(kk.SchemaError, match=f"'code' has {MANY:,} classes, more than the {MOST_CLASSES:,}"):
            kind().fit(coded, target="code")
        numbers = np.arange(2 * MOST_CLASSES + 2)
        with pytest.raises(kk.SchemaError, match=f"'y' has {MOST_CLASSES + 1:,} classes, .*; group them first"):
            kind().fit(numbers[:, None], numbers // 2)

    @pytest.mark.parametrize("kind", [kk.ReconstructedTree, kk.ReconstructedNaiveBayes])
    def test_so_many_values_are_refused_with_the_way_out(self, coded, kind):
        with pytest.raises(kk.SchemaError, match=f"'code' has {MANY:,} values, .*; leave it out of the features"):
            kind().fit(coded, target="ill")


class TestNumbers:
    @pytest.mark.parametrize("k", [10**400, -(10**400)])
    @pytest.mark.parametrize(
        "ask",
        [
            lambda k: kk.calibrate(BOTH, n=100, k=k, tell="all"),
            lambda k: kk.calibrate(BOTH, n=k, k=5, tell="all"),
            lambda k: microaggregate(np.ones((10, 1)), k),
            lambda k: microaggregate(np.ones((10, 1)), 2, weights={"0": k}),
            lambda k: kk.Laplace(10, 1, k),
            lambda k: kk.RetentionReplacement(10, k),
            lambda k: kk.PRAM([[k, 1], [0, 1]]),
            lambda k: kk.reconstruct([k, 1], [None]),
            lambda k: kk.MatrixRelease(2).fit_transform(np.array([[k, 1], [1, 0]], object)),
        ],
    )
    def test_one_that_no_float_holds_is_refused(self, ask, k):
        with pytest.raises(kk.KakuranError):
            ask(k)

    @pytest.mark.parametrize(
        ("entries", "words"),
        [
            (np.full((4, 3), 1j), "holds complex128 entries"),
            (np.full((4, 3), "a"), "does not hold numbers"),
            (np.full((4, 3), 1e308), "holds entries above 1e\\+100, got 1e\\+308. Use another unit"),
            (pd.DataFrame({"x": [[1], [2]], "y": [1, 2]}), "does not hold numbers"),
        ],
    )
    def test_a_matrix_of_anything_but_counts_is_named_by_what_it_holds(self, entries, words):
        with pytest.raises(kk.ArgumentError, match=f"matrix {words}"):
            kk.MatrixRelease(2, kind="counts").fit_transform(entries)

    @pytest.mark.parametrize("shape", [(20, 1), (1, 20), (1, 1)])
    @pytest.mark.parametrize("kind", [kk.BooleanFactorisation, kk.MaskedNMF])
    def test_a_single_column_or_row_has_no_factors(self, kind, shape):
        words = (
            f"a {shape[0]} × {shape[1]} matrix has no factors, .*two rows and two columns.*; release a single column"
        )
        with pytest.raises(kk.CalibrationError, match=words):
            kind().fit(np.ones(shape))

    @pytest.mark.parametrize("kind", ["binary", "counts"])
    def test_a_single_column_is_not_released_as_a_matrix(self, kind):
        with pytest.raises(kk.CalibrationError, match="a 20 × 1 matrix has no factors"):
            kk.MatrixRelease(2, kind=kind).fit_transform(np.ones((20, 1)))


def _paths(fields, way=()):
    """The way to every value of a manifest."""
    inside = fields.items() if isinstance(fields, dict) else enumerate(fields) if isinstance(fields, list) else ()
    for step, value in inside:
        yield (*way, step)
        yield from _paths(value, (*way, step))


def _damaged(whole, dice):
    """A file cut short, or with some bits turned, most of them where it tells what it holds."""
    if dice.random() < 0.2:
        return whole[: dice.randrange(len(whole))]
    content = bytearray(whole)
    first = 0 if dice.random() < 0.5 else max(0, len(whole) - 2500)
    for _ in range(dice.choice([1, 1, 2, 5, 30])):
        content[dice.randrange(first, len(whole))] ^= 1 << dice.randrange(8)
    return bytes(content)
