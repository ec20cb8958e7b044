"""What has been collected so far, as columns in memory that grow with the store.

Exports of a survey: one release that grows by whole cohorts.

Whoever has two exports of a survey that runs knows which records came in between, and perhaps that somebody answered in
that time. So what is added at a time, a cohort, is a release by itself: as many people as the promise needs, each
hidden among those of the same cohort only. An export holds all cohorts there are, says how large each is, and promises
the k of the smallest.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kakuran.collect.messages import Form
from kakuran.collect.store import Store
from kakuran.collect.survey import Survey
from kakuran.counts import Cells, Tally, count_codes
from kakuran.design import Plan
from kakuran.errors import ReleaseError, counted
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.release import Manifest, Release
from kakuran.typing import Codes


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


class TooFewError(ReleaseError):
    """Not as many have answered as an export needs."""


def export_survey(store: Store) -> Release:
    """All complete cohorts in random order, with what is promised for them; those who wait become one if they may."""
    survey = store.survey
    exported = store.export()
    if not exported.cohorts:
        raise TooFewError(_too_few(survey, store))
    codes = Kernel(survey.plan).unpack(np.frombuffer(b"".join(exported.rows), Form(survey).row_type))
    order = Randomness.secure().permutation(len(exported.rows))
    plan = survey.plan_for(min(exported.cohorts))
    batch = Kernel(plan).decode({name: column[order] for name, column in codes.items()})
    manifest = Manifest(plan, len(order), "shuffled", seeded=False, cohorts=exported.cohorts)
    return Release(pa.Table.from_batches([batch]), manifest)


def standing(store: Store, n: int) -> dict[str, Any]:
    """What an export would hold with n records: those of cohorts that were made, those who wait, how many they need."""
    made = store.cohorts()
    needed = store.survey.cohort_n(made, is_closed=store.state == "closed")
    waiting = n - sum(made)
    return {"cohorts": list(made), "waiting": waiting, "missing": max(0, needed - waiting)}


def hidden_among(cohorts: list[int], n: int) -> int:
    """Among how many people everybody is hidden at least, if n have answered."""
    return min(cohorts, default=n)


def _too_few(survey: Survey, store: Store) -> str:
    stands = standing(store, store.count())
    missing = counted(stands["missing"], "more answer")
    closing = "" if survey.expected_n is None or store.state == "closed" else "; or close the survey"
    return (
        f"an export needs {missing}, so that it keeps the survey's promise for those in it even if it is compared with "
        f"the next one{closing}"
    )
