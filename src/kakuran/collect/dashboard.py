"""The numbers of the dashboard, ready for JSON: functions of tallies, so a million records cost no more than a few.

Every answer is about the people who took part, with intervals at the same level as everywhere in kakuran, and nothing
is told before `minimum_n` of them did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kakuran.answers import (
    MOST_CELLS,
    Estimate,
    LearningColumns,
    Node,
    TableQuestion,
    ask,
    columns_for,
)
from kakuran.defaults import DEFAULT_LEVEL
from kakuran.errors import SchemaError
from kakuran.model import influence, interval
from kakuran.randomness import Randomness
from kakuran.release import Release
from kakuran.typing import Array
from kakuran.words import Phrase

HISTORY = 8
"""Sizes of the past that are shown."""


def summary(release: Release, *, minimum_n: int) -> dict[str, Any]:
    """All questions one by one, what is promised, and how intervals shrank as answers came in."""
    promise = {"k": _short(release.plan.k_for(release.n)), "epsilon": release.plan.epsilon}
    if release.n < minimum_n:
        return _standing(release, minimum_n) | promise
    asked = [ask(release.plan, (attribute.name,), {}, None) for attribute in release.plan.schema.released]
    counts = release.reader.count(asked)
    found = [release.reader.estimate(*one, level=DEFAULT_LEVEL) for one in zip(asked, counts, strict=True)]
    return _standing(release, minimum_n) | {
        **promise,
        "level": DEFAULT_LEVEL,
        "questions": [
            {
                "name": question.cells[0].name,
                "labels": question.cells[0].labels,
                "influence": _influence(question, table, release),
                **_numbers(estimate),
            }
            for question, table, estimate in zip(asked, counts, found, strict=True)
        ],
        "history": history(asked, counts, release, minimum_n),
    }


def crosstab(release: Release, rows: str, columns: str, *, minimum_n: int) -> dict[str, Any]:
    """Two questions against each other."""
    question = ask(release.plan, (rows, columns), {}, None)
    down, across = question.cells
    if down.size * across.size > MOST_CELLS:
        raise SchemaError(
            Phrase(
                "{rows} × {columns} has {cells:,} cells, too many to look at",
                rows=rows,
                columns=columns,
                cells=down.size * across.size,
            )
        )
    if release.n < minimum_n:
        return _standing(release, minimum_n)
    (counts,) = release.reader.count([question])
    found = release.reader.estimate(question, counts, level=DEFAULT_LEVEL)
    return _standing(release, minimum_n) | {
        "rows": {"name": rows, "labels": down.labels},
        "columns": {"name": columns, "labels": across.labels},
        "level": DEFAULT_LEVEL,
        "unclear": found.unclear.tolist(),
        **_numbers(found),
    }


def tree(release: Release, target: str, *, minimum_n: int) -> dict[str, Any]:
    """What predicts a question: the tree that `kakuran tree` grows on the same records.

    Where that tells nothing: what every other question by itself tells, as `kakuran bayes` has it.
    """
    columns_for(release.plan, target)  # what cannot be asked is refused, however few have answered
    if release.n < minimum_n:
        return _standing(release, minimum_n)
    found = release.tree(target)
    return _standing(release, minimum_n) | {
        "target": target,
        "classes": found.columns.axes[0].labels,
        "root": _branch(found.root, found.columns),
        "importances": {name: _short(share) for name, share in found.importances.items()},
        "text": str(found).splitlines(),
        "bits": {name: _short(bits) for name, bits in release.bayes(target).information.items()} if found.note else {},
    }


def history(
    asked: Sequence[TableQuestion], counts: Sequence[Array], release: Release, minimum_n: int
) -> list[dict[str, Any]]:
    """How wide the intervals of each question are on average, as shares, had fewer people answered.

    Answers do not depend on one another, so a random part of them tells as well as the first ones to come in, and no
    order of arrival has to be kept. The same answers give the same history.
    """
    sizes = _sizes(minimum_n, release.n)
    widths = [list(_widths(*one, release, sizes)) for one in zip(asked, counts, strict=True)]
    return [{"n": size, "widths": list(each)} for size, each in zip(sizes, zip(*widths, strict=True), strict=True)]


def _widths(question: TableQuestion, table: Array, release: Release, sizes: Sequence[int]) -> Iterator[float]:
    """Where a question is not put to everybody, of as large a part of those who tell it; of nobody, all there is."""
    operator = release.reader.operator(question)
    counts = np.rint(table).astype(np.int64)
    told = counts.sum() / release.n
    dice = Randomness.derived(counts.tobytes()).generator()
    parts = []
    for size in reversed(sizes):
        counts = dice.multivariate_hypergeometric(counts, round(size * told))
        parts.append(counts.astype(float))
    shares = release.reader.reconstructed(question, table).counts / max(table.sum(), 1.0)
    for part in reversed(parts):
        if not part.sum():
            yield 1.0
            continue
        n = float(part.sum())
        low, high = interval(
            part, operator, n * shares, question.reading, level=DEFAULT_LEVEL, about="table", told=told
        )
        yield _short(float(np.mean(high - low)) / n)


def _sizes(fewest: int, n: int) -> list[int]:
    """The last of 1, 2, 5, 10, 20 … from the fewest that are told up to n, and n itself."""
    rounds = (lead * 10**power for power in range(len(str(n))) for lead in (1, 2, 5))
    return [*[size for size in rounds if fewest <= size < n][1 - HISTORY :], n]


def _influence(question: TableQuestion, table: Array, release: Release) -> float | None:
    """By how many people one answer can move an estimate: it stands for those who were not asked as well."""
    shape = tuple(axis.size for axis in question.truths)
    most = influence(release.reader.operator(question), question.reading, shape)
    return None if most is None or not table.sum() else round(most * release.n / float(table.sum()), 2)


def _numbers(found: Estimate) -> dict[str, Any]:
    values = {"estimate": found.counts, "low": found.low, "high": found.high}
    told = {name: np.round(value, 1).tolist() for name, value in values.items()}
    # What nobody tells cannot be counted as it is.
    naive = None if found.rests_on == "model" else np.round(found.naive, 1).tolist()
    return told | {"naive": naive, "method": found.reason, "rests_on": found.rests_on}


def _branch(node: Node, columns: LearningColumns) -> dict[str, Any]:
    """A node and all below it; a split names the answers that go left and right, in order."""
    branch: dict[str, Any] = {"counts": np.round(node.counts, 1).tolist()}
    if node.split is None or node.children is None:
        return branch
    axis, within = columns.axes[node.split.axis], node.path[node.split.axis]
    sides = (within & node.split.left, within & ~node.split.left)
    return branch | {
        "question": axis.name,
        "ordered": columns.is_ordered[node.split.axis],
        "sides": [[axis.labels[cell] for cell in np.flatnonzero(side)] for side in sides],
        "children": [_branch(child, columns) for child in node.children],
    }


def _standing(release: Release, minimum_n: int) -> dict[str, Any]:
    return {"n": release.n, "minimum_n": minimum_n, "suppressed": release.n < minimum_n}


def _short(share: float) -> float:
    return round(float(share), 5)
