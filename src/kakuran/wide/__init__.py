"""Wide tables of people × items: factorised, perturbed or aggregated, and multiplied out again."""

from kakuran.wide.boolean import BooleanFactors, boolean_product, encode_rows, factorise_boolean
from kakuran.wide.grouping import GroupingMethod, check_groups, check_k, group_records
from kakuran.wide.masked import MaskedFactors, factorise_masked, solve_rows
from kakuran.wide.matrices import binary_matrix, counts_matrix, pack
from kakuran.wide.matrix_release import (
    MatrixKind,
    Protect,
    ReleasedMatrix,
    perturb_bits,
    perturb_counts,
    release_matrix,
)
from kakuran.wide.microaggregation import Centre, Microaggregated, default_distance, distances_for, microaggregate
from kakuran.wide.transactions import check_transactions_target, read_transactions, write_transactions

__all__ = [
    "BooleanFactors",
    "Centre",
    "GroupingMethod",
    "MaskedFactors",
    "MatrixKind",
    "Microaggregated",
    "Protect",
    "ReleasedMatrix",
    "binary_matrix",
    "boolean_product",
    "check_groups",
    "check_k",
    "check_transactions_target",
    "counts_matrix",
    "default_distance",
    "distances_for",
    "encode_rows",
    "factorise_boolean",
    "factorise_masked",
    "group_records",
    "microaggregate",
    "pack",
    "perturb_bits",
    "perturb_counts",
    "read_transactions",
    "release_matrix",
    "solve_rows",
    "write_transactions",
]
