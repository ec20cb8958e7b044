"""Learning where no record tells everything: from records that the joint model draws, judged by counts it never saw.

What a model draws agrees with the model, so it cannot tell how far the model is right. The counts of each part of the
release can: a learner that has seen no more than a model without the part says how likely every class is given made-up
attributes, and so how the classes should come out, perturbed, beside the attributes that the part tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kakuran.answers.reader import JointTables, Reader
from kakuran.answers.tree.columns import Learned, LearningColumns
from kakuran.model import JointModel, PlacedRecords
from kakuran.typing import Array, Progress

MOST_DRAWN = 1 << 18
"""So many records are drawn from a joint model to learn from, at most: more would say no more than these."""
MOST_JUDGED = 1 << 14
"""So many are drawn without each part."""
LUCK_OF_CHOICE = 3.0
"""How much better what is chosen by held-out counts predicts them by luck."""


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
    """

    columns: LearningColumns
    joint: JointTables
    n: int

    @classmethod
    def of(cls, columns: LearningColumns, reader: Reader, progress: Progress) -> ToldRecords:
        """Of a release."""
        return cls(columns, reader.joint(columns.axes, progress), reader.n)

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
        return PlacedRecords.distinct_of(places, [axis.size for axis in self.columns.axes])

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
        return self.joint.model.foretells(part, axes, records.places[1:], classes * records.weights[:, None])
