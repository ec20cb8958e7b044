"""A plan: what records tell, by which mechanisms, what is promised for it, and the recipe that a budget makes one of.

A recipe says all of a plan up to the budget, and what budget n and k leave it in the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from kakuran.counts import Tally
from kakuran.design.blanket import Blanket
from kakuran.design.central import DELTA, MOST_LOCAL
from kakuran.design.composition import CentralPart
from kakuran.design.crowd import Crowd
from kakuran.errors import CalibrationError
from kakuran.mechanism import (
    MECHANISMS,
    Apart,
    Mechanism,
    Neighbourhood,
    SquareWave,
    SubsetSelection,
    Telling,
    Together,
    k_for,
    mechanism_of,
    neighbourhood_of,
)
from kakuran.schema import ONE_VALUE, Categorical, Dropped, Layout, Numeric, Schema
from kakuran.typing import Array, Number
from kakuran.words import Phrase, so_many_people, so_many_records

MANY_VALUES = 10
"""A number with more values than this is asked for in cells of several."""
MOST_PEOPLE = 10**18
"""More than anybody has records of, and few enough to be counted in 64 bits."""
HARDLY_PERTURBED = 0.95
"""Whoever releases more of what records say than this part of it has hardly perturbed them."""
LAST_DIGITS = 1e-12
"""How much rounding and the order of adding up may change a crowd; plans are made with as much to spare."""

LEAST_CERTAINTY = 0.99
"""A guarantee that may fail more often than once in a hundred draws is none."""
RAREST = 1e-300
"""What is rarer counts as this, so that it has a logarithm."""
_SIZES = 64
"""Different sizes of groups that are looked at one by one; more are taken together, each 5 % apart."""
MOST_CELLS = 1 << 24
"""Values that columns told together may have."""

Calibration: TypeAlias = Literal["worst-case", "data-dependent"]
ColumnSets: TypeAlias = tuple[tuple[str, ...], ...]
MechanismChoice: TypeAlias = str | Mechanism


@dataclass(frozen=True)
class Tell:
    """What a record may tell: some of its columns, drawn with a probability that is the same for everybody.

    Attributes
    ----------
    telling : Telling
        How these columns are perturbed.
    share : float
        The probability that a record tells them.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "ill")])
    >>> [(tell.columns, tell.share) for tell in kk.calibrate(schema, n=1000, k=10, tell=1).tells]
    [(('smokes',), 0.5), (('ill',), 0.5)]
    """

    telling: Telling
    share: float

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are told."""
        return self.telling.columns

    @property
    def named(self) -> str:
        """What a release calls it."""
        return " + ".join(self.columns)


def cost_of_people(cost: float, rows: int) -> float:
    """What two people cost to swap who have up to so many records each, of which two cost so much.

    All their records together cost as many times as much, which is what ε promises. A single record moves from one to
    the other at the cost of one, but whoever has `rows` is as many times as likely to be its owner as one who has one.
    """
    return max(rows * cost, cost + math.log(rows))


def cost_of_records(cost: float, rows: int) -> float:
    """The inverse of `cost_of_people`: below 0 where some have so many more records that no noise hides it."""
    return min(cost / rows, cost - math.log(rows))


