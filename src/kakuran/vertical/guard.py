"""The guard: looks at our own columns before anything is computed from them, and refuses what the plan forbids."""

from __future__ import annotations

import numpy as np

from kakuran.errors import GuardError, counted
from kakuran.vertical.leakage import DirectionMeter, pins_down
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.plan import Limits, VerticalPlan
from kakuran.vertical.protocols.encryption import precision
from kakuran.vertical.regression.moments import Array


def check_columns(own: OwnColumns, plan: VerticalPlan, party: str) -> None:
    """Refuse to take part with these records; the message is for the party's own eyes."""
    limits, records, columns = plan.limits, len(own.values), len(plan.columns)
    if records < limits.records_per_variable * columns:
        raise GuardError(
            f"{counted(records, 'shared record')} for {counted(columns, 'column')}, fewer than "
            f"{limits.records_per_variable:g} each; "
            "agree on fewer columns, or on another limit records_per_variable"
        )
    rare = rare_sides(own)
    for name, count in rare.items():
        if count < limits.smallest_group:
            raise GuardError(
                f"the yes/no column {name!r} has only {counted(count, 'record')} on one side, "
                f"fewer than {limits.smallest_group}; its sums would speak of single people: leave it out of the plan"
            )
    if plan.protocol == "gram" and records <= limits.searchable_records:
        others = columns + 1 - len(own.names)
        for name, count in rare.items():
            if pins_down(records, count, others, precision(records)):
                raise GuardError(
                    f"{others} exact sums pin down the yes/no column {name!r} among {records} records, and so few can "
                    "be searched; leave it out of the plan or share more records"
                )
    _check_leverage(own.only(plan.terms(party).columns), limits)


def rare_sides(own: OwnColumns) -> dict[str, int]:
    """For each column with two values, how many records have the rarer one."""
    counts = {}
    for name, column in zip(own.names, own.values.T, strict=True):
        is_low = column == column.min()
        if (is_low | (column == column.max())).all():
            counts[name] = int(min(is_low.sum(), len(column) - is_low.sum()))
    return counts


def check_directions(meter: DirectionMeter, limits: Limits) -> None:
    """Refuse to show more directions than the plan allows."""
    rank = meter.exposure().rank
    if limits.exposed_directions and rank > limits.exposed_directions:
        raise GuardError(
            f"the next message would show {counted(rank, 'direction')} of our columns, "
            f"more than the {limits.exposed_directions} the plan allows; the gram protocol shows none"
        )


def _check_leverage(own: OwnColumns, limits: Limits) -> None:
    most = float(leverages(own.values).max())
    if most > limits.largest_leverage:
        raise GuardError(
            f"one record has a leverage of {most:.2f} among our columns, above {limits.largest_leverage:g}: sums over "
            "all records would tell its values; cap the largest values or leave the record out"
        )


def leverages(values: Array) -> Array:
    """How far each record pulls a fit on these columns (and a constant) towards itself, from 0 to 1."""
    design = np.column_stack([np.ones(len(values)), values - values.mean(axis=0)])
    lengths = np.sqrt((design**2).sum(axis=0))
    basis, strengths, _ = np.linalg.svd(design / np.where(lengths > 0, lengths, 1), full_matrices=False)
    kept = basis[:, strengths > 1e-10 * strengths[0]]
    return np.asarray((kept**2).sum(axis=1))
