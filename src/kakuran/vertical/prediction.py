"""Predictions for new records: one party receives the sums, nobody shows a column.

With two parties the receiver can take its own part off a prediction and is left with the other's: that follows from the
prediction itself. With more, masks that cancel in the sum hide every part from the receiver, but not their sum. The
last digits of a part tell whole numbers apart, so parts are rounded to what a prediction can be relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.errors import DataError, ProtocolError
from kakuran.randomness import Randomness
from kakuran.schema import to_arrow
from kakuran.typing import Array
from kakuran.vertical.alignment import align, read_ids
from kakuran.vertical.earlier import EarlierRuns
from kakuran.vertical.fit import VerticalFit
from kakuran.vertical.meeting import greet
from kakuran.vertical.messages import Mask, MaskedPart, numbers
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.transport import Link, give_up
from kakuran.words import Phrase, so_many_records

_OF_RESIDUAL = 4
"""Parts are counted in steps of the residuals' standard deviation over this: each part adds 0.5 % to their variance."""
_OF_TARGET = 2.0**30
"""Steps are no smaller than the target's scale over this, where nothing is left unexplained."""
_FARTHEST = 2.0**26
"""Scales of the target a part may have; as steps, those of 128 parties then add up within 2⁶³."""


@dataclass(frozen=True)
class Predictions:
    """Predictions for the rows of the receiver's own table that all parties know."""

    rows: NDArray[np.int64]
    values: Array

    def with_ids(self, table: pa.Table, ids: str, target: str) -> pa.Table:
        """The predictions as a table: ids of the receiver's own, and the target."""
        return pa.table({ids: table.column(ids).take(self.rows), target: self.values})


def predict_together(
    links: Mapping[str, Link],
    plan: VerticalPlan,
    fit: VerticalFit,
    frame: Any,
    *,
    receiver: str,
    memory: Path | None = None,
    notify: Callable[[str], object] = lambda _: None,
) -> Predictions | None:
    """Take part in predicting new records; the receiver gets `Predictions`, the others None.

    How many ids the others tried on ours is remembered in `memory`, the file a `Party` has.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import companies
    >>> from kakuran.vertical import predict_together
    >>> from kakuran.vertical.party import side_by_side
    >>> tables = dict(zip(("bank", "shop"), companies(400)))
    >>> columns = {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]}
    >>> plan = kk.VerticalPlan.of(columns, target="spending", holder="shop", ids="customer")
    >>> fits = kk.fit_vertically(tables, plan)
    >>> found = side_by_side(
    ...     ["bank", "shop"],
    ...     lambda name, links: predict_together(links, plan, fits[name], tables[name], receiver="shop"),
    ... )
    >>> found["bank"] is None, len(found["shop"].values)
    (True, 341)
    """
    try:
        return _predict(links, plan, fit, frame, receiver, EarlierRuns(memory), notify)
    except Exception:
        give_up(links)
        raise


def _predict(
    links: Mapping[str, Link],
    plan: VerticalPlan,
    fit: VerticalFit,
    frame: Any,
    receiver: str,
    earlier: EarlierRuns,
    notify: Callable[[str], object],
) -> Predictions | None:
    if fit.fingerprint != plan.fingerprint:
        raise ProtocolError(Phrase("the fit was made by another plan; give the plan it was made by"))
    me, table, receiver = fit.party, to_arrow(frame), plan.terms(receiver).name
    identifiers = read_ids(table, plan.terms(me).id)
    columns = {name: OwnColumns.read(table, [name]).values[:, 0] for name in fit.own}
    greet(links, plan, me, f"predict for {receiver} with the model of run {fit.run[:16]}", {})
    rows = align(links, plan, me, identifiers, earlier, notify)
    notify(f"{len(rows):,} of our {len(identifiers):,} new records are shared")
    part = fit.part({name: values[rows] for name, values in columns.items()}, len(rows))
    if me != receiver:
        links[receiver].send(MaskedPart(_masked(links, plan, me, receiver, _in_steps(part, fit))))
        return None
    steps = np.zeros(len(rows), np.int64)
    for link in links.values():
        steps = steps + _words(link.receive(MaskedPart, most=numbers(len(rows))).words, len(rows), link)
    return Predictions(rows, part + steps.astype(np.float64) * _step(fit))


def _step(fit: VerticalFit) -> float:
    return max(fit.quality.variance**0.5 / _OF_RESIDUAL, fit.target_scale / _OF_TARGET)


def _in_steps(part: Array, fit: VerticalFit) -> NDArray[np.int64]:
    if not (np.abs(part) < _FARTHEST * fit.target_scale).all():
        raise DataError(
            fit.target,
            Phrase("would lie far beyond anything fitted, by our columns"),
            Phrase("Mend their largest values."),
        )
    return np.rint(part / _step(fit)).astype(np.int64)


def _masked(
    links: Mapping[str, Link], plan: VerticalPlan, me: str, receiver: str, steps: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Our part plus the masks we made, less those we were given; they cancel in the receiver's sum."""
    for peer, link in links.items():
        if peer == receiver:
            continue
        if plan.comes_before(me, peer):
            mask = Randomness.secure().words(len(steps)).view(np.int64)
            link.send(Mask(mask))
            steps = steps + mask
        else:
            steps = steps - _words(link.receive(Mask, most=numbers(len(steps))).words, len(steps), link)
    return steps


def _words(words: NDArray[np.int64], records: int, link: Link) -> NDArray[np.int64]:
    if words.shape != (records,):
        raise ProtocolError(
            Phrase(
                "{peer} sent {shape} numbers for {records}",
                peer=link.peer,
                shape=words.shape,
                records=so_many_records(records),
            )
        )
    return words
