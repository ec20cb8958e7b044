"""What has been collected so far, as columns that grow with the store; and an export of it as a release.

An export holds all cohorts there are (`store`), says how large each is, and promises the k of the smallest.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kakuran.collect.messages import Form
from kakuran.collect.store import Store
from kakuran.collect.survey import Survey
from kakuran.counts import MemoryRecords
from kakuran.design import Spending
from kakuran.errors import ReleaseError
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.release import Manifest, Release
from kakuran.words import Phrase


class Live:
    """Reads each record of a store once; may be called from any thread."""

    def __init__(self, store: Store, form: Form) -> None:
        self._store = store
        self._survey = form.survey
        self._kernel = Kernel(form.survey.plan)
        self._rows = np.empty(0, form.row_type)
        self._mark: Any = None
        self._turn = threading.Lock()
        self._latest: Release | None = None

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

    def snapshot(self) -> Release:
        """The records so far, as a release that stays here: its k is what so many records reach."""
        with self._turn:
            n = self._refresh()
            if self._latest is None:
                plan = self._survey.plan_for(max(n, 1))
                records = MemoryRecords(plan.layout, known=self._kernel.unpack(self._rows))
                self._latest = Release(records, Manifest(plan, n, "kept", seeded=False))
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


def spent_by(store: Store, release: Release, name: str) -> Spending:
    """What an export spends, for a ledger: all exports of a survey are one release, which grows.

    Exports hold nothing by which the answers of one person to two surveys could be joined.
    """
    spending = Spending.of(release.plan, name, "survey", source=store.origin(), repeats=store.survey.memoise or "")
    return replace(spending, n=min(release.manifest.cohorts))


def standing(store: Store, n: int) -> dict[str, Any]:
    """What an export would hold with n records: those of cohorts that were made, those who wait, how many they need.

    None where no more are exported: of a survey with certainty, while it is open and after its one export.
    """
    made = store.cohorts()
    needed = store.survey.cohort_n(made, is_closed=store.state == "closed")
    waiting = n - sum(made)
    missing = None if needed is None else max(0, needed - waiting)
    return {"cohorts": list(made), "waiting": waiting, "missing": missing}


def hidden_among(cohorts: list[int], n: int) -> int:
    """Among how many people everybody is hidden at least, if n have answered."""
    return min(cohorts, default=n)


def _too_few(survey: Survey, store: Store) -> str:
    stands = standing(store, store.count())
    missing = stands["missing"]
    if missing is None:
        return Phrase(
            "a survey with certainty is exported once, as the probabilities of failing would add up over exports; "
            "close the survey first"
        )
    is_final = survey.expected_n is None or store.state == "closed"
    return Phrase(
        "an export needs {answers}, so that it keeps the survey's promise for those in it even if it is compared with "
        "the next one{closing}",
        answers=Phrase("1 more answer") if missing == 1 else Phrase("{count:,} more answers", count=missing),
        closing="" if is_final else Phrase("; or close the survey"),
    )


def status_of(store: Store) -> dict[str, Any]:
    """How a survey stands: how many have answered, what that promises them, and what an export would hold."""
    survey, n = store.survey, store.count()
    stands = standing(store, n)
    return {
        "id": survey.id,
        "version": survey.version,
        "state": store.state,
        "n": n,
        "expected_n": survey.expected_n,
        "minimum_n": survey.minimum_n,
        "k": survey.k,
        "certainty": survey.certainty,
        "trust": survey.trust,
        "k_reached": survey.plan_for(hidden_among(stands["cohorts"], n)).k if n else None,
        "exported": stands["cohorts"],
        "missing_for_export": stands["missing"],
        "epsilon": survey.plan.epsilon,
        "question_sets": len(survey.plan.layout.told) or None,
        "unused_invitations": store.unused_invitations() if survey.invitations else None,
        "other_versions": other_versions(store),
    }


def other_versions(store: Store) -> dict[str, int]:
    """How many records the store has of other versions of the survey, where there are any."""
    return {version: count for version, count in store.counts().items() if version != store.survey.version and count}