@dataclass(frozen=True)
class Plan:
    """The mechanisms of a release and the promise they keep; `kakuran.calibrate` makes one.

    Attributes
    ----------
    schema : Schema
        What the columns may hold.
    tells : tuple[Tell, ...]
        Which columns a record may tell, how often, and how they are perturbed; one tell of all columns for whole
        records.
    n : int
        People the promise needs, each with one record unless the schema says otherwise; with kept columns, in every
        group that shares their values.
    k : float
        Nobody can be linked to a released record with probability above 1/k.
    calibration : Calibration
        ``"worst-case"`` holds whatever the attacker believes about the table; ``"data-dependent"`` against an attacker
        who knows the whole true table, and only for the table it was made for.
    certainty : float | None
        The probability over the draw with which k holds for everybody in the table, against an attacker who knows the
        whole true table; None where it holds in every draw.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"]), kk.Numeric("age", 0, 120, step=1)])
    >>> plan = kk.calibrate(schema, n=1001, k=11)
    >>> plan["age"].half_width, round(plan["job"].retention, 3), round(plan.epsilon, 3)
    (12, 0.437, 2.303)
    """

    schema: Schema
    tells: tuple[Tell, ...]
    n: int
    k: float
    calibration: Calibration
    certainty: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tells", tuple(self.tells))
        self._check_tells()
        if isinstance(self.k, bool) or not isinstance(self.k, int | float) or not 1 <= self.k <= MOST_PEOPLE:
            raise CalibrationError(
                Phrase("k must be a number from 1 to {most:g}, got {k!r}", most=MOST_PEOPLE, k=self.k)
            )
        if type(self.n) is not int or not 1 <= self.n <= MOST_PEOPLE:
            raise CalibrationError(
                Phrase("n must be a whole number from 1 to {most:g}, got {n!r}", most=MOST_PEOPLE, n=self.n)
            )
        if self.calibration not in get_args(Calibration):
            raise CalibrationError(
                Phrase(
                    "calibration must be worst-case or data-dependent, got {calibration!r}",
                    calibration=self.calibration,
                )
            )
        if self.certainty is not None:
            check_certainty(self.certainty)
            if not self.is_central:
                raise CalibrationError(
                    UNFITTING_CERTAINTY if self.calibration == "data-dependent" else several_rows(self.schema)
                )

    @classmethod
    def of_mechanisms(
        cls,
        schema: Schema,
        mechanisms: Mapping[str, Mechanism],
        n: int,
        k: float,
        calibration: Calibration,
        certainty: float | None = None,
    ) -> Plan:
        """Whole records, each column by a mechanism of its own."""
        return cls(schema, (Tell(Apart(dict(mechanisms)), 1.0),), n, k, calibration, certainty)

    def _check_tells(self) -> None:
        sizes = {attribute.name: attribute.size for attribute in self.schema.perturbed}
        told: dict[str, Hashable] = {}
        for tell in self.tells:
            if {name: tell.telling.size(name) for name in tell.columns}.items() - sizes.items():
                raise CalibrationError(_UNFIT)
            if len(self.tells) > 1:
                for name in tell.columns:
                    if told.setdefault(name, tell.telling.near(name)) != tell.telling.near(name):
                        raise CalibrationError(
                            Phrase("column {name!r} is perturbed in one way here and in another there", name=name)
                        )
        if set().union(*(tell.columns for tell in self.tells)) != set(sizes):
            raise CalibrationError(_UNFIT)
        shares = [tell.share for tell in self.tells]
        are_probabilities = all(isinstance(share, Number) and 0 < share <= 1 for share in shares)
        if not are_probabilities or not math.isclose(sum(shares), 1):
            raise CalibrationError(Phrase("the probabilities of tells must lie above 0 and add up to 1"))

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """How each perturbed column by itself is perturbed where it is told; ``plan["age"]`` is short for one of them.

        What several tells of it have in common is what is near; how often it is kept near is their average.
        """
        found = {}
        for attribute in self.schema.perturbed:
            holding = [tell for tell in self.tells if attribute.name in tell.columns]
            share = sum(tell.share for tell in holding)
            together = sum(tell.share * tell.telling.together for tell in holding) / share
            found[attribute.name] = holding[0].telling.alone(attribute, together)
        return found

    @cached_property
    def layout(self) -> Layout:
        """How the columns of a release by this plan are coded."""
        released = list(self.schema.released)
        reaches = {name: tell.telling.reach(name) for tell in self.tells for name in tell.columns}
        if len(self.tells) == 1:
            return Layout(Schema(released), reaches)
        told = Categorical(_free_name(self.schema), [tell.named for tell in self.tells], role="keep")
        return Layout(Schema([told, *released]), reaches, tuple(frozenset(tell.columns) for tell in self.tells))

    def holding(self, columns: Collection[str]) -> list[int]:
        """The tells that hold all of some columns; kept ones are in every tell."""
        wanted = {attribute.name for attribute in self.schema.perturbed}.intersection(columns)
        return [place for place, tell in enumerate(self.tells) if wanted.issubset(tell.columns)]

    @property
    def about(self) -> str | None:
        """The one column that records tell whatever else they tell, or else that which the schema asks about.

        Examples
        --------
        >>> import kakuran as kk
        >>> schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "ill", "old")])
        >>> kk.calibrate(schema, n=1000, k=10, tell=2, about="ill").about
        'ill'
        """
        always = frozenset.intersection(*self.layout.told) if self.layout.told else frozenset()
        return next(iter(always)) if len(always) == 1 else self.schema.about

    @property
    def epsilon(self) -> float:
        """The whole record, or all records of a person, are ε-locally differentially private for this ε."""
        return self.schema.rows_a_person * max(tell.telling.epsilon for tell in self.tells)

    @property
    def guaranteed_epsilon(self) -> float | None:
        """ε where it is a guarantee; none where the noise was fitted to the table, and so reveals something of it."""
        return self.epsilon if self.calibration == "worst-case" else None

    @property
    def is_central(self) -> bool:
        """Whether a shuffled release by this plan is differentially private in the central sense, too."""
        return self.calibration == "worst-case" and self.schema.rows_a_person == 1

    @property
    def unit(self) -> Phrase | None:
        """What is counted, where people have several rows."""
        if self.schema.person is None:
            return None
        if self.schema.rows_a_person == 1:
            return Phrase("people, each by one row of theirs drawn at random")
        return Phrase("rows, at most {rows} of each person drawn at random", rows=self.schema.rows_a_person)

    def central(self, delta: float = DELTA) -> float:
        """ε of a whole release by this plan: (ε, δ)-differentially private for replacing one person's perturbed values.

        Parameters
        ----------
        delta : float
            δ.

        Examples
        --------
        >>> import kakuran as kk
        >>> plan = kk.calibrate(kk.Schema([kk.Categorical("job", ["clerk", "nurse"])]), n=50_000, k=10)
        >>> round(plan.epsilon, 2), round(plan.central(delta=1e-6), 3)
        (4.31, 0.204)
        """
        if self.calibration == "data-dependent":
            raise CalibrationError(
                Phrase(
                    "a data-dependent plan promises nothing in the central sense, as its parameters depend on "
                    'the table; calibrate with n, or with calibration="worst-case"'
                )
            )
        if not self.is_central:
            raise CalibrationError(
                Phrase(
                    "with up to {rows} records a person nothing is promised in the central sense; use one row a person",
                    rows=self.schema.rows_a_person,
                )
            )
        return self.part().epsilon(delta)

    def part(self, n: int | None = None) -> CentralPart:
        """What a shuffled release by this plan spends, of all its people or of so many."""
        levels = [tell.telling.outputs_per_window for tell in self.tells]
        epsilons = [tell.telling.epsilon for tell in self.tells]
        known = [(tell.share, one) for tell, one in zip(self.tells, levels, strict=True) if one is not None]
        is_two_level = len(known) == len(levels) and max(epsilons) - min(epsilons) < LAST_DIGITS and self.is_central
        blanket = Blanket.of(self.epsilon, known) if is_two_level and math.isfinite(self.epsilon) else None
        return CentralPart(self.n if n is None else n, self.epsilon, None if blanket is None else blanket.levels)

    @property
    def counted_as(self) -> tuple[str, str]:
        """What a release counts, one and several: people where each has one record by design."""
        is_of_people = self.schema.person is not None and self.schema.rows_a_person == 1
        return ("person", "people") if is_of_people else ("record", "records")

    @property
    def largest_swap_cost(self) -> float:
        """The swap cost of the two most different people, whatever they tell."""
        return cost_of_people(max(tell.telling.largest_swap_cost for tell in self.tells), self.schema.rows_a_person)

    @property
    def scattered(self) -> list[Phrase]:
        """What to tell of every number of many values, missing one of them, that is perturbed as if it had no order."""
        return [
            Phrase(
                "{column}: its {values:,} values are perturbed like categories, missing being one of them: one that is "
                "not kept may become any other, and little is left of the number. The mechanism square-wave keeps the "
                "order of a number that may be missing.",
                column=attribute.name,
                values=attribute.size,
            )
            for attribute in self.schema.perturbed
            if isinstance(attribute, Numeric)
            and attribute.missing == "category"
            and attribute.points > MANY_VALUES
            and self[attribute.name].lumping == "any"
        ]

    def __getitem__(self, column: str) -> Any:
        if column not in self.mechanisms:
            attribute = self.schema[column]
            done = Phrase("dropped") if isinstance(attribute, Dropped) else Phrase("kept as it is")
            raise CalibrationError(Phrase("column {column!r} is {done}: it has no mechanism", column=column, done=done))
        return self.mechanisms[column]

    @property
    def kept(self) -> float:
        """How much is left of what records tell, columns taken together: 1 is all of it."""
        return max(tell.telling.kept(tell.columns) for tell in self.tells)

    def k_for(self, n: int) -> float:
        """The k that these mechanisms keep for n people in every draw, whatever is in their table."""
        return k_for(n, self.largest_swap_cost)

    def failure(self, groups: Sequence[int] | Array | None = None) -> float:
        """How likely it is, at most, that a draw links somebody above 1/k: 0 where k holds in every draw.

        Parameters
        ----------
        groups : sequence of int
            People in each group that shares its kept values; one group of n by default.

        Examples
        --------
        >>> import kakuran as kk
        >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse", "smith"])])
        >>> plan = kk.calibrate(schema, n=50_000, k=100, certainty=0.999999)
        >>> plan.failure() <= 1e-6, round(plan.k_for(50_000), 1) < 100
        (True, True)
        """
        sizes: Array = np.asarray([self.n] if groups is None else groups, float)
        if self._holds_in_every_draw(sizes):
            return 0.0
        if self.epsilon > MOST_LOCAL or not self.is_central:
            return 1.0
        levels = self.part().levels
        blanket = Blanket(self.epsilon, 1.0 if levels is None else levels)  # 1: all that is known is ε₀
        return min(math.fsum(people / n * blanket.failure(n, self.k) for n, people in _alike_in_size(sizes)), 1.0)

    def excess_risk(self, groups: Sequence[int] | Array) -> float:
        """By how much, in logarithms, `failure` exceeds what the certainty allows; at most 0 where it is kept."""
        if self.certainty is None:  # however rarely a draw would fail
            return 0.0 if self._holds_in_every_draw(groups) else math.inf
        return math.log(max(self.failure(groups), RAREST) / (1 - self.certainty))

    def _holds_in_every_draw(self, groups: Sequence[int] | Array) -> bool:
        return self.k_for(int(np.min(groups))) >= self.k * (1 - LAST_DIGITS)

    def reach(self, column: str) -> int:
        """How many codes beyond its domain a released value of a column may lie."""
        return self.layout.reach(column)

    def tally(self) -> Tally:
        """An empty tally of the columns this plan's promise depends on, to be filled with the table."""
        return Tally.of_columns(self.schema.kept if self.calibration == "worst-case" else self.schema.released)

    def check(self, tally: Tally) -> None:
        """Raise unless the promise holds for the table that was counted."""
        if not tally.n:
            raise CalibrationError(Phrase("the table is empty: there is nobody to hide among"))
        if self.calibration == "worst-case":
            fewest = tally.fewest
            if fewest >= self.n and self.excess_risk(tally.occupied()[1] if self.schema.kept else [tally.n]) > 0:
                raise CalibrationError(
                    Phrase("the mechanisms of this plan do not reach k={k:g}; calibrate again", k=self.k)
                    if self.certainty is None
                    else Phrase(
                        "the mechanisms of this plan do not keep k={k:g} with certainty {certainty:.10g} for the "
                        "{people:,} people of this table; calibrate with data=this table",
                        k=self.k,
                        certainty=self.certainty,
                        people=tally.n,
                    )
                )
            if fewest < self.n:
                where = Phrase(" in the smallest group that shares its kept values") if self.schema.kept else ""
                whom = so_many_records(self.n) if self.schema.person is None else so_many_people(self.n)
                raise CalibrationError(
                    Phrase(
                        "the plan was calibrated for {whom} but there are only {fewest:,}{where}; calibrate "
                        "with n={fewest}",
                        whom=whom,
                        fewest=fewest,
                        where=where,
                    )
                )
        elif not Crowd(tally).reaches(self.k * (1 - LAST_DIGITS), [tell.telling for tell in self.tells]):
            raise CalibrationError(
                Phrase(
                    "the plan was calibrated on another table: on this one somebody's crowd is below k={k:g}; "
                    "calibrate with data=this table",
                    k=self.k,
                )
            )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "k": self.k,
            "n": self.n,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "calibration": self.calibration,
            **({} if self.certainty is None else {"certainty": self.certainty}),
            **({} if self.unit is None else self._told_of_people),
            **({} if self.schema.private is None else {"private": list(self.schema.private)}),
            "columns": {name: fields | self._described(name) for name, fields in self.schema.to_dict().items()},
            **({} if self.is_apart else {"tells": [_describe_tell(tell) for tell in self.tells]}),
        }

    @property
    def _told_of_people(self) -> dict[str, Any]:
        settings = {name: getattr(self.schema, name) for name in _OF_PEOPLE}
        return {**settings, "unit": str(self.unit)}

    @property
    def is_apart(self) -> bool:
        """Whether whole records are told, each column on its own: the one design of earlier versions."""
        return len(self.tells) == 1 and self.tells[0].telling.by_column is not None

    def _described(self, name: str) -> dict[str, Any]:
        """The mechanism of a column that is perturbed on its own."""
        if name not in self.mechanisms or not self.is_apart:
            return {}
        mechanism = self.mechanisms[name]
        return {"mechanism": {"kind": mechanism.kind, **mechanism.parameters()}}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Plan:
        """The inverse of `to_dict`."""
        columns = {name: dict(column) for name, column in fields["columns"].items()}
        described = {name: column.pop("mechanism") for name, column in columns.items() if "mechanism" in column}
        wishes = {name: fields[name] for name in (*_OF_PEOPLE, "private") if name in fields}
        schema = Schema.from_dict(columns, **wishes)
        promise = fields["n"], fields["k"], fields["calibration"], fields.get("certainty")
        if "tells" in fields:
            return cls(schema, tuple(_tell_of(schema, tell) for tell in fields["tells"]), *promise)
        mechanisms = {
            attribute.name: mechanism_of(attribute, described[attribute.name]["kind"], described[attribute.name])
            for attribute in schema.perturbed
        }
        return cls.of_mechanisms(schema, mechanisms, *promise)


