from .boolean import (
    BooleanFactors as BooleanFactors,
    boolean_product as boolean_product,
    encode_rows as encode_rows,
    factorise_boolean as factorise_boolean,
)
from .items import (
    ItemsKept as ItemsKept,
    Supports as Supports,
    outsized_rows as outsized_rows,
    shares_of as shares_of,
)
from .masked import (
    MaskedFactors as MaskedFactors,
    factorise_masked as factorise_masked,
    solve_rows as solve_rows,
)
from .matrices import (
    binary_matrix as binary_matrix,
    counts_matrix as counts_matrix,
    pack as pack,
)
from .matrix_release import (
    MatrixKind as MatrixKind,
    Protect as Protect,
    ReleasedMatrix as ReleasedMatrix,
    perturb_bits as perturb_bits,
    perturb_counts as perturb_counts,
    release_matrix as release_matrix,
)
from .mdav import (
    GroupingMethod as GroupingMethod,
    check_groups as check_groups,
    check_k as check_k,
    group_records as group_records,
)
from .microaggregation import (
    Centre as Centre,
    Microaggregated as Microaggregated,
    declared_table as declared_table,
    default_distance as default_distance,
    distances_for as distances_for,
    microaggregate as microaggregate,
)
from .transactions import (
    check_transactions_target as check_transactions_target,
    guess_layout as guess_layout,
    read_transactions as read_transactions,
    write_transactions as write_transactions,
)
