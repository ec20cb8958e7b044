"""Perturbing a file into a file: the same as in memory, for tables of any size."""

from __future__ import annotations

import json
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2_contingency, chisquare, spearmanr
from tests.few_people import files_without_names_in, write

import kakuran as kk
from kakuran.release import perturb_file

SCHEMA = kk.Schema(
    [
        kk.Dropped("name"),
        kk.Categorical("job", ["clerk", "nurse", "baker"]),
        kk.Numeric("age", 0, 9, step=1),
        kk.Categorical("region", ["east", "west"], role="keep"),
    ]
)
PLAN = kk.calibrate(SCHEMA, n=100, k=20, mechanisms={"age": "bounded-laplace"}, tell="all")
WAYS = [("parquet", "parquet"), ("csv", "parquet"), ("csv", "csv"), ("parquet", "csv")]


def people(rows):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "name": [f"person {row}" for row in range(rows)],
            "job": rng.choice(["clerk", "nurse", "baker"], rows, p=[0.7, 0.2, 0.1]),
            "age": rng.integers(0, 4, rows),
            "region": ["east", "west"] * (rows // 2),
        }
    )


def noiseless(schema):
    """A plan that changes nothing, so that rows can be followed."""
    mechanisms = {a.name: kk.RetentionReplacement(a.size, 1.0) for a in schema.perturbed}
    return kk.Plan.of_mechanisms(schema, mechanisms, n=1, k=1.0, calibration="worst-case")


