"""A release made and counted through Spark Connect, where there is no Java in this process."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import kakuran as kk
from kakuran.engine.spark import Originals, read_originals
from kakuran.engine.spark.partials import BYTES_A_BATCH
from kakuran.errors import DataError
from kakuran.samples import census, census_schema

if __name__ == "__main__":
    server, folder = sys.argv[1], Path(sys.argv[2])
    spark = SparkSession.builder.remote(server).getOrCreate()
    print(type(spark).__module__)
    schema, people = census_schema(), census(3_000)
    frame = spark.createDataFrame(people).repartition(3)
    tally = Originals(frame, schema).count_columns(schema.released)
    assert spark.conf.get(BYTES_A_BATCH, None) is None
    kk.perturb_file(
        frame, folder / "out", kk.calibrate(schema, data=tally, calibration="data-dependent", k=5, tell="all")
    )
    counted, read = kk.read_release(folder / "out", spark=spark), kk.read_release(folder / "out")
    for one in (counted, read):
        print(one.n, one.crosstab("sex", "region").counts.round(6).tolist())
    (folder / "people.csv").write_text("sex,age,job,region\nmale,1000,office,west\n", encoding="utf-8")
    try:
        read_originals(spark, folder / "people.csv", schema).count_columns(schema.released)
    except DataError as error:
        print(error)