def check_certainty(certainty: float) -> None:
    """Refuse what is no probability, or promises nothing or too much."""
    if not isinstance(certainty, Number) or not LEAST_CERTAINTY < certainty < 1:
        raise CalibrationError(
            Phrase(
                "certainty must lie above {least:g} and below 1, as 0.999999; got {certainty!r}. Leave it out for a k "
                "that holds in every draw",
                least=LEAST_CERTAINTY,
                certainty=certainty,
            )
        )


def several_rows(schema: Schema) -> Phrase:
    """Why certainty is refused where people have several records."""
    return Phrase(
        "certainty needs one record per person, and the schema uses up to {rows} rows; leave out rows_a_person",
        rows=schema.rows_a_person,
    )


UNFITTING_CERTAINTY = Phrase(
    'certainty needs calibration="worst-case": parameters that are fitted to the table reveal something of it'
)


def _alike_in_size(sizes: Array) -> Iterator[tuple[int, int]]:
    """Sizes of groups, and how many people are in groups of that size or a little more.

    Somebody in a larger group is hidden at least as well: an attacker who is given rows of others learns no less.
    """
    different, counts = np.unique(sizes, return_counts=True)
    if len(different) > _SIZES:
        rungs = np.floor(np.log(different) / math.log(1.05))
        starts = np.flatnonzero(np.diff(rungs, prepend=-1.0))
        people = np.add.reduceat(different * counts, starts)
        different = different[starts]
    else:
        people = different * counts
    yield from zip(different.astype(int).tolist(), people.astype(int).tolist(), strict=True)


