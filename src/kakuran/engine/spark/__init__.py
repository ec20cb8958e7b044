"""The Spark engine: the same kernels and tallies on the partitions of a DataFrame, or on pieces of files.

Needs kakuran on the executors too, and a folder that they and this program see under the same path.
"""

from kakuran.errors import needing
from kakuran.words import Phrase

with needing(Phrase("the Spark engine"), "spark"):
    import pyspark as _  # noqa: F401

from kakuran.engine.spark.originals import Originals, read_originals, start_session
from kakuran.engine.spark.records import SparkRecords
from kakuran.engine.spark.tables import Files

__all__ = ["Files", "Originals", "SparkRecords", "read_originals", "start_session"]
