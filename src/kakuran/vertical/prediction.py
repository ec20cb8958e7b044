"""Predictions for new records: one party receives the sums, nobody shows a column.

With two parties the receiver can take its own part off a prediction and is left with the other's: that follows from the
prediction itself. With more, masks that cancel in the sum hide every part from the receiver, but not their sum. The
last digits of a part tell whole numbers apart, so parts are rounded to what a prediction can be relied on, and to a
quarter of their own spread at the finest. What is left adds up over models, so it is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.errors import DataError, GuardError, ProtocolError
from kakuran.randomness import Randomness
from kakuran.schema import to_arrow
from kakuran.typing import Array
from kakuran.vertical.alignment import align, read_ids
from kakuran.vertical.earlier import WAY_OUT, EarlierRuns
from kakuran.vertical.fit import OwnPart, VerticalFit
from kakuran.vertical.leakage import entropy, most_told
from kakuran.vertical.meeting import greet
from kakuran.vertical.messages import Mask, MaskedPart, numbers
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.transport import Link, give_up
from kakuran.words import Phrase, so_many_people, so_many_records

_FAR_LARGER = 3
"""Parts so many times as large as among those fitted are none that the model was made for."""
_STRICTER = 4 / 3
"""Several models together have to leave so many times as many bits as one; else two told 39 % of 14 equal answers."""


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
    despite_earlier_runs: bool = False,
    notify: Callable[[str], object] = lambda _: None,
) -> Predictions | None:
    """Take part in predicting new records; the receiver gets `Predictions`, the others None.

    A prediction is a disclosure about that person: each model tells its receiver up to 4 bits of the others' columns.

    Parameters
    ----------
    receiver : str
        The party that gets the predictions.
    memory : Path | None
        File that remembers what predictions told of whom, so that those of several models are counted together; the
        one `Party` is given. Without it each model is looked at by itself.
    despite_earlier_runs : bool
        Predict even if earlier models have told much of the same people.

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
        return _predict(links, plan, fit, frame, receiver, EarlierRuns(memory), notify, despite=despite_earlier_runs)
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
    *,
    despite: bool,
) -> Predictions | None:
    if fit.fingerprint != plan.fingerprint:
        raise ProtocolError(Phrase("the fit was made by another plan; give the plan it was made by"))
    me, table, receiver = fit.party, to_arrow(frame), plan.terms(receiver).name
    identifiers = read_ids(table, plan.terms(me).id)
    own, fitted = OwnColumns.read(table, list(fit.own)), np.array(fit.own_part.deviations)

    def check(before: Sequence[str], deviations: Array) -> None:
        if me != receiver:
            _check_told(before, fit, plan, receiver, deviations, table)

    check([], fitted)
    greet(links, plan, me, f"predict for {receiver} with the model of run {fit.run[:16]}", {})
    rows = align(links, plan, me, identifiers, earlier, notify)
    notify(f"{len(rows):,} of our {len(identifiers):,} new records are shared")
    _check_people(len(rows), plan)
    own = own.at(rows)
    if me != receiver:
        # People unlike those fitted are told more; where they are alike in one column, parts tell the others' values.
        found = np.array([held.coefficient for held in fit.own.values()]) * own.values.std(axis=0)
        deviations = np.where(np.abs(found) > np.abs(fitted), found, fitted)

        def check_values(before: Sequence[str]) -> None:
            fit.in_steps(own, receiver)
            check(before, deviations)
            check(before, found)

        earlier.predict(
            [identifiers[row] for row in rows.tolist()],
            own,
            f"{fit.run} {receiver}",
            json.dumps(_about(fit, receiver, deviations)),
            lambda before: check(before, fitted),
            check_values,
            known_by=plan.terms(me).id,
            despite=despite,
        )
        steps = fit.in_steps(own, receiver)
        bits = max(fit.bits_told(receiver), entropy(steps)[0])
        notify(f"our parts tell {receiver} {bits:.1f} bits of each of these people")
        links[receiver].send(MaskedPart(_masked(links, plan, me, receiver, steps)))
        return None
    part, steps = fit.part(dict(zip(own.names, own.values.T, strict=True)), len(rows)), np.zeros(len(rows), np.int64)
    for link in links.values():
        steps = steps + _words(link.receive(MaskedPart, most=numbers(len(rows))).words, len(rows), link)
    theirs = steps.astype(np.float64) * fit.step(receiver)
    fitted_spread = sum(spread for party, spread in fit.spreads.items() if party != receiver)
    if (times := float(np.sqrt((theirs**2).mean())) / max(fitted_spread, fit.step(receiver))) > _FAR_LARGER:
        notify(
            Phrase(
                "the others' parts of these predictions are {times:.3g} times as large as among those fitted: either "
                "these are people of another kind, or the parts are not those of the model",
                times=times,
            )
        )
    return Predictions(rows, part + theirs)