_OF_PEOPLE = ("person", "rows_a_person")
_UNFIT = Phrase("a plan needs one mechanism for each perturbed column, made for its number of values")
_SMALLEST_COIN = 2.0**-64
"""Coins are whole numbers out of 2⁶⁴; the inverse of less is more than numbers hold."""
TELLING = "told"
"""The column of a release that says which columns a record tells."""


def _free_name(schema: Schema) -> str:
    name = TELLING
    while name in schema.names:
        name += "_"
    return name


def _describe_tell(tell: Tell) -> dict[str, Any]:
    return {"share": tell.share, **tell.telling.parameters()}


def _tell_of(schema: Schema, fields: Mapping[str, Any]) -> Tell:
    attributes = {attribute.name: attribute for attribute in schema.perturbed}
    if set(fields["columns"]) - set(attributes):
        raise CalibrationError(
            Phrase("a tell speaks of {name!r}, no column", name=sorted(set(fields["columns"]) - set(attributes))[0])
        )
    told = Together.of(attributes, fields)
    if 0 < told.retention < _SMALLEST_COIN:
        raise CalibrationError(
            Phrase("a tell has a retention of {retention!r}, which no coin ever shows", retention=told.retention)
        )
    return Tell(told, fields["share"])


@dataclass(frozen=True)
class Recipe:
    """What a budget is spent on.

    Attributes
    ----------
    schema : Schema
        What the columns may hold.
    chosen : Mapping[str, MechanismChoice]
        The mechanism of every perturbed column, by name or ready-made.
    sets : ColumnSets | None
        The columns that are told together, as one value; None for whole records, each column on its own.
    shares : Mapping[str, float]
        Each column's share of the budget of whole records; ready-made mechanisms have none.
    """

    schema: Schema
    chosen: Mapping[str, MechanismChoice]
    sets: ColumnSets | None
    shares: Mapping[str, float]

    @classmethod
    def of(
        cls,
        schema: Schema,
        sets: ColumnSets | None = None,
        mechanisms: Mapping[str, MechanismChoice] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> Recipe:
        """With the mechanisms and weights that are given, checked, and those that suit the other columns."""
        chosen = _choices(schema, mechanisms or {})
        if sets is not None and weights is not None:
            raise CalibrationError(
                Phrase("weights share the budget of whole records; columns told together have all of it")
            )
        return cls(schema, chosen, sets, _shares(chosen, weights) if sets is None else {})

    def at(self, budget: float) -> tuple[Tell, ...]:
        """The tells that a budget pays for."""
        if self.sets is None:
            return (Tell(Apart(self.mechanisms(budget)), 1.0),)
        whole = {
            attribute.name: _at_swap_cost(attribute, self.chosen[attribute.name], budget)
            for attribute in self.schema.perturbed
        }
        return tells_within(self.sets, {name: neighbourhood_of(one, name) for name, one in whole.items()}, budget / 2)

    def mechanisms(self, budget: float) -> dict[str, Mechanism]:
        """The mechanisms of all columns, each with its share of a budget."""
        return {
            attribute.name: _at_swap_cost(
                attribute, self.chosen[attribute.name], self.shares.get(attribute.name, 0.0) * budget
            )
            for attribute in self.schema.perturbed
        }

    @property
    def is_fixed(self) -> bool:
        """Whether all mechanisms are ready-made, so that no budget changes anything."""
        return self.sets is None and not self.shares

    @property
    def _ready(self) -> dict[str, Mechanism]:
        return {name: choice for name, choice in self.chosen.items() if isinstance(choice, Mechanism)}

    @property
    def fixed_cost(self) -> float:
        """What ready-made mechanisms of whole records cost, whatever the budget."""
        return sum(choice.largest_swap_cost for choice in self._ready.values()) if self.sets is None else 0.0

    def worst_case_budget(self, n: int, k: float) -> float:
        """The budget that n and k leave, less what rounding takes: the parameters that are published keep the promise.

        What ready-made mechanisms cost is taken off first.
        """
        fixed, rows = self.fixed_cost, self.schema.rows_a_person
        a_record = cost_of_records(math.log((n - 1) / (k - 1)), rows)
        if a_record < 0:
            raise CalibrationError(
                Phrase(
                    "whoever has {rows} rows among {n:,} people of one is found with probability {risk:.3g} whatever "
                    "the noise, above 1/{k:g}; use fewer rows a person",
                    rows=rows,
                    n=n,
                    risk=rows / (n - 1 + rows),
                    k=k,
                )
            )
        budget, less = a_record - fixed, LAST_DIGITS
        while budget > 0 and self._k_at(budget, n) < k * (1 + LAST_DIGITS):
            budget, less = max(budget - less, 0.0), 2 * less
        if budget < 0:
            raise CalibrationError(
                Phrase(
                    "the mechanisms given for {columns} alone reach k={reached:.4g} with {n:,} records, less than "
                    "{k:g}; make them noisier",
                    columns=", ".join(map(repr, self._ready)),
                    reached=k_for(n, cost_of_people(fixed, rows)),
                    n=n,
                    k=k,
                )
            )
        return budget

    def _k_at(self, budget: float, n: int) -> float:
        dearest = max(tell.telling.largest_swap_cost for tell in self.at(budget))
        return k_for(n, cost_of_people(dearest, self.schema.rows_a_person))


def _choices(schema: Schema, mechanisms: Mapping[str, MechanismChoice]) -> dict[str, MechanismChoice]:
    names = [attribute.name for attribute in schema.perturbed]
    for name in mechanisms:
        if name not in names:
            raise CalibrationError(
                Phrase(
                    "a mechanism is given for {name!r}, which is not a perturbed column; those are {columns}",
                    name=name,
                    columns=", ".join(names),
                )
            )
    return {
        attribute.name: _checked_choice(attribute, mechanisms.get(attribute.name, _default(attribute)))
        for attribute in schema.perturbed
    }


def _default(attribute: Categorical | Numeric) -> str:
    return SquareWave.kind if isinstance(attribute, Numeric) or attribute.is_line else SubsetSelection.kind


def _checked_choice(attribute: Categorical | Numeric, choice: MechanismChoice) -> MechanismChoice:
    if attribute.size < 2:
        raise CalibrationError(Phrase("column {name!r} has {one_value}", name=attribute.name, one_value=ONE_VALUE))
    if isinstance(choice, Mechanism):
        choice.check_fits(attribute)
        return choice
    known = [name for name, mechanism in MECHANISMS.items() if not mechanism.is_ready_made]
    if choice not in known:
        raise CalibrationError(
            Phrase(
                "column {name!r}: unknown mechanism {choice!r}; there are {listed}",
                name=attribute.name,
                choice=choice,
                listed=", ".join(known),
            )
        )
    return choice


def _shares(chosen: Mapping[str, MechanismChoice], weights: Mapping[str, float] | None) -> dict[str, float]:
    """Each column's share of the budget; ready-made mechanisms have none."""
    names = [name for name, choice in chosen.items() if isinstance(choice, str)]
    if weights is None:
        return {name: 1 / len(names) for name in names}
    surplus = sorted(set(weights) - set(names))
    if surplus:
        raise CalibrationError(
            Phrase(
                "weights share the budget of {columns}; {name!r} is not one of them",
                columns=", ".join(names),
                name=surplus[0],
            )
        )
    for name, weight in weights.items():
        if not isinstance(weight, Number) or not 0 < weight <= 1:
            raise CalibrationError(
                Phrase(
                    "the weight of {name!r} must lie between 0 and 1, got {weight!r}; to leave a column out, drop it",
                    name=name,
                    weight=weight,
                )
            )
    others, rest = [name for name in names if name not in weights], 1 - sum(weights.values())
    if not others and abs(rest) > 1e-9:
        raise CalibrationError(Phrase("weights must add up to 1, got {found:.12g}", found=1 - rest))
    if others and rest < 1e-9:
        raise CalibrationError(
            Phrase(
                "weights must add up to less than 1 to leave a share for {columns}, got {found:.12g}",
                columns=", ".join(others),
                found=1 - rest,
            )
        )
    return {name: weights[name] if name in weights else rest / len(others) for name in names}


def _at_swap_cost(attribute: Categorical | Numeric, choice: MechanismChoice, swap_cost: float) -> Mechanism:
    if isinstance(choice, Mechanism):
        return choice
    return MECHANISMS[choice].at_swap_cost(attribute, swap_cost)


def tells_within(sets: ColumnSets, near: Mapping[str, Neighbourhood], epsilon: float) -> tuple[Tell, ...]:
    """Every set equally often, each as one value with the whole ε."""
    for columns in sets:
        cells = math.prod(near[name].size for name in columns)
        if cells > MOST_CELLS:
            raise CalibrationError(
                Phrase(
                    "{columns} told as one value has {cells:,} values, more than {most:,}; give numbers a larger "
                    "step, or tell fewer columns together",
                    columns=" + ".join(columns),
                    cells=cells,
                    most=MOST_CELLS,
                )
            )
    return tuple(
        Tell(Together.within({name: near[name] for name in columns}, epsilon), 1 / len(sets)) for columns in sets
    )
