"""A model of the residual protocol as one side sees it, and how it outlives a restart."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from kakuran.vertical.checkpoints import Checkpoints
from kakuran.vertical.regression.moments import Array
from kakuran.vertical.regression.selection import Step


@dataclass(frozen=True)
class Model:
    """A fitted model as one side sees it."""

    columns: tuple[str, ...]
    their_columns: tuple[str, ...]
    coefficients: Array
    part: Array
    their_part: Array
    variance: float
    """RSS/N in standardised units."""
    score: float
    their_space: Array | None = None


def save_model(checkpoints: Checkpoints, model: Model, steps: list[Step], rounds: int, seen: Array) -> None:
    """Keep a fitted model, the steps that led to it, and what the other side has seen by then."""
    facts = {
        "columns": model.columns,
        "their_columns": model.their_columns,
        "variance": model.variance,
        "score": model.score,
        "rounds": rounds,
        "steps": [asdict(step) for step in steps],
    }
    path = json.dumps([(step.action, step.column) for step in steps])
    arrays = {"coefficients": model.coefficients, "part": model.part, "their_part": model.their_part, "seen": seen}
    checkpoints.save(stage_name(len(steps) - 1), hashlib.sha256(path.encode()).hexdigest(), facts, **arrays)


def load_model(checkpoints: Checkpoints, stage: str) -> tuple[Model, list[Step], int, Array]:
    """The inverse of `save_model`."""
    facts, arrays = checkpoints.load(stage)
    seen = arrays.pop("seen")
    model = Model(
        columns=tuple(facts["columns"]),
        their_columns=tuple(facts["their_columns"]),
        variance=facts["variance"],
        score=facts["score"],
        **arrays,
    )
    return model, [Step(**step) for step in facts["steps"]], facts["rounds"], seen


def stage_name(dropped: int) -> str:
    """The name of the stage at which so many variables were dropped; sorts by number."""
    return f"model-{dropped:05d}"
