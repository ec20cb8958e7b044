import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from kakuran.schema import Categorical, Numeric, Schema, open_source
from kakuran.schema.schema import read_all, read_table

WRITE = {
    "parquet": pq.write_table,
    "csv": pyarrow.csv.write_csv,
    "arrow": pyarrow.feather.write_feather,
}


@pytest.fixture(params=[*WRITE, "frame"])
def source(request, tmp_path):
    """Make a source of some kind hold a table."""

    def holding(table):
        if request.param == "frame":
            return open_source(table)
        path = tmp_path / f"table.{request.param}"
        WRITE[request.param](table, path)
        return open_source(path)

    return holding


def test_a_source_without_records_is_a_table_without_rows(source):
    nobody = source(pa.table({"age": pa.array([], pa.int64()), "job": pa.array([], pa.string())}))
    schema = Schema([Numeric("age", 0, 99, step=1), Categorical("job", ["clerk", "nurse"])])
    for table in (read_all(nobody), read_table(nobody, schema)):
        assert table.column_names == ["age", "job"]
        assert table.num_rows == 0


def test_a_column_is_read_as_text_where_its_source_leaves_that_open(tmp_path):
    (tmp_path / "people.csv").write_text("id,age\n1.0,30\n2.0,40\n")
    table = read_all(open_source(tmp_path / "people.csv"), texts=["id", "absent"])
    assert table.to_pydict() == {"id": ["1.0", "2.0"], "age": [30, 40]}


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("ids", [[7, 12], ["007", "7"]])
def test_a_column_that_has_a_type_keeps_it(kind, ids, tmp_path):
    table = pa.table({"id": ids, "age": [30, 40]})
    WRITE[kind](table, tmp_path / f"people.{kind}")
    assert read_all(open_source(tmp_path / f"people.{kind}"), texts=["id"]) == table
