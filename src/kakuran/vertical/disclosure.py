"""Disclosure: what our own columns would tell of single people, looked at before anything is computed from them.

The guard refuses what the plan forbids. What the others bring can be looked at afterwards only, through the moments,
and only as far as those show it; whether their messages are well-formed, `messages` says.
"""

from __future__ import annotations

import math

import numpy as np

from kakuran.errors import GuardError, ProtocolError
from kakuran.typing import Array
from kakuran.vertical.combinations import Combination, sparse_combinations
from kakuran.vertical.leakage import DirectionMeter, bits_of, bits_told
from kakuran.vertical.own import OwnColumns, Standardised
from kakuran.vertical.plan import Limits, VerticalPlan
from kakuran.vertical.regression import Moments
from kakuran.words import Phrase, so_many_records

_NEARLY_ALL = 0.99
"""The part of a column's spread that its carriers account for."""
_TIMES_AVERAGE = 4
"""So many times the average leverage is ordinary where records are few."""
_CHANCE = 1e-6
"""How often a column of the others may look like one about a single person though it is not."""
_COARSEST = 0.1
"""How far, in standard deviations, a record's values may lie from what is read off the moments."""
_REPEATED = 1e-6
"""Directions of our own columns that are weaker than this are not looked at."""


def check_count(records: int, plan: VerticalPlan) -> None:
    """Refuse to take part with so few records, before any value of theirs is looked at."""
    limits, columns = plan.limits, len(plan.columns)
    if records < limits.records_per_variable * columns:
        raise GuardError(
            Phrase(
                "{records} for {columns}, fewer than {least:g} each; agree on fewer columns, or on another "
                "limit records_per_variable",
                records=Phrase("1 shared record")
                if records == 1
                else Phrase("{count:,} shared records", count=records),
                columns=Phrase("1 column") if columns == 1 else Phrase("{count:,} columns", count=columns),
                least=limits.records_per_variable,
            )
        )


def check_columns(own: OwnColumns, plan: VerticalPlan, sums: float) -> Standardised:
    """Standardise our columns, or refuse to take part with these records, if so many sums of each are told in the end.

    The message is for the party's own eyes.
    """
    limits = plan.limits
    together = sparse_combinations(own.names, own.values)  # first, so that no refusal tells its cause by its time
    standardised = own.standardised(intercept=plan.intercept)
    rare = rare_sides(own)
    for name, count in rare.items():
        if count < limits.smallest_group:
            raise GuardError(
                Phrase(
                    "the yes/no column {name!r} has only {records} on one side, fewer than {least}; its sums "
                    "would speak of single people: leave it out of the plan",
                    name=name,
                    records=so_many_records(count),
                    least=limits.smallest_group,
                )
            )
    _check_leverage(own, limits)
    for name, column in zip(own.names, own.values.T, strict=True):
        if name not in rare and (few := carriers(column)) < limits.smallest_group:
            raise GuardError(
                Phrase(
                    "{records} carry {share:.0%} of the spread of {name!r}, fewer than {least}; its sums would "
                    "speak of single people: cap the largest values, take logarithms, or leave it out of the "
                    "plan",
                    records=so_many_records(few),
                    share=_NEARLY_ALL,
                    name=name,
                    least=limits.smallest_group,
                )
            )
    _check_together(own, together, limits)
    if plan.protocol == "gram":
        _check_bits(own, together, limits, bits_told(sums, len(own.names)))
    return standardised


