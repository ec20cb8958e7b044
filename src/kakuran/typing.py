"""Names of types that all stations share."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Codes: TypeAlias = NDArray[np.int32]
"""Values of a column as whole numbers: their places in its domain."""
Edges: TypeAlias = NDArray[np.integer[Any]]
"""Where cells begin: cell r holds the codes edges[r] … edges[r+1]−1."""
Progress: TypeAlias = Callable[[int], object]
"""Told how many more records are done."""
Reach: TypeAlias = Callable[[str], int]
"""How many codes beyond its domain a released value of a column may lie."""
Number: type = Real
"""What a number is, Python's or numpy's, for `isinstance`; whether a float can hold it, `errors.is_real` says."""
