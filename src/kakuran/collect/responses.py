"""Answers of the routes that are not in a hurry."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from kakuran.collect.problems import Problem
from kakuran.collect.site import POLICY

HEADERS = POLICY | {"cache-control": "no-store"}


def answer(value: Any, *, status: int = 200) -> Response:
    """JSON."""
    return Response(json.dumps(value, ensure_ascii=False, allow_nan=False), status, HEADERS, "application/json")


def answer_problem(problem: Problem) -> Response:
    """Problem details."""
    return Response(problem.body(), problem.kind.status, HEADERS | problem.headers())