def _check_together(own: OwnColumns, together: list[Combination], limits: Limits) -> None:
    """Refuse columns that leave few people once others are taken off them."""
    counts = [carriers(one.values) for one in together]
    if min(counts, default=limits.smallest_group) >= limits.smallest_group:
        return
    few = min(counts)
    found = together[counts.index(few)]
    names = sorted(found.names, key=own.names.index)
    listed = ", ".join(map(repr, names))
    if _is_left_out(own.only(names)):
        raise GuardError(
            Phrase(
                "the yes/no columns {columns} leave out a level that only {records} have, fewer than {least}; sums of "
                "all of them would speak of those: merge that level, the reference, with another, or leave one of the "
                "columns out of the plan",
                columns=listed,
                records=so_many_records(few),
                least=limits.smallest_group,
            )
        )
    raise GuardError(
        Phrase(
            "together the columns {columns} are about {records}, fewer than {least}: a combination of them is the same "
            "for all others, so its sums would speak of those. Leave one of them out of the plan",
            columns=listed,
            records=so_many_records(few),
            least=limits.smallest_group,
        )
    )


def _is_left_out(own: OwnColumns) -> bool:
    """Whether columns are the levels of one category, yes or no, but for one that none of them is for."""
    levels = (own.values == own.values.max(axis=0)).sum(axis=1)
    return len(own.names) > 1 and len(rare_sides(own)) == len(own.names) and set(levels.tolist()) == {0, 1}


def _check_bits(own: OwnColumns, together: list[Combination], limits: Limits, told: float) -> None:
    for name, column in zip(own.names, own.values.T, strict=True):
        if (held := bits_of(column)) < limits.bits_per_bit_told * told:
            raise GuardError(
                Phrase(
                    "sums would tell up to {told:,.0f} bits of {name!r}, which takes {held:,.0f} to write down "
                    "for {records}, not {times:g} times as many: all its values could be computed from them. "
                    "Leave it out of the plan, share more records or agree on fewer columns",
                    told=told,
                    name=name,
                    held=held,
                    records=so_many_records(len(column)),
                    times=limits.bits_per_bit_told,
                )
            )
    for one in together:
        if len(one.names) > 1 and one.is_exact and (held := bits_of(one.values)) < limits.bits_per_bit_told * told:
            raise GuardError(
                Phrase(
                    "sums would tell up to {told:,.0f} bits of what {columns} leave of each other, which takes "
                    "{held:,.0f} to write down for {records}, not {times:g} times as many: it could be computed from "
                    "them. Leave one of these columns out of the plan, share more records or agree on fewer columns",
                    told=told,
                    columns=", ".join(map(repr, one.names)),
                    held=held,
                    records=so_many_records(len(one.values)),
                    times=limits.bits_per_bit_told,
                )
            )


def fewest_people(own: OwnColumns, plan: VerticalPlan, sums: int) -> int:
    """Over how many people at least a run would be let pass: that is what two runs have to differ by, too."""
    limits, told = plan.limits, bits_told(sums, len(own.names))
    a_record = min(bits_of(column) for column in own.values.T) / len(own.values)
    by_bits = limits.bits_per_bit_told * told / a_record if a_record else math.inf
    least = (1, limits.smallest_group, limits.records_per_variable * len(plan.columns), min(by_bits, len(own.values)))
    return math.ceil(max(least))


def check_moments(moments: Moments, own: Standardised, limits: Limits) -> None:
    """Refuse to go on where the moments show that the others made something up."""
    rounding = 2.0 ** -(moments.bits or 52)
    matrix, ours = moments.matrix, moments.are_of(own.names)
    if not _could_be_of_a_table(matrix, len(matrix) * rounding):
        raise ProtocolError(Phrase("the moments the others sent are those of no table; are both kakurans the same?"))
    if np.linalg.eigvalsh(matrix[np.ix_(~ours, ~ours)])[0] < rounding:
        raise GuardError(
            Phrase(
                "columns of the others differ by no more than rounding, so their difference is a column that "
                "the plan does not name; have them leave one out"
            )
        )
    if limits.largest_leverage < 1 and (column := _about_one_person(moments, own)) is not None:
        raise GuardError(
            Phrase(
                "the moments of {column!r} with our columns are the values of one of our records: it is about "
                "a single person, whose values its owner knows by now. Nothing more is sent; ask its owner how "
                "it was made",
                column=column,
            )
        )


