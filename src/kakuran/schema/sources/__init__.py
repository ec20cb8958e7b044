"""Where records come from: files, folders, databases, frames; all read the same way, batch by batch."""

from kakuran.schema.sources.base import Part, Source, Wanted
from kakuran.schema.sources.opening import open_source

__all__ = [
    "Part",
    "Source",
    "Wanted",
    "open_source",
]
