from .cells import (
    Bins as Bins,
    Cells as Cells,
    Reading as Reading,
    cells_of as cells_of,
    every_code as every_code,
    only as only,
)
from .predicate import (
    Predicate as Predicate,
    parse as parse,
)
from .tally import (
    Counting as Counting,
    DenseTally as DenseTally,
    DistinctRows as DistinctRows,
    MemoryRecords as MemoryRecords,
    Records as Records,
    SparseTally as SparseTally,
    Tally as Tally,
    count_codes as count_codes,
    distinct_rows as distinct_rows,
    rows_of_each as rows_of_each,
)