@pytest.mark.parametrize(("source", "target"), WAYS)
class TestEveryWay:
    def test_a_release_comes_out_that_can_be_read(self, source, target, tmp_path):
        manifest = perturb_file(write(people(1000), tmp_path / f"in.{source}"), tmp_path / f"out.{target}", PLAN)
        release = kk.read_release(tmp_path / f"out.{target}")
        assert release.manifest.to_json() == manifest.to_json()
        assert release.table.column_names == ["job", "age", "region"]
        assert (release.n, release.k) == (1000, 20)
        SCHEMA.validate(release.table)

    def test_kept_columns_are_unchanged_as_a_whole(self, source, target, tmp_path):
        perturb_file(write(people(1000), tmp_path / f"in.{source}"), tmp_path / f"out.{target}", PLAN)
        released = kk.read_release(tmp_path / f"out.{target}").table["region"].to_pylist()
        assert Counter(released) == {"east": 500, "west": 500}

    def test_the_result_is_distributed_as_in_memory(self, source, target, tmp_path):
        table = people(20_000)
        perturb_file(write(table, tmp_path / f"in.{source}"), tmp_path / f"out.{target}", PLAN)
        counts = []
        for release in (kk.perturb(table, PLAN), kk.read_release(tmp_path / f"out.{target}")):
            codes = release.codes()
            cells = np.ravel_multi_index([codes["job"], codes["age"], codes["region"]], (3, 10, 2))
            counts.append(np.bincount(cells, minlength=60))
        assert min(counts[0].min(), counts[1].min()) > 5
        assert chi2_contingency(counts).pvalue > 1e-7

    def test_every_value_is_perturbed_as_its_mechanism_says(self, source, target, tmp_path):
        table = people(20_000)
        perturb_file(write(table, tmp_path / f"in.{source}"), tmp_path / f"out.{target}", PLAN, shuffle=False)
        released, original = kk.read_release(tmp_path / f"out.{target}").codes(), SCHEMA.encode(table)
        for name in ("job", "age"):
            size = SCHEMA[name].size
            for code in np.unique(original[name]):
                found = np.bincount(released[name][original[name] == code], minlength=size)
                shares = np.exp(PLAN[name].log_likelihood(np.arange(size), np.full(size, code)))
                assert chisquare(found, shares * found.sum()).pvalue > 1e-7

    def test_every_row_comes_out_once_whole_and_in_random_order(self, source, target, tmp_path, small_memory):
        schema = kk.Schema(
            [
                kk.Numeric("number", 0, 2999, step=1, role="keep"),
                kk.Categorical("job", ["x", "y", "z"]),
                kk.Numeric("half", 0, 1499.5, step=0.5),
            ]
        )
        numbers = np.arange(3000)
        table = pa.table({"number": numbers, "job": np.array(["x", "y", "z"])[numbers % 3], "half": numbers / 2})
        perturb_file(write(table, tmp_path / f"in.{source}"), tmp_path / f"out.{target}", noiseless(schema))
        released = kk.read_release(tmp_path / f"out.{target}").table
        arrived = released["number"].to_numpy()
        assert sorted(arrived.tolist()) == numbers.tolist()
        assert released["job"].to_pylist() == ["xyz"[number % 3] for number in arrived]
        assert (released["half"].to_numpy() == arrived / 2).all()
        assert abs(spearmanr(numbers, arrived).statistic) < 5.5 / np.sqrt(3000)
        moved = np.histogram2d(numbers, arrived, bins=5)[0]
        assert chi2_contingency(moved).pvalue > 1e-7

    def test_a_seed_gives_the_same_file_again(self, source, target, tmp_path, small_memory):
        path = write(people(1000), tmp_path / f"in.{source}")
        contents = []
        for name in ("one", "two"):
            with pytest.warns(kk.NotForPublicationWarning):
                manifest = perturb_file(path, tmp_path / f"{name}.{target}", PLAN, seed=5)
            contents.append((tmp_path / f"{name}.{target}").read_bytes())
            assert manifest.seeded
        assert contents[0] == contents[1]

    def test_without_a_seed_two_files_differ(self, source, target, tmp_path):
        path = write(people(1000), tmp_path / f"in.{source}")
        for name in ("one", "two"):
            perturb_file(path, tmp_path / f"{name}.{target}", PLAN)
        assert (tmp_path / f"one.{target}").read_bytes() != (tmp_path / f"two.{target}").read_bytes()

    def test_progress_hears_of_every_row(self, source, target, tmp_path, small_memory):
        heard = []
        path = write(people(1000), tmp_path / f"in.{source}")
        perturb_file(path, tmp_path / f"out.{target}", PLAN, progress=heard.append)
        assert sum(heard) == 1000
        assert len(heard) > 5

    def test_progress_hears_of_every_row_without_shuffling_too(self, source, target, tmp_path, small_memory):
        heard = []
        path = write(people(1000), tmp_path / f"in.{source}")
        perturb_file(path, tmp_path / f"out.{target}", PLAN, progress=heard.append, shuffle=False)
        assert sum(heard) == 1000

    def test_without_shuffling_rows_keep_their_place_and_the_manifest_says_so(
        self, source, target, tmp_path, small_memory
    ):
        path = write(people(1000), tmp_path / f"in.{source}")
        manifest = perturb_file(path, tmp_path / f"out.{target}", PLAN, shuffle=False)
        assert manifest.order == "kept"
        assert kk.read_release(tmp_path / f"out.{target}").table["region"].to_pylist() == ["east", "west"] * 500

    def test_the_source_is_not_changed_and_nothing_is_left_beside_the_target(self, source, target, tmp_path):
        path = write(people(1000), tmp_path / f"in.{source}")
        before = path.read_bytes()
        (tmp_path / "out").mkdir()
        perturb_file(path, tmp_path / "out" / f"out.{target}", PLAN)
        beside = {"parquet": set(), "csv": {"out.release.json"}}[target]
        assert {found.name for found in (tmp_path / "out").iterdir()} == {f"out.{target}"} | beside
        assert path.read_bytes() == before

    def test_missing_values_of_a_single_column_are_not_lost(self, source, target, tmp_path):
        schema = kk.Schema([kk.Categorical("job", ["x", "y"], missing="category")])
        path = write(pa.table({"job": ["x", None, "y", None] * 100}), tmp_path / f"in.{source}")
        manifest = perturb_file(path, tmp_path / f"out.{target}", noiseless(schema), shuffle=False)
        assert manifest.records == 400
        assert kk.read_release(tmp_path / f"out.{target}").table["job"].to_pylist() == ["x", None, "y", None] * 100


