"""Exports of a survey: one release that grows by whole cohorts.

Whoever has two exports of a survey that runs knows which records came in between, and perhaps that somebody answered in
that time. So what is added at a time, a cohort, is a release by itself: as many people as the promise needs, each
hidden among those of the same cohort only. An export holds all cohorts there are, says how large each is, and promises
the k of the smallest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kakuran.collect.messages import Form
from kakuran.collect.store import Store
from kakuran.collect.survey import Survey
from kakuran.errors import ReleaseError, counted
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.release import Manifest, Release


class TooFewError(ReleaseError):
    """Not as many have answered as an export needs."""


def export(store: Store) -> Release:
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


def crowd(cohorts: list[int], n: int) -> int:
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
