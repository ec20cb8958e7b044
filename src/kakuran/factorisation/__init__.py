"""Wide tables of people × items: factorised, perturbed or aggregated, and multiplied out again."""

from kakuran.factorisation.boolean import BooleanFactors, encode_rows, factorise_boolean
from kakuran.factorisation.masked import MaskedFactors, factorise_masked
from kakuran.factorisation.release import Kind, Protect, ReleasedMatrix, release_matrix

__all__ = [
    "BooleanFactors",
    "Kind",
    "MaskedFactors",
    "Protect",
    "ReleasedMatrix",
    "encode_rows",
    "factorise_boolean",
    "factorise_masked",
    "release_matrix",
]