class TestDomains:
    """Files hold every kind of column that tables in memory may."""

    @pytest.mark.parametrize("suffix", ["parquet", "csv"])
    def test_every_kind_of_column_is_read(self, suffix, tmp_path):
        schema = kk.Schema(
            [
                kk.Categorical("職業", ["看護師", "a,b", 'q"q', "NA"], missing="category"),
                kk.Categorical("a.b", [True, False], missing="category"),
                kk.Categorical("a", [-1, 7], missing="category"),
                kk.Categorical("dose", [0.5, 1.25]),
                kk.Numeric("age", 0, 9, step=1, missing="category"),
                kk.Numeric("height", 1, 2, step=0.1),
            ]
        )
        table = pa.table(
            {
                "職業": ["看護師", "a,b", 'q"q', "NA", None] * 20,
                "a.b": [True, None, False, True, False] * 20,
                "a": [7, -1, None, 7, 7] * 20,
                "dose": [0.5, 1.25, 0.5, 0.5, 1.25] * 20,
                "age": [0, 9, None, 4, 5] * 20,
                "height": [1.0, 1.1, 2.0, 1.7, 1.3] * 20,
            }
        )
        path = write(table, tmp_path / f"in.{suffix}")
        perturb_file(path, tmp_path / "out.parquet", noiseless(schema), shuffle=False)
        released = kk.read_release(tmp_path / "out.parquet").codes()
        assert {name: codes.tolist() for name, codes in released.items()} == {
            name: codes.tolist() for name, codes in schema.encode(table).items()
        }

    @pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int16(), pa.string()), pa.string()], ids=str)
    def test_every_kind_of_text_in_parquet_is_read(self, kind, tmp_path):
        table = people(100)
        table = table.set_column(1, "job", table["job"].cast(kind))
        perturb_file(write(table, tmp_path / "in.parquet"), tmp_path / "out.parquet", noiseless(SCHEMA), shuffle=False)
        assert kk.read_release(tmp_path / "out.parquet").table["job"].to_pylist() == table["job"].to_pylist()

    def test_nan_in_a_csv_file_is_missing(self, tmp_path):
        (tmp_path / "in.csv").write_text("age,x\n1,a\nNaN,a\nnan,a\n,a\n")
        schema = kk.Schema([kk.Numeric("age", 0, 9, step=1, missing="category"), kk.Categorical("x", ["a", "b"])])
        perturb_file(tmp_path / "in.csv", tmp_path / "out.parquet", noiseless(schema), shuffle=False)
        assert kk.read_release(tmp_path / "out.parquet").table["age"].to_pylist() == [1, None, None, None]

    @pytest.mark.parametrize("mark", ["", "NA", "N/A", "null", "NaN"])
    def test_what_infer_takes_for_a_missing_number_perturbing_does_too(self, mark, tmp_path):
        (tmp_path / "in.csv").write_text(f"age,x\n1,a\n{mark},b\n3,a\n")
        with pytest.warns(kk.InferredDomainWarning, match="Have missing values.* age"):
            inferred = kk.Schema.infer(tmp_path / "in.csv")
        schema = kk.Schema([kk.Numeric("age", 1, 3, step=1, missing="category"), inferred["x"]])
        perturb_file(tmp_path / "in.csv", tmp_path / "out.parquet", noiseless(schema), shuffle=False)
        assert kk.read_release(tmp_path / "out.parquet").table["age"].to_pylist() == [1, None, 3]

    @pytest.mark.parametrize("content", ["﻿job\nx\ny\n", "job\r\nx\r\ny\r\n", '"job"\n"x"\n"y"', "job\nx\ny"])
    def test_csv_files_of_other_systems_are_read(self, content, tmp_path):
        (tmp_path / "in.csv").write_bytes(content.encode())
        schema = kk.Schema([kk.Categorical("job", ["x", "y"])])
        perturb_file(tmp_path / "in.csv", tmp_path / "out.parquet", noiseless(schema), shuffle=False)
        assert kk.read_release(tmp_path / "out.parquet").table["job"].to_pylist() == ["x", "y"]

    def test_blank_lines_between_rows_of_several_columns_are_no_records(self, tmp_path):
        (tmp_path / "in.csv").write_text("job,age\nx,1\n\ny,2\n\n")
        schema = kk.Schema([kk.Categorical("job", ["x", "y"]), kk.Numeric("age", 0, 9, step=1)])
        perturb_file(tmp_path / "in.csv", tmp_path / "out.parquet", noiseless(schema), shuffle=False)
        assert kk.read_release(tmp_path / "out.parquet").table["age"].to_pylist() == [1, 2]

    def test_free_text_of_many_lines_may_stand_in_a_csv_file(self, tmp_path, small_memory):
        schema = kk.Schema([kk.Dropped("notes"), kk.Categorical("job", ["x", "y"])])
        table = pa.table({"notes": [f"visit {row}\nfelt, well\n" for row in range(500)], "job": ["x", "y"] * 250})
        path = write(table, tmp_path / "in.csv")
        perturb_file(path, tmp_path / "out.parquet", noiseless(schema), shuffle=False)
        assert kk.read_release(tmp_path / "out.parquet").table["job"].to_pylist() == ["x", "y"] * 250

    def test_a_csv_file_may_be_thousands_of_columns_wide(self, tmp_path):
        names = [f"a rather long name of a column, number {place}" for place in range(2000)]
        schema = kk.Schema([*map(kk.Dropped, names), kk.Categorical("job", ["x", "y"])])
        path = write(pa.table({name: ["z"] * 2 for name in names} | {"job": ["x", "y"]}), tmp_path / "in.csv")
        assert perturb_file(path, tmp_path / "out.parquet", noiseless(schema)).records == 2

    def test_a_matrix_a_user_brought_perturbs_files(self, tmp_path):
        schema = kk.Schema([kk.Categorical("job", ["x", "y"])])
        plan = kk.calibrate(schema, n=100, k=2, mechanisms={"job": kk.PRAM([[0.6, 0.4], [0.2, 0.8]])}, tell="all")
        path = write(pa.table({"job": ["x"] * 20_000}), tmp_path / "in.parquet")
        perturb_file(path, tmp_path / "out.csv", plan)
        found = np.bincount(kk.read_release(tmp_path / "out.csv").codes()["job"])
        assert chisquare(found, [12_000, 8_000]).pvalue > 1e-7

    @pytest.mark.parametrize("target", ["parquet", "csv"])
    def test_noise_beyond_the_bounds_survives_the_buckets(self, target, tmp_path, small_memory):
        schema = kk.Schema([kk.Numeric("age", 0, 100, step=1)])
        plan = kk.calibrate(schema, n=100, k=90, mechanisms={"age": "laplace"}, tell="all")
        path = write(pa.table({"age": [0, 100] * 500}), tmp_path / "in.parquet")
        perturb_file(path, tmp_path / f"out.{target}", plan)
        codes = kk.read_release(tmp_path / f"out.{target}").codes()["age"]
        assert codes.min() < -127
        assert codes.max() > 227


