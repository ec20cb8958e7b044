"""Releases on disk: what is saved is read again, and what is not a release is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests import windows

import kakuran as kk
from kakuran.schema.codes import decode

AWKWARD = [
    "NA",
    "null",
    "nan",
    "",
    " x ",
    "a,b",
    'q"q',
    "two\nlines",
    "carriage\rreturn",
    "看護師",
    "é",
    "1",
    "true",
    "#N/A",
]
SCHEMA = kk.Schema(
    [
        kk.Dropped("name"),
        kk.Categorical("job", AWKWARD, missing="category"),
        kk.Categorical("grade", ["low", "middle", "high"], ordered=True),
        kk.Categorical("smokes", [True, False], missing="category"),
        kk.Categorical("floor", [-1, 0, 7], missing="category"),
        kk.Categorical("dose", [0.5, 1.25]),
        kk.Numeric("age", 0, 120, step=1, missing="category"),
        kk.Numeric("height", 1, 2.5, step=0.1),
        kk.Categorical("region", ["東", "西"], role="keep", missing="category"),
    ]
)
SUFFIXES = ["parquet", "csv"]


def people(schema=SCHEMA, rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({a.name: decode(a, rng.integers(0, a.size, rows).astype(np.int32)) for a in schema.released})


def release_of(schema=SCHEMA, rows=300, k=15, **settings):
    return kk.perturb(people(schema, rows), kk.calibrate(schema, n=20, k=k, **{"tell": "all"} | settings))


def assert_same(first, second):
    ours, theirs = first.codes(), second.codes()
    assert list(ours) == list(theirs)
    for name in ours:
        assert (ours[name] == theirs[name]).all(), name
    assert first.manifest.to_json() == second.manifest.to_json()


@pytest.fixture(scope="module")
def release():
    with windows.for_few_values():
        return release_of()


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestRoundTrip:
    def test_every_kind_of_column_is_read_as_it_was_saved(self, release, suffix, tmp_path):
        release.save(tmp_path / f"out.{suffix}")
        again = kk.read_release(tmp_path / f"out.{suffix}")
        assert_same(again, release)
        assert (again.n, again.k, again.epsilon) == (release.n, release.k, release.epsilon)

    @pytest.mark.parametrize(
        "convert", [lambda t: t.to_pandas(), pl.from_arrow, lambda t: t.combine_chunks().to_batches()[0]]
    )
    def test_every_kind_of_frame_is_saved_alike(self, convert, suffix, tmp_path):
        schema = kk.Schema([attribute for attribute in SCHEMA if attribute.name not in ("smokes", "floor", "age")])
        release = kk.perturb(convert(people(schema)), kk.calibrate(schema, n=20, k=15, tell="all"))
        release.save(tmp_path / f"out.{suffix}")
        assert_same(kk.read_release(tmp_path / f"out.{suffix}"), release)

    @pytest.mark.parametrize(
        "attribute",
        [
            kk.Categorical("only", ["x", "y"], missing="category"),
            kk.Categorical("only", ["", "y"], missing="category"),
            kk.Categorical("only", [1, 2], missing="category"),
            kk.Numeric("only", 0, 3, step=1, missing="category"),
            kk.Numeric("only", 0, 1, step=0.1, missing="category"),
        ],
        ids=["text", "empty text", "whole", "number", "decimal"],
    )
    def test_missing_values_of_a_single_column_are_not_lost(self, attribute, suffix, tmp_path):
        release = release_of(kk.Schema([attribute]))
        release.save(tmp_path / f"out.{suffix}")
        assert_same(kk.read_release(tmp_path / f"out.{suffix}"), release)

    def test_categories_of_two_lines_are_read_even_from_large_files(self, suffix, tmp_path):
        schema = kk.Schema([kk.Categorical("job", ["two\nlines", "b"]), kk.Categorical("x", ["c", "d"])])
        release = release_of(schema, rows=200_000)
        release.save(tmp_path / f"out.{suffix}")
        assert_same(kk.read_release(tmp_path / f"out.{suffix}"), release)

    def test_a_matrix_a_user_brought_is_read_again(self, suffix, tmp_path):
        schema = kk.Schema([kk.Categorical("job", ["x", "y", "z"]), kk.Numeric("age", 0, 9, step=1)])
        matrix = [[0.5, 0.3, 0.2], [0.25, 0.5, 0.25], [1 / 3, 1 / 3, 1 / 3]]
        release = release_of(schema, k=3, mechanisms={"job": kk.PRAM(matrix)})
        release.save(tmp_path / f"out.{suffix}")
        again = kk.read_release(tmp_path / f"out.{suffix}")
        assert_same(again, release)
        assert again.plan["job"].matrix.tolist() == matrix

    def test_noise_beyond_the_bounds_is_read_again(self, suffix, tmp_path):
        schema = kk.Schema([kk.Numeric("age", 0, 10, step=1), kk.Numeric("height", 0, 1, step=0.1)])
        release = release_of(schema, mechanisms={"age": "laplace", "height": "laplace"})
        codes = release.codes()
        assert all(codes[name].min() < 0 and codes[name].max() > 10 for name in codes)
        release.save(tmp_path / f"out.{suffix}")
        assert_same(kk.read_release(tmp_path / f"out.{suffix}"), release)

    @pytest.mark.parametrize("mechanism", ["retention", "bounded-laplace", "bounded-gaussian", "laplace"])
    def test_every_mechanism_is_read_again(self, mechanism, suffix, tmp_path):
        release = release_of(kk.Schema([kk.Numeric("age", 0, 10, step=0.5)]), mechanisms={"age": mechanism})
        release.save(tmp_path / f"out.{suffix}")
        assert kk.read_release(tmp_path / f"out.{suffix}").plan["age"] == release.plan["age"]

    def test_a_data_dependent_plan_is_read_again(self, suffix, tmp_path):
        schema = kk.Schema([kk.Categorical("job", ["x", "y"]), kk.Numeric("age", 0, 9, step=1)])
        table = people(schema)
        release = kk.perturb(table, kk.calibrate(schema, data=table, calibration="data-dependent", k=20, tell="all"))
        release.save(tmp_path / f"out.{suffix}")
        assert kk.read_release(tmp_path / f"out.{suffix}").plan == release.plan

    def test_a_release_that_was_read_can_be_saved_again(self, release, suffix, tmp_path):
        release.save(tmp_path / f"first.{suffix}")
        for other in SUFFIXES:
            kk.read_release(tmp_path / f"first.{suffix}").save(tmp_path / f"second.{other}")
            assert_same(kk.read_release(tmp_path / f"second.{other}"), release)

    def test_names_with_dots_quotes_and_letters_of_any_script_are_read_again(self, suffix, tmp_path):
        names = ["a", "a.b", 'say "hi"', "two\nlines", "職業", "x,y", " "]
        release = release_of(kk.Schema([kk.Categorical(name, ["x", "y"]) for name in names]))
        release.save(tmp_path / f"out.{suffix}")
        assert kk.read_release(tmp_path / f"out.{suffix}").table.column_names == names

    def test_a_path_may_be_text(self, release, suffix, tmp_path):
        release.save(str(tmp_path / f"out.{suffix}"))
        assert kk.read_release(str(tmp_path / f"out.{suffix}")).n == release.n

    def test_ordered_categories_stay_ordered(self, release, suffix, tmp_path):
        release.save(tmp_path / f"out.{suffix}")
        grade = kk.read_release(tmp_path / f"out.{suffix}").table.column("grade").combine_chunks()
        assert grade.type.ordered
        assert grade.dictionary.to_pylist() == ["low -1", "low", "middle", "high", "high +1"]

    def test_nothing_else_is_left_in_the_folder(self, release, suffix, tmp_path):
        release.save(tmp_path / f"out.{suffix}")
        beside = {"parquet": set(), "csv": {"out.release.json"}}[suffix]
        assert {path.name for path in tmp_path.iterdir()} == {f"out.{suffix}"} | beside

    def test_an_estimate_from_the_file_is_the_estimate_from_memory(self, release, suffix, tmp_path):
        release.save(tmp_path / f"out.{suffix}")
        ours, theirs = (r.crosstab("grade", "height") for r in (release, kk.read_release(tmp_path / f"out.{suffix}")))
        assert (ours.naive == theirs.naive).all()
        assert ours.counts == pytest.approx(theirs.counts)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6),
        min_size=2,
        max_size=8,
        unique=True,
    ),
    suffix=st.sampled_from(SUFFIXES),
)
def test_any_text_is_read_as_it_was_saved(tmp_path, values, suffix):
    schema = kk.Schema([kk.Categorical("job", values, missing="category"), kk.Numeric("age", 0, 9, step=1)])
    release = release_of(schema, rows=60)
    release.save(tmp_path / f"out.{suffix}", force=True)
    assert_same(kk.read_release(tmp_path / f"out.{suffix}"), release)


class TestManifest:
    def manifest(self, folder, suffix):
        if suffix == "csv":
            return (folder / "out.release.json").read_text(encoding="utf-8")
        return pq.read_metadata(folder / "out.parquet").metadata[b"kakuran"].decode()

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_it_tells_what_is_needed_to_read_the_release(self, release, suffix, tmp_path):
        release.save(tmp_path / f"out.{suffix}")
        told = json.loads(self.manifest(tmp_path, suffix))
        assert (told["format"], told["kakuran"], told["records"]) == (1, kk.__version__, 300)
        assert (told["k"], told["n"], told["epsilon"]) == (release.k, 20, release.epsilon)
        assert told["columns"]["height"]["mechanism"].keys() == {"kind", "half_width", "retention"}
        assert told["columns"]["name"] == {"role": "drop"}

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_a_seed_is_nowhere_in_the_files(self, suffix, tmp_path):
        with pytest.warns(kk.NotForPublicationWarning):
            release = kk.perturb(people(), kk.calibrate(SCHEMA, n=20, k=15, tell="all"), seed=987654321)
        release.save(tmp_path / f"out.{suffix}")
        for path in tmp_path.iterdir():
            assert b"987654321" not in path.read_bytes()
        assert json.loads(self.manifest(tmp_path, suffix))["for_publication"] is False
        assert kk.read_release(tmp_path / f"out.{suffix}").manifest.seeded

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_no_original_is_in_the_files(self, suffix, tmp_path):
        schema = kk.Schema([kk.Dropped("name"), kk.Categorical("job", ["x", "y"]), kk.Numeric("age", 0, 9, step=1)])
        frame = people(schema).append_column("name", pa.array(["Ms Original"] * 300)).to_pandas()
        frame.index = pd.Index(["Ms Original"] * 300, name="Original index")
        frame.attrs["note"] = "Original note"
        kk.perturb(frame.reset_index(drop=True), kk.calibrate(schema, n=20, k=15, tell="all")).save(
            tmp_path / f"out.{suffix}"
        )
        for path in tmp_path.iterdir():
            assert b"Original" not in path.read_bytes()

    def test_a_parquet_file_carries_no_metadata_but_its_types_and_the_manifest(self, release, tmp_path):
        release.save(tmp_path / "out.parquet")
        assert set(pq.read_metadata(tmp_path / "out.parquet").metadata) == {b"ARROW:schema", b"kakuran"}

    def test_the_table_that_is_read_carries_no_metadata(self, release, tmp_path):
        release.save(tmp_path / "out.parquet")
        assert kk.read_release(tmp_path / "out.parquet").table.schema.metadata is None

    @pytest.mark.parametrize("noise", ["without limit", "none at all"])
    def test_it_is_json_that_any_program_reads_even_when_a_number_is_infinite(self, noise, tmp_path):
        schema = kk.Schema([kk.Categorical("job", ["x", "y"]), kk.Numeric("age", 0, 9, step=1)])
        table = pa.table({"job": ["x", "y"] * 50, "age": [3, 4] * 50})
        asked = (
            {"n": 20, "k": 20} if noise == "without limit" else {"data": table, "calibration": "data-dependent", "k": 5}
        )
        plan = kk.calibrate(schema, **asked, mechanisms={"age": "bounded-laplace"})
        assert math.isinf(plan["age"].scale if noise == "without limit" else plan.epsilon)
        release = kk.perturb(table, plan)
        release.save(tmp_path / "out.csv")
        assert kk.read_release(tmp_path / "out.csv").plan == release.plan

        def refuse(constant):
            pytest.fail(f"{constant} is not JSON")

        json.loads((tmp_path / "out.release.json").read_text(), parse_constant=refuse)


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestSaving:
    def test_a_file_that_exists_is_not_replaced_unless_forced(self, release, suffix, tmp_path):
        path = tmp_path / f"out.{suffix}"
        path.write_text("precious")
        with pytest.raises(kk.ReleaseError, match=r"exists already; use --force \(force=True\)"):
            release.save(path)
        assert path.read_text() == "precious"
        release.save(path, force=True)
        assert_same(kk.read_release(path), release)

    def test_a_folder_that_is_not_there_is_refused(self, release, suffix, tmp_path):
        with pytest.raises(kk.ReleaseError, match="there is no folder"):
            release.save(tmp_path / "nowhere" / f"out.{suffix}")

    def test_a_file_in_place_of_the_folder_is_refused(self, release, suffix, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(kk.ReleaseError, match="there is no folder"):
            release.save(tmp_path / "file" / f"out.{suffix}")

    def test_a_folder_in_place_of_the_file_is_refused(self, release, suffix, tmp_path):
        (tmp_path / f"out.{suffix}").mkdir()
        with pytest.raises(kk.ReleaseError, match="is a folder; name a file"):
            release.save(tmp_path / f"out.{suffix}", force=True)

    def test_a_folder_that_cannot_be_written_to_is_refused(self, release, suffix, tmp_path, monkeypatch):
        monkeypatch.setattr("os.access", lambda path, mode: False)
        with pytest.raises(kk.ReleaseError, match="cannot be written to"):
            release.save(tmp_path / f"out.{suffix}")
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_turns_out_not_to_be_writable_is_refused(self, release, suffix, tmp_path, monkeypatch):
        def refuse(*args, **kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.mkdir", refuse)
        with pytest.raises(kk.ReleaseError, match=f"out.{suffix}: could not be written: Permission denied"):
            release.save(tmp_path / f"out.{suffix}")


class TestSavingElsewhere:
    @pytest.mark.parametrize("name", ["out", "out.txt", "out.json", ".parquet"])
    def test_another_kind_of_file_is_refused(self, release, name, tmp_path):
        with pytest.raises(kk.ReleaseError, match=r"name a \.parquet or a \.csv file"):
            release.save(tmp_path / name)

    def test_a_manifest_that_belongs_to_something_else_is_not_replaced_unless_forced(self, release, tmp_path):
        (tmp_path / "out.release.json").write_text("precious")
        with pytest.raises(kk.ReleaseError, match="exists already"):
            release.save(tmp_path / "out.csv")
        assert (tmp_path / "out.release.json").read_text() == "precious"
        assert not (tmp_path / "out.csv").exists()

    def test_a_folder_in_place_of_the_manifest_leaves_the_old_release_whole(self, release, tmp_path):
        (tmp_path / "out.csv").write_text("precious")
        (tmp_path / "out.release.json").mkdir()
        with pytest.raises(kk.ReleaseError):
            release.save(tmp_path / "out.csv", force=True)
        assert (tmp_path / "out.csv").read_text() == "precious"


def saved(release, folder, suffix):
    path = folder / f"out.{suffix}"
    release.save(path)
    return path


def edit_manifest(path, change):
    """Rewrite the manifest of a release with a change applied to its fields."""
    if path.suffix == ".csv":
        beside = path.with_name("out.release.json")
        fields = json.loads(beside.read_text(encoding="utf-8"))
        beside.write_bytes(_json(change(fields)))
        return
    table = pq.read_table(path)
    fields = json.loads(pq.read_metadata(path).metadata[b"kakuran"])
    pq.write_table(table.replace_schema_metadata({"kakuran": _json(change(fields))}), path)


def _json(fields):
    return fields if isinstance(fields, bytes) else json.dumps(fields).encode()


def edit_table(path, change):
    """Rewrite the table of a release and leave its manifest alone."""
    if path.suffix == ".csv":
        pa.csv.write_csv(change(pa.csv.read_csv(path)), path)
        return
    manifest = pq.read_metadata(path).metadata[b"kakuran"]
    pq.write_table(change(pq.read_table(path)).replace_schema_metadata({"kakuran": manifest}), path)


SMALL = kk.Schema(
    [
        kk.Categorical("job", ["x", "y"]),
        kk.Numeric("age", 0, 9, step=1),
        kk.Numeric("year", 2000, 2001, step=1, role="keep"),
    ]
)


@pytest.fixture(scope="module")
def small():
    return release_of(SMALL, rows=100)


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestRefusals:
    def test_the_editing_these_tests_do_is_itself_harmless(self, small, suffix, tmp_path):
        path = saved(small, tmp_path, suffix)
        edit_manifest(path, dict)
        edit_table(path, lambda table: table)
        assert_same(kk.read_release(path), small)

    def test_a_missing_file(self, small, suffix, tmp_path):
        with pytest.raises(kk.ReleaseError, match=f"out.{suffix}: no such file"):
            kk.read_release(tmp_path / f"out.{suffix}")

    def test_a_table_without_a_manifest(self, small, suffix, tmp_path):
        path = tmp_path / f"out.{suffix}"
        (pq.write_table if suffix == "parquet" else pa.csv.write_csv)(small.table, path)
        with pytest.raises(kk.ReleaseError, match=r"manifest.*so it is not a release"):
            kk.read_release(path)

    @pytest.mark.parametrize(
        "text", [b"", b"{", b"[1]", b"3", b"null", b'"text"', b"\xff\xfe", b"{}", b'{"format": 1}'], ids=repr
    )
    def test_a_manifest_that_is_not_one(self, small, suffix, text, tmp_path):
        path = saved(small, tmp_path, suffix)
        edit_manifest(path, lambda fields: text)
        with pytest.raises(kk.ReleaseError, match="its manifest is damaged"):
            kk.read_release(path)

    @pytest.mark.parametrize(
        "missing", ["format", "records", "order", "for_publication", "k", "n", "calibration", "columns"]
    )
    def test_a_manifest_that_lacks_something(self, small, suffix, missing, tmp_path):
        path = saved(small, tmp_path, suffix)
        edit_manifest(path, lambda fields: {name: value for name, value in fields.items() if name != missing})
        with pytest.raises(kk.ReleaseError, match="its manifest is damaged"):
            kk.read_release(path)

    def test_a_manifest_that_tells_no_mechanism_of_a_perturbed_column(self, small, suffix, tmp_path):
        path = saved(small, tmp_path, suffix)

        def change(fields):
            del fields["columns"]["age"]["mechanism"]
            return fields

        edit_manifest(path, change)
        with pytest.raises(kk.ReleaseError, match=r"its manifest is damaged.*age"):
            kk.read_release(path)

    @pytest.mark.parametrize("newer", [3, 99, "2", 1.5])
    def test_a_manifest_of_a_newer_format_is_refused_with_the_way_out(self, small, suffix, newer, tmp_path):
        path = saved(small, tmp_path, suffix)
        edit_manifest(path, lambda fields: fields | {"format": newer, "kakuran": "9.9"})
        with pytest.raises(kk.ReleaseError, match=rf"has format {newer}, made by kakuran 9\.9.*upgrade"):
            kk.read_release(path)

    def test_a_newer_manifest_is_refused_as_newer_and_not_as_damaged(self, small, suffix, tmp_path):
        path = saved(small, tmp_path, suffix)
        edit_manifest(path, lambda fields: {"format": 3})
        with pytest.raises(kk.ReleaseError, match="upgrade"):
            kk.read_release(path)

    @pytest.mark.parametrize(
        "change",
        [
            lambda table: table.rename_columns(["job", "alter", "year"]),
            lambda table: table.select(["age", "job", "year"]),
            lambda table: table.select(["job", "age"]),
            lambda table: table.append_column("name", pa.array(["A"] * 100)),
        ],
        ids=["renamed", "reordered", "removed", "added"],
    )
    def test_columns_that_are_not_those_of_the_manifest(self, small, suffix, change, tmp_path):
        path = saved(small, tmp_path, suffix)
        edit_table(path, change)
        with pytest.raises(kk.ReleaseError, match=r"its columns are .* but its manifest speaks of job, age, year"):
            kk.read_release(path)

    @pytest.mark.parametrize("rows", [0, 99])
    def test_rows_that_were_removed(self, small, suffix, rows, tmp_path):
        path = saved(small, tmp_path, suffix)
        edit_table(path, lambda table: table.slice(0, rows))
        with pytest.raises(kk.ReleaseError, match=f"it has {rows} records, but its manifest speaks of 100"):
            kk.read_release(path)

    def test_rows_that_were_added(self, small, suffix, tmp_path):
        path = saved(small, tmp_path, suffix)
        edit_table(path, lambda table: pa.concat_tables([table, table.slice(0, 1)]))
        with pytest.raises(kk.ReleaseError, match="it has 101 records, but its manifest speaks of 100"):
            kk.read_release(path)

    def test_a_folder(self, small, suffix, tmp_path):
        path = saved(small, tmp_path, suffix)
        path.unlink()
        path.mkdir()
        with pytest.raises(kk.ReleaseError, match=f"out.{suffix}"):
            kk.read_release(path)

    @pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"PAR1"], ids=repr)
    def test_a_file_that_is_something_else(self, small, suffix, content, tmp_path):
        path = saved(small, tmp_path, suffix)
        path.write_bytes(content)
        with pytest.raises(kk.ReleaseError, match=f"out.{suffix}"):
            kk.read_release(path)

    def test_a_file_cut_short(self, small, suffix, tmp_path):
        path = saved(small, tmp_path, suffix)
        path.write_bytes(path.read_bytes()[:-6])
        with pytest.raises(kk.ReleaseError, match=f"out.{suffix}"):
            kk.read_release(path)


class TestDamagedManifests:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"records": "100"},
            {"records": None},
            {"order": "sorted"},
            {"for_publication": "no"},
            {"k": "10"},
            {"k": 0},
            {"n": None},
            {"n": "20"},
            {"calibration": "guess"},
            {"columns": []},
            {"columns": {}},
            {"columns": {"job": 3}},
        ],
        ids=str,
    )
    def test_a_manifest_with_a_value_that_cannot_be_meant(self, small, wrong, tmp_path):
        path = saved(small, tmp_path, "csv")
        edit_manifest(path, lambda fields: fields | wrong)
        with pytest.raises(kk.ReleaseError):
            kk.read_release(path)

    @pytest.mark.parametrize(
        "mechanism",
        [
            None,
            "retention",
            {},
            {"kind": "magic"},
            {"kind": "retention"},
            {"kind": "retention", "retention": 1.5},
            {"kind": "retention", "retention": "0.5"},
            {"kind": "laplace", "scale": 1},
            {"kind": "pram", "matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]},
            {"kind": "pram", "matrix": [[1], [0, 1]]},
            {"kind": "pram", "matrix": [["a", "b"], ["c", "d"]]},
            {"kind": "pram", "matrix": [[0.5, 0.6], [0.5, 0.5]]},
        ],
        ids=str,
    )
    def test_a_manifest_with_a_mechanism_that_cannot_be_meant(self, small, mechanism, tmp_path):
        path = saved(small, tmp_path, "csv")

        def change(fields):
            fields["columns"]["job"]["mechanism"] = mechanism
            return fields

        edit_manifest(path, change)
        with pytest.raises(kk.ReleaseError, match="its manifest is damaged"):
            kk.read_release(path)


class TestMoreRefusals:
    def test_a_parquet_file_with_damaged_pages(self, small, tmp_path):
        path = saved(small, tmp_path, "parquet")
        content = bytearray(path.read_bytes())
        footer = int.from_bytes(content[-8:-4], "little")
        content[4 : -8 - footer] = bytes(len(content) - 12 - footer)
        path.write_bytes(content)
        with pytest.raises(kk.ReleaseError, match=r"out\.parquet"):
            kk.read_release(path)

    def test_a_csv_file_with_a_number_that_is_none(self, small, tmp_path):
        path = saved(small, tmp_path, "csv")
        lines = path.read_text().splitlines()
        lines[50] = '"x",young,2000'
        path.write_text("\n".join(lines))
        with pytest.raises(kk.ReleaseError, match=r"out\.csv"):
            kk.read_release(path)

    def test_a_csv_file_without_its_manifest_names_what_is_lacking(self, small, tmp_path):
        path = saved(small, tmp_path, "csv")
        (tmp_path / "out.release.json").unlink()
        with pytest.raises(kk.ReleaseError, match=r"has no manifest out\.release\.json beside it"):
            kk.read_release(path)

    def test_another_kind_of_file(self, tmp_path):
        (tmp_path / "out.txt").touch()
        with pytest.raises(kk.ReleaseError, match=r"a release is a \.parquet or a \.csv file"):
            kk.read_release(tmp_path / "out.txt")
