"""The columns a classifier learns from: the target first, every number cut into cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kakuran.answers.question import transition_of
from kakuran.answers.tree.counts import Counted, Passes, Tallies
from kakuran.counts import Cells, cells_of
from kakuran.design import Plan
from kakuran.errors import SchemaError
from kakuran.model import Records
from kakuran.schema import Categorical, Numeric
from kakuran.typing import Codes

BINS = 16
"""Into how many cells a number is cut."""
MOST_CLASSES = 1_000
"""Values of a target: what is computed grows with their square."""
MOST_VALUES = 10_000
"""Values of a category that is learned from; of more, hardly any two records share one, and noise has the last word."""
MOST_DISTINCT = 1 << 20
"""So many distinct records are learned from in memory."""


@dataclass(frozen=True, eq=False)
class LearningColumns:
    """The axes of a learning task; the first is the target."""

    axes: tuple[Cells, ...]
    is_ordered: tuple[bool, ...]

    def counted(self, plan: Plan, n: int, tallies: Tallies) -> Counted:
        """The records of a release, to learn from: counted once if few can be distinct, else over and over."""
        transitions = tuple(transition_of(plan, axis) for axis in self.axes)
        passes = Passes(self.axes, transitions, tallies)
        return passes.distinct() if min(n, math.prod(passes.sizes)) <= MOST_DISTINCT else passes

    def placed(self, codes: Mapping[str, Codes], plan: Plan | None) -> Records:
        """Records to predict the target of; clean ones, unless a plan says how they were perturbed."""
        places = [axis.place(codes[axis.name]).astype(np.intp) for axis in self.axes[1:]]
        unknown: NDArray[np.intp] = np.zeros(len(places[0]), np.intp)
        transitions = [None if plan is None else transition_of(plan, axis) for axis in self.axes[1:]]
        sizes = tuple(axis.size for axis in self.axes)
        return Records((unknown, *places), np.ones(len(unknown)), (None, *transitions), sizes)


def check_classes(target: str, classes: int) -> None:
    """Refuse a target of more classes than can be told apart in reasonable time and memory."""
    if classes > MOST_CLASSES:
        raise SchemaError(
            f"the target {target!r} has {classes:,} classes, more than the {MOST_CLASSES:,} that can be learned; "
            "group them first"
        )


def columns_for(plan: Plan, target: str, features: Sequence[str] | None = None) -> LearningColumns:
    """The target and the other released columns, or some of them."""
    attribute = plan.schema.in_release(target)
    if not isinstance(attribute, Categorical):
        raise SchemaError(f"the target {target!r} must be a column of categories")
    released = [other.name for other in plan.schema.released if other.name != target]
    if target in (features or ()):
        raise SchemaError(f"the target {target!r} cannot be learned from itself")
    names = list(released if features is None else dict.fromkeys(features))
    if not names:
        raise SchemaError(f"there is no column to learn {target!r} from")
    attributes = [plan.schema.in_release(name) for name in names]
    check_classes(target, attribute.size)
    for other in attributes:
        if isinstance(other, Categorical) and other.size > MOST_VALUES:
            raise SchemaError(
                f"column {other.name!r} has {other.size:,} values, more than the {MOST_VALUES:,} that can be learned "
                "from; leave it out of the features, or group its values before they are perturbed"
            )
    cells = [
        cells_of(plan.schema, other.name, min(BINS, other.points) if isinstance(other, Numeric) else None)
        for other in attributes
    ]
    ordered = [isinstance(other, Numeric) or (isinstance(other, Categorical) and other.ordered) for other in attributes]
    return LearningColumns((cells_of(plan.schema, target, None), *cells), (False, *ordered))