def _could_be_of_a_table(matrix: Array, tolerance: float) -> bool:
    """Whether columns of unit spread can have these moments, up to rounding."""
    return bool(
        np.isfinite(matrix).all()
        and (np.abs(np.diag(matrix) - 1) < tolerance).all()
        and np.linalg.eigvalsh(matrix)[0] > -tolerance
    )


def _about_one_person(moments: Moments, own: Standardised) -> str | None:
    """A column of the others that is, as far as our own columns show, nearly constant but for one person.

    Such a column's moments are that person's standardised values over √N. Those of an honest column are as large, but
    fall on no record of ours unless by chance; how near counts as on it follows from how likely that is.
    """
    records = len(own.values)
    varied = np.array([len(np.unique(column)) > records / 2 for column in own.values.T])
    values = own.values[:, varied]
    strengths, directions = np.linalg.eigh(values.T @ values / records)
    whitened = directions[:, strengths > _REPEATED] / np.sqrt(strengths[strengths > _REPEATED])
    people = values @ whitened
    told = np.sqrt(records - int(moments.intercept)) * (whitened.T @ moments.between(own.names)[varied])
    if not people.shape[1]:
        return None
    near = min(_COARSEST, (_CHANCE / (2 * records * told.shape[1])) ** (1 / people.shape[1]) / 0.8)
    if near < 4 * 2.0 ** -(moments.bits or 52):
        return None
    theirs = np.array([*moments.names, "the target"])[~moments.are_of(own.names)]
    for name, read in zip(theirs.tolist(), told.T, strict=True):
        away = np.minimum(np.abs(people - read).max(axis=1), np.abs(people + read).max(axis=1))
        if away.min() < near:
            return str(name)
    return None


def rare_sides(own: OwnColumns) -> dict[str, int]:
    """For each column with two values, how many records have the rarer one."""
    counts = {}
    for name, column in zip(own.names, own.values.T, strict=True):
        is_low = column == column.min()
        if (is_low | (column == column.max())).all():
            counts[name] = int(min(is_low.sum(), len(column) - is_low.sum()))
    return counts


def carriers(column: Array) -> int:
    """The fewest records that account for nearly all of a column's squared distance from its median."""
    parts = np.sort((column - np.median(column)) ** 2)[::-1].cumsum()
    return int(np.searchsorted(parts, _NEARLY_ALL * parts[-1])) + 1


def check_directions(meter: DirectionMeter, limits: Limits) -> None:
    """Refuse to show more directions than the plan allows."""
    rank = meter.exposure().rank
    if limits.exposed_directions and rank > limits.exposed_directions:
        raise GuardError(
            Phrase(
                "the next message would show {directions} of our columns, more than the {most} the plan "
                "allows; the gram protocol shows none",
                directions=Phrase("1 direction") if rank == 1 else Phrase("{count:,} directions", count=rank),
                most=limits.exposed_directions,
            )
        )


def _check_leverage(own: OwnColumns, limits: Limits) -> None:
    found = leverages(own.values)
    most, allowed = float(found.max()), max(limits.largest_leverage, _TIMES_AVERAGE * float(found.mean()))
    if most > allowed:
        raise GuardError(
            Phrase(
                "one record has a leverage of {most:.2f} among our columns, above {allowed:.2g}: sums over all "
                "records would tell its values; cap the largest values or leave the record out",
                most=most,
                allowed=allowed,
            )
        )


def leverages(values: Array) -> Array:
    """How far each record pulls a fit on these columns (and a constant) towards itself, from 0 to 1."""
    design = np.column_stack([np.ones(len(values)), values - values.mean(axis=0)])
    lengths = np.sqrt((design**2).sum(axis=0))
    basis, strengths, _ = np.linalg.svd(design / np.where(lengths > 0, lengths, 1), full_matrices=False)
    kept = basis[:, strengths > 1e-10 * strengths[0]]
    return np.asarray((kept**2).sum(axis=1))