class TestPrivacy:
    def test_metadata_of_the_source_does_not_travel(self, tmp_path):
        frame = people(1000).to_pandas()
        frame.attrs["note"] = "Original"
        frame.index = frame.index.rename("Original")
        table = pa.Table.from_pandas(frame, preserve_index=False)
        fields = [field.with_metadata({"Original": "Original"}) for field in table.schema]
        marked = table.cast(pa.schema(fields, metadata={"Original": "Original", **table.schema.metadata}))
        pq.write_table(marked, tmp_path / "in.parquet")
        assert b"Original" in (tmp_path / "in.parquet").read_bytes()
        perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", PLAN)
        assert set(pq.read_metadata(tmp_path / "out.parquet").metadata) == {b"ARROW:schema", b"kakuran"}
        assert all(not (field.metadata or {}).get(b"Original") for field in pq.read_schema(tmp_path / "out.parquet"))
        assert b"Original" not in (tmp_path / "out.parquet").read_bytes()

    @pytest.mark.parametrize(("source", "target"), WAYS)
    def test_dropped_values_and_the_seed_are_nowhere_in_the_result(self, source, target, tmp_path):
        path = write(people(1000), tmp_path / f"in.{source}")
        (tmp_path / "out").mkdir()
        with pytest.warns(kk.NotForPublicationWarning):
            perturb_file(path, tmp_path / "out" / f"out.{target}", PLAN, seed=987654321)
        for written in (tmp_path / "out").iterdir():
            assert b"person" not in written.read_bytes()
            assert b"987654321" not in written.read_bytes()

    def test_a_seed_marks_the_release_as_not_for_publication(self, tmp_path):
        path = write(people(1000), tmp_path / "in.parquet")
        with pytest.warns(kk.NotForPublicationWarning) as caught:
            perturb_file(path, tmp_path / "out.csv", PLAN, seed=1)
        assert caught[0].filename == __file__
        assert json.loads((tmp_path / "out.release.json").read_text())["for_publication"] is False

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows files that have no name")
    @pytest.mark.parametrize("target", ["parquet", "csv"])
    def test_no_temporary_file_ever_holds_an_original(self, target, tmp_path, small_memory):
        """Everybody is a spy; with nothing retained, released jobs are uniform, so hardly a row may say so."""
        jobs = [f"job {number}" for number in range(100)]
        schema = kk.Schema([kk.Dropped("name"), kk.Categorical("job", jobs)])
        plan = kk.Plan.of_mechanisms(
            schema, {"job": kk.RetentionReplacement(100, 0.0)}, n=1, k=1.0, calibration="worst-case"
        )
        table = pa.table({"name": ["James"] * 2000, "job": ["job 77"] * 2000})
        path = write(table, tmp_path / "in.parquet")
        folder = tmp_path / "out"
        folder.mkdir()
        seen = []

        def look(_):
            spilled = files_without_names_in(folder)
            found = [*spilled, *(file for file in folder.rglob("*") if file.is_file())]
            content = b"".join(file.read_bytes() for file in spilled)
            assert all(b"James" not in file.read_bytes() for file in found)
            assert all(b"job 77" not in file.read_bytes() for file in found)
            seen.append(np.frombuffer(content, np.int8))

        perturb_file(path, folder / f"out.{target}", plan, progress=look)
        fullest = max(seen, key=len)
        assert len(fullest) > 1500
        assert (fullest == 77).sum() < 50
        released = kk.read_release(folder / f"out.{target}").codes()["job"]
        assert not Counter(fullest.tolist()) - Counter(released.tolist())

    def test_temporary_files_are_for_their_owner_only(self, tmp_path):
        path = write(people(1000), tmp_path / "in.parquet")
        folder = tmp_path / "out"
        folder.mkdir()
        modes = []
        perturb_file(
            path,
            folder / "out.parquet",
            PLAN,
            progress=lambda _: modes.extend(found.stat().st_mode & 0o777 for found in folder.iterdir()),
        )
        assert modes == [0o700]


