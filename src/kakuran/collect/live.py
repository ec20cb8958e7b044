"""What has been collected so far, as columns in memory that grow with the store."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kakuran.calibration import Plan
from kakuran.collect.messages import Form
from kakuran.collect.store import Store
from kakuran.counts import Cells, Tally, count_codes
from kakuran.perturbation import Kernel
from kakuran.schema.codes import Codes


@dataclass(frozen=True)
class Snapshot:
    """The records at one moment, ready to be counted.

    Attributes
    ----------
    plan : with the k that so many records reach
    n : number of records
    codes : of every column
    """

    plan: Plan
    n: int
    codes: Mapping[str, Codes]

    def tallies(self, tables: Sequence[Sequence[Cells]]) -> list[Tally]:
        """Count the perturbed records in the cells that the axes of each table span."""
        return count_codes(self.codes, tables)


class Live:
    """Reads each record of a store once; may be called from any thread."""

    def __init__(self, store: Store, form: Form) -> None:
        self._store = store
        self._survey = form.survey
        self._kernel = Kernel(form.survey.plan)
        self._rows = np.empty(0, form.row_type)
        self._mark: Any = None
        self._turn = threading.Lock()
        self._latest: Snapshot | None = None

    def refresh(self) -> int:
        """Read what is new; how many records there are."""
        with self._turn:
            return self._refresh()

    def _refresh(self) -> int:
        rows, self._mark, is_all = self._store.read_new(self._mark)
        if rows or is_all:
            fresh = np.frombuffer(b"".join(rows), self._rows.dtype)
            self._rows = fresh if is_all else np.concatenate([self._rows, fresh])
            self._latest = None
        return len(self._rows)

    def snapshot(self) -> Snapshot:
        """The records so far."""
        with self._turn:
            n = self._refresh()
            if self._latest is None:
                self._latest = Snapshot(self._survey.plan_for(max(n, 1)), n, self._kernel.unpack(self._rows))
            return self._latest