def _check_people(count: int, plan: VerticalPlan) -> None:
    """Refuse to predict so few people, before any value of theirs is looked at."""
    if count < plan.limits.smallest_group:
        raise GuardError(
            Phrase(
                "only {people} would be predicted, fewer than {least}: whoever chooses them would ask about single "
                "people. Predict more at once, or agree on another limit smallest_group",
                people=so_many_people(count),
                least=plan.limits.smallest_group,
            )
        )


def _about(fit: VerticalFit, receiver: str, deviations: Array) -> dict[str, tuple[float, float]]:
    """By column: how many steps of a part it varies by, and what it takes to write a value down."""
    steps = deviations / fit.step(receiver)
    return dict(zip(fit.own, zip(steps.tolist(), fit.own_part.bits, strict=True), strict=True))


def _check_told(
    before: Sequence[str], fit: VerticalFit, plan: VerticalPlan, receiver: str, deviations: Array, table: pa.Table
) -> None:
    """Refuse where our part, with those of earlier models, tells too much of any set of our columns.

    How columns of earlier models that are not in this one go together with its own, our table says. Those that it does
    not have may be any of the others under another name: what was told of them counts against every set. It is looked
    at twice: for whoever knows nothing else, and for whoever knows what the others' columns predict of ours.
    """
    models: list[dict[str, tuple[float, float]]] = [_about(fit, receiver, deviations), *map(json.loads, before)]
    bits = {name: bits for model in reversed(models) for name, (_, bits) in model.items()}
    further = _varied(table, sorted(bits.keys() - fit.own.keys() - {""}))  # what a refusal tells is of no column
    names = [*fit.own, *further.names]
    if not fit.own:
        return
    gone = [name for name in bits if name not in names]
    correlations = fit.own_part.matrix
    if further.names:
        values = np.column_stack([OwnColumns.read(table, list(fit.own)).values, further.values])
        correlations = OwnPart.of(OwnColumns(tuple(names), values), np.ones(len(names))).matrix
    parts = np.array([[model.get(name, (0.0, 0.0))[0] for name in names] for model in models])
    unknown = np.array([sum(abs(model[name][0]) for name in gone if name in model) for model in models])
    of_any, held_by = float(np.log2(1 + 12 * unknown**2).sum() / 2), np.array([bits[name] for name in names])
    left = np.sqrt([1 - fit.exposure.shares.get(name, 0.0) for name in names])
    found = []
    for matrix in (correlations, correlations * np.outer(left, left)):
        places, most, all_bits = most_told(parts, matrix, held_by, of_any)
        found.append((tuple(names[place] for place in places), most, all_bits))
    times = plan.limits.bits_per_bit_told * (_STRICTER if before else 1)
    for columns, told, held in (*found, fit.own_part.read_off[receiver]):
        if told * times <= held:
            continue
        raise GuardError(
            Phrase(
                "predictions would tell {receiver} {told:.1f} bits of each person's {columns}, which take {held:.1f} "
                "to write down, not {times:g} times as many: many could be read off them. {way_out}",
                receiver=receiver,
                told=told,
                columns=" and ".join(columns),
                held=held,
                times=times,
                way_out=_way_out(before, [name for name in gone if name]),
            )
        )


def _varied(table: pa.Table, names: Sequence[str]) -> OwnColumns:
    """Those of the columns that our table has, as numbers that are not all the same."""
    found = {}
    for name in names:
        with suppress(DataError):
            found[name] = OwnColumns.read(table, [name]).values[:, 0]
    varied = {name: column for name, column in found.items() if column.std() > 0}
    return OwnColumns(tuple(varied), np.array([*varied.values()]).reshape(len(varied), table.num_rows).T)


def _way_out(before: Sequence[str], gone: Sequence[str]) -> Phrase:
    if gone:
        return Phrase(
            "Earlier predictions told of {columns}, which our table does not have: they may be the same under other "
            "names. Have them in the table, as they were called. {way_out}",
            columns=", ".join(map(repr, gone)),
            way_out=WAY_OUT,
        )
    if before:
        return WAY_OUT
    return Phrase("Leave columns of few values out of the plan, or agree on another limit bits_per_bit_told")


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
