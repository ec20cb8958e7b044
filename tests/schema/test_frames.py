import pyarrow as pa
import pytest

from kakuran.schema.frames import like


@pytest.mark.parametrize("ages", [[], [30], [30, 40]])
def test_a_record_batch_comes_back_as_one_however_many_records_there_are(ages):
    table = pa.table({"age": pa.array(ages, pa.int64())})
    batch = like(table, pa.RecordBatch.from_pydict({"age": [1, 2, 3]}))
    assert isinstance(batch, pa.RecordBatch)
    assert pa.Table.from_batches([batch]) == table
