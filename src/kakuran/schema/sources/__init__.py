"""Where records come from: files, folders, databases, frames; all read the same way, batch by batch."""

from kakuran.schema.sources.sheets import SheetSource as SheetSource
from kakuran.schema.sources.statistical import StatisticalSource as StatisticalSource