class TestRefusals:
    def refused(self, error, told, source, target, plan=PLAN, **settings):
        before = {path: path.read_bytes() for path in target.parent.iterdir() if path.is_file()}
        with pytest.raises(error, match=told):
            perturb_file(source, target, plan, **settings)
        assert {path: path.read_bytes() for path in target.parent.iterdir() if path.is_file()} == before
        assert not [path for path in target.parent.iterdir() if path.name.startswith(".")]

    @pytest.mark.parametrize("target", ["out.parquet", "out.csv"])
    def test_a_target_that_exists_is_not_replaced_unless_forced(self, target, tmp_path):
        source = write(people(1000), tmp_path / "in.parquet")
        (tmp_path / target).write_text("precious")
        self.refused(kk.ReleaseError, "exists already; use --force", source, tmp_path / target)
        assert perturb_file(source, tmp_path / target, PLAN, force=True).records == 1000
        assert kk.read_release(tmp_path / target).n == 1000

    def test_a_manifest_of_something_else_is_not_replaced_unless_forced(self, tmp_path):
        source = write(people(1000), tmp_path / "in.parquet")
        (tmp_path / "out.release.json").write_text("precious")
        self.refused(kk.ReleaseError, "exists already", source, tmp_path / "out.csv")

    @pytest.mark.parametrize("suffix", ["parquet", "csv"])
    def test_the_source_is_not_replaced_by_its_own_release_even_when_forced(self, suffix, tmp_path):
        source = write(people(1000), tmp_path / f"in.{suffix}")
        self.refused(kk.ReleaseError, f"in.{suffix}", source, source, force=True)

    def test_a_folder_that_is_not_there_is_refused_before_anything_is_read(self, tmp_path):
        with pytest.raises(kk.ReleaseError, match="there is no folder"):
            perturb_file(tmp_path / "in.parquet", tmp_path / "nowhere" / "out.parquet", PLAN)

    def test_a_folder_that_cannot_be_written_to_is_refused(self, tmp_path, monkeypatch):
        source = write(people(100), tmp_path / "in.parquet")
        monkeypatch.setattr("os.access", lambda path, mode: False)
        self.refused(kk.ReleaseError, "cannot be written to", source, tmp_path / "out.parquet")

    @pytest.mark.parametrize("name", ["in.parquet", "in.csv"])
    @pytest.mark.parametrize("shuffle", [True, False])
    def test_a_missing_source_is_named(self, name, shuffle, tmp_path):
        self.refused(
            kk.SchemaError, f"{name}: no such file", tmp_path / name, tmp_path / "out.parquet", shuffle=shuffle
        )

    @pytest.mark.parametrize("name", ["in.parquet", "in.csv"])
    def test_a_folder_as_source_is_refused_by_its_name(self, name, tmp_path):
        (tmp_path / name).mkdir()
        self.refused(kk.SchemaError, f"^{tmp_path / name}", tmp_path / name, tmp_path / "out.parquet")

    @pytest.mark.parametrize("shuffle", [True, False])
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("in.parquet", b"nothing of the kind"),
            ("in.parquet", b""),
            ("in.csv", b""),
            ("in.csv", b"name,job,age,region\nA,nurse,3\n"),
        ],
    )
    def test_a_damaged_source_is_refused_by_its_name(self, name, content, shuffle, tmp_path):
        (tmp_path / name).write_bytes(content)
        self.refused(kk.SchemaError, name, tmp_path / name, tmp_path / "out.parquet", shuffle=shuffle)

    def test_damaged_pages_are_blamed_on_the_source_and_not_on_the_target(self, tmp_path):
        source = write(people(1000), tmp_path / "in.parquet")
        content = bytearray(source.read_bytes())
        footer = int.from_bytes(content[-8:-4], "little")
        content[4 : -8 - footer] = bytes(len(content) - 12 - footer)
        source.write_bytes(content)
        self.refused(kk.SchemaError, f"^{source}", source, tmp_path / "out.parquet")

    def test_a_csv_file_that_is_not_utf8_is_refused_by_its_name(self, tmp_path):
        source = tmp_path / "in.csv"
        source.write_bytes("name,job,age,region\nA,infirmière,3,east\n".encode("latin-1"))
        self.refused(kk.SchemaError, r"in\.csv", source, tmp_path / "out.parquet")

    def test_another_kind_of_source_is_refused(self, tmp_path):
        (tmp_path / "in.txt").touch()
        told = r"in\.txt: expected a \.csv or \.parquet file"
        self.refused(kk.SchemaError, told, tmp_path / "in.txt", tmp_path / "out.parquet")

    @pytest.mark.parametrize("target", ["out.parquet", "out.csv"])
    @pytest.mark.parametrize("source", ["in.parquet", "in.csv"])
    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (lambda t: t.drop_columns(["age"]), "column 'age': declared in the schema but not in the table"),
            (lambda t: t.append_column("salary", t["age"]), "column 'salary': in the table but not in the schema"),
            (lambda t: t.rename_columns(["name", "job", "job", "region"]), "column 'job': the table has more than one"),
        ],
        ids=["lacking", "extra", "twice"],
    )
    def test_wrong_columns_are_named(self, change, told, source, target, tmp_path):
        path = write(change(people(100)), tmp_path / source)
        self.refused(kk.DataError, told, path, tmp_path / target)

    def test_a_table_smaller_than_the_plan_is_refused(self, tmp_path):
        source = write(people(98), tmp_path / "in.parquet")
        told = "calibrated for 100 records but there are only 49 in the smallest group"
        self.refused(kk.CalibrationError, told, source, tmp_path / "out.parquet")

    @pytest.mark.parametrize("name", ["in.parquet", "in.csv"])
    def test_an_empty_table_is_refused(self, name, tmp_path):
        source = write(people(100).slice(0, 0), tmp_path / name)
        self.refused(kk.CalibrationError, "the table is empty", source, tmp_path / "out.parquet")

    def test_a_data_dependent_plan_serves_its_own_file_and_refuses_another(self, tmp_path, small_memory):
        schema = kk.Schema([kk.Categorical("job", ["x", "y"])])
        own = write(pa.table({"job": ["x", "y"] * 100}), tmp_path / "own.csv")
        other = write(pa.table({"job": ["x"] * 199 + ["y"]}), tmp_path / "other.csv")
        plan = kk.calibrate(schema, data=own, calibration="data-dependent", k=10, tell="all")
        assert perturb_file(own, tmp_path / "out.parquet", plan).records == 200
        self.refused(kk.CalibrationError, "another table", other, tmp_path / "other.parquet", plan)
