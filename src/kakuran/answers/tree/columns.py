"""What a classifier learns from, the target first and every number cut into cells; and what it says of records.

Where no record tells everything, it learns from records that the joint model draws. What a model draws agrees with the
model, so it cannot tell how far the model is right. The counts of each part of the release can: a learner that has seen
no more than a model without the part says how likely every class is given made-up attributes, and so how the classes
should come out, perturbed, beside the attributes that the part tells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kakuran.answers.answer import Answer
from kakuran.answers.reader import JointTables, Reader, transition_of
from kakuran.answers.tree.counts import Counted, Passes, Weighing
from kakuran.counts import Cells, cells_of
from kakuran.design import Plan
from kakuran.errors import DataError, SchemaError
from kakuran.model import JointModel, PlacedRecords
from kakuran.schema import Categorical, Numeric, Schema, encode_columns, no_reach, to_arrow
from kakuran.typing import Array, Codes, Progress
from kakuran.words import Phrase

BINS = 16
"""Into how many cells a number is cut."""
MOST_CLASSES = 1_000
"""Values of a target: what is computed grows with their square."""
MOST_VALUES = 10_000
"""Values of a category that is learned from; of more, hardly any two records share one, and noise has the last word."""
MOST_DISTINCT = 1 << 20
"""So many distinct records are learned from in memory."""
MOST_DRAWN = 1 << 18
"""So many records are drawn from a joint model to learn from, at most: more would say no more than these."""
MOST_JUDGED = 1 << 14
"""So many are drawn without each part."""
LUCK_OF_CHOICE = 3.0
"""How much better what is chosen by held-out counts predicts them by luck."""


@dataclass(frozen=True, eq=False)
class LearningColumns:
    """The axes of a learning task; the first is the target.

    Attributes
    ----------
    axes : tuple of Cells
        The cells of each column.
    is_ordered : tuple of bool
        Whether the cells of an axis have an order.
    classes : array
        The values of the target.
    schema : Schema, optional
        What the columns of a frame mean; without one, records come as codes.
    """

    axes: tuple[Cells, ...]
    is_ordered: tuple[bool, ...]
    classes: NDArray[Any]
    schema: Schema | None = None

    @property
    def features(self) -> list[str]:
        """The names of the columns to learn from."""
        return [axis.name for axis in self.axes[1:]]

    def counted(self, reader: Reader, progress: Progress, weighing: Weighing | None = None) -> Counted:
        """The whole records of a release, to learn from: counted once if few can be distinct, else over and over."""
        transitions = tuple(transition_of(reader.plan, axis) for axis in self.axes)
        passes = Passes(self.axes, transitions, partial(reader.records.tallies, progress=progress), weighing)
        distinct = math.prod(passes.sizes) * (1 if weighing is None else weighing.cells.size)
        return passes.distinct() if min(reader.n, distinct) <= MOST_DISTINCT else passes

    def placed(self, records: Any, plan: Plan | None = None) -> PlacedRecords:
        """Records to predict the target of, a frame or codes; clean, unless a plan says how they were perturbed."""
        if plan is not None and plan.layout.told:
            raise SchemaError(
                Phrase("records that tell only some of their columns cannot be classified one by one; clean can")
            )
        codes = records if isinstance(records, Mapping) else self._codes(records, plan)
        reach = no_reach if plan is None else plan.reach
        places = [axis.place(codes[axis.name], reach(axis.name)).astype(np.intp) for axis in self.axes[1:]]
        unknown: NDArray[np.intp] = np.zeros(len(places[0]), np.intp)
        transitions = [None if plan is None else transition_of(plan, axis) for axis in self.axes[1:]]
        sizes = tuple(axis.size for axis in self.axes)
        return PlacedRecords((unknown, *places), np.ones(len(unknown)), (None, *transitions), sizes)

    def _codes(self, frame: Any, plan: Plan | None) -> Mapping[str, Codes]:
        if self.schema is None:
            raise SchemaError(Phrase("this was learned from arrays, without a schema to read a frame by; give codes"))
        table = to_arrow(frame)
        for name in self.features:
            if name not in table.column_names:
                raise DataError(name, Phrase("was learned from, but the table lacks it"), Phrase("Add it."))
        if plan is not None:
            return plan.layout.encode(table, self.features)
        return encode_columns(self.schema.some(self.features), table)


def check_classes(target: str, classes: int) -> None:
    """Refuse a target of more classes than can be told apart in reasonable time and memory."""
    if classes > MOST_CLASSES:
        raise SchemaError(
            Phrase(
                "the target {target!r} has {classes:,} classes, more than the {most:,} that can be learned; "
                "group them first",
                target=target,
                classes=classes,
                most=MOST_CLASSES,
            )
        )


def columns_for(
    plan: Plan, target: str, features: Sequence[str] | None = None, weights: str | None = None
) -> LearningColumns:
    """The target and the other released columns, or some of them, but for the one that weighs records."""
    attribute = plan.schema.in_release(target)
    if not isinstance(attribute, Categorical):
        raise SchemaError(Phrase("the target {target!r} must be a column of categories", target=target))
    if weights is not None and weights in (target, *(features or ())):
        raise SchemaError(
            Phrase(
                "column {name!r} weighs the records, so it is neither learned nor learned from; leave it out, or count "
                "every record once with weights=False (--weights none)",
                name=weights,
            )
        )
    released = [other.name for other in plan.schema.released if other.name not in (target, weights)]
    if target in (features or ()):
        raise SchemaError(Phrase("the target {target!r} cannot be learned from itself", target=target))
    names = list(released if features is None else dict.fromkeys(features))
    if not names:
        raise SchemaError(Phrase("there is no column to learn {target!r} from", target=target))
    attributes = [plan.schema.in_release(name) for name in names]
    check_classes(target, attribute.size)
    for other in attributes:
        if isinstance(other, Categorical) and other.size > MOST_VALUES:
            raise SchemaError(
                Phrase(
                    "column {name!r} has {values:,} values, more than the {most:,} that can be learned from; "
                    "leave it out of the features, or group its values before they are perturbed",
                    name=other.name,
                    values=other.size,
                    most=MOST_VALUES,
                )
            )
    target_cells = cells_of(plan.schema, target, None)
    cells = [
        cells_of(plan.schema, other.name, min(BINS, other.points) if isinstance(other, Numeric) else None)
        for other in attributes
    ]
    ordered = [isinstance(other, Numeric) or (isinstance(other, Categorical) and other.ordered) for other in attributes]
    return LearningColumns((target_cells, *cells), (False, *ordered), _classes(attribute, target_cells), plan.schema)


def _classes(attribute: Categorical, cells: Cells) -> NDArray[Any]:
    """The values of the target themselves; where missing is one of them, by its label."""
    missing = cells.labels[len(attribute.values) :]
    return np.array([*attribute.values, *missing], dtype=object) if missing else np.array(attribute.values)


class Learned(Protocol):
    """What was learned, in terms of cells."""

    @property
    def held_out(self) -> float:
        """Mean log-likelihood of the perturbed class of held-out records given their perturbed attributes."""

    def predict(self, records: PlacedRecords) -> Array:
        """Class probabilities of records, clean where their transitions are None, perturbed otherwise."""


@dataclass(frozen=True, eq=False)
class Classifier(Answer):
    """An answer that predicts a column.

    Attributes
    ----------
    columns : LearningColumns
        What it was learned from.
    learned : Learned
        What was learned.
    unit : str, optional
        What is counted, where that is not records, in words.
    """

    columns: LearningColumns
    learned: Learned
    unit: str | None = None

    @property
    def caption(self) -> str:
        """What is counted, where that is not records; else nothing."""
        return "" if self.unit is None else Phrase("counted in {unit}", unit=self.unit)

    @property
    def target(self) -> str:
        """The name of the column that is predicted."""
        return self.columns.axes[0].name

    @property
    def held_out(self) -> float:
        """Mean log-likelihood of the perturbed class of held-out records: the larger, the better it predicts."""
        return self.learned.held_out

    def predict_proba(self, records: Any, plan: Plan | None = None) -> Array:
        """The probability of each class, record by record.

        Parameters
        ----------
        records : data frame or dict of arrays
            Records with the columns that were learned from, or their codes, as `Release.codes` gives them.
        plan : Plan, optional
            How the records were perturbed; without one they are taken to be clean.
        """
        return self.learned.predict(self.columns.placed(records, plan))

    def predict(self, records: Any, plan: Plan | None = None) -> NDArray[Any]:
        """The most likely class of each record; parameters as for `predict_proba`."""
        return self.columns.classes[np.argmax(self.predict_proba(records, plan), axis=1)]


@dataclass(frozen=True, eq=False)
class ToldRecords:
    """Made-up records to learn from, and what was held out of models to judge what is learned.

    Attributes
    ----------
    columns : LearningColumns
        The target and the columns it is predicted from.
    joint : JointTables
        The joint model of the release.
    n : int
        How many records the release holds.
    weighing : Weighing, optional
        How much they count.
    """

    columns: LearningColumns
    joint: JointTables
    n: int
    weighing: Weighing | None = None

    @classmethod
    def of(
        cls, columns: LearningColumns, reader: Reader, progress: Progress, weighing: Weighing | None = None
    ) -> ToldRecords:
        """Of a release."""
        axes = columns.axes if weighing is None else (*columns.axes, weighing.cells)
        return cls(columns, reader.joint(axes, progress), reader.n, weighing)

    @property
    def everything(self) -> PlacedRecords:
        """Records of the model of all that is told."""
        return self._drawn(self.joint.model, min(self.n, MOST_DRAWN), 0)

    @cached_property
    def without(self) -> list[PlacedRecords]:
        """Records of the models without each part."""
        return [self._drawn(model, min(self.n, MOST_JUDGED), 1) for model in self.joint.model.leaving_out]

    @cached_property
    def _fresh(self) -> list[PlacedRecords]:
        """Others of the same models."""
        return [self._drawn(model, min(self.n, MOST_JUDGED), 2) for model in self.joint.model.leaving_out]

    def _drawn(self, model: JointModel, count: int, stream: int) -> PlacedRecords:
        cells = model.draw(count, dice=model.randomness.spawn(stream).generator())
        places = [cells[place] for place in self.joint.places(self.columns.axes)]
        worth = None if self.by is None else self.by[1][cells[self.by[0]]]
        return PlacedRecords.distinct_of(places, [axis.size for axis in self.columns.axes], worth)

    @property
    def by(self) -> tuple[int, Array] | None:
        """Where among the columns of the model the weight is, and how much each of its classes counts."""
        return None if self.weighing is None else (self.joint.places([self.weighing.cells])[0], self.weighing.worth)

    def score(self, learned: Sequence[Learned]) -> float:
        """The log-likelihood of all held-out perturbed classes, given what else is told, by what never saw them."""
        return sum(
            self._foretold(part, one.predict(records))[0]
            for part, (one, records) in enumerate(zip(learned, self._fresh, strict=True))
        )

    @cached_property
    def tellers(self) -> float:
        """How many held-out records tell the class, or 1."""
        flat = [np.ones((len(records.weights), records.sizes[0])) for records in self._fresh]
        return max(sum(self._foretold(part, classes)[1] for part, classes in enumerate(flat)), 1.0)

    def _foretold(self, part: int, classes: Array) -> tuple[float, float]:
        records = self._fresh[part]
        axes = self.joint.places(self.columns.axes)
        return self.joint.model.foretells(part, axes, records.places[1:], classes * records.weights[:, None], self.by)
