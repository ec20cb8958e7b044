"""A plan: which mechanism perturbs which column, and what is promised for it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from kakuran.counts import Tally
from kakuran.design.crowd import Crowd
from kakuran.errors import CalibrationError, counted
from kakuran.mechanism import Mechanism, k_of, mechanism_of
from kakuran.schema import Dropped, Numeric, Schema, encode_columns
from kakuran.typing import Codes
from kakuran.words import Phrase

MANY_VALUES = 10
"""A number with more values than this is asked for in cells of several."""
MOST_PEOPLE = 10**18
"""More than anybody has records of, and few enough to be counted in 64 bits."""
LAST_DIGITS = 1e-12
"""How much rounding and the order of adding up may change a crowd; plans are made with as much to spare."""

Calibration: TypeAlias = Literal["worst-case", "data-dependent"]


@dataclass(frozen=True)
class Plan:
    """The mechanisms of a release and the promise they keep; `kakuran.calibrate` makes one.

    Attributes
    ----------
    schema : Schema
        What the columns may hold.
    mechanisms : Mapping[str, Mechanism]
        The mechanism of every perturbed column; ``plan["age"]`` is short for one of them.
    n : int
        Records the promise needs; with kept columns, in every group that shares their values.
    k : float
        Nobody can be linked to a released record with probability above 1/k.
    calibration : Calibration
        ``"worst-case"`` holds whatever the attacker believes about the table; ``"data-dependent"`` against an attacker
        who knows the whole true table, and only for the table it was made for.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"]), kk.Numeric("age", 0, 120, step=1)])
    >>> plan = kk.calibrate(schema, n=1001, k=11)
    >>> plan["age"].half_width, round(plan["job"].retention, 3), round(plan.epsilon, 3)
    (27, 0.519, 2.303)
    """

    schema: Schema
    mechanisms: Mapping[str, Mechanism]
    n: int
    k: float
    calibration: Calibration

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanisms", dict(self.mechanisms))
        wanted = {attribute.name: attribute.size for attribute in self.schema.perturbed}
        if {name: mechanism.size for name, mechanism in self.mechanisms.items()} != wanted:
            raise CalibrationError(
                "a plan needs one mechanism for each perturbed column, made for its number of values"
            )
        if isinstance(self.k, bool) or not isinstance(self.k, int | float) or not 1 <= self.k <= MOST_PEOPLE:
            raise CalibrationError(f"k must be a number from 1 to {MOST_PEOPLE:g}, got {self.k!r}")
        if type(self.n) is not int or not 1 <= self.n <= MOST_PEOPLE:
            raise CalibrationError(f"n must be a whole number from 1 to {MOST_PEOPLE:g}, got {self.n!r}")
        if self.calibration not in get_args(Calibration):
            raise CalibrationError(f"calibration must be worst-case or data-dependent, got {self.calibration!r}")

    @property
    def epsilon(self) -> float:
        """The whole record is ε-locally differentially private for this ε."""
        return sum(mechanism.epsilon for mechanism in self.mechanisms.values())

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
            done = "dropped" if isinstance(attribute, Dropped) else "kept as it is"
            raise CalibrationError(f"column {column!r} is {done}: it has no mechanism")
        return self.mechanisms[column]

    def k_for(self, n: int) -> float:
        """The k that these mechanisms keep for n people, whatever is in their table."""
        return k_of(n, self.mechanisms.values())

    def reach(self, column: str) -> int:
        """How many codes beyond its domain a released value of a column may lie."""
        return self.mechanisms[column].reach if column in self.mechanisms else 0

    def encode(self, table: pa.Table | pa.RecordBatch, columns: Collection[str]) -> dict[str, Codes]:
        """The codes of some columns of a release; noise without bounds reaches beyond the domain's."""
        return encode_columns(self.schema.some(columns), table, self.reach)

    def tally(self) -> Tally:
        """An empty tally of the columns this plan's promise depends on, to be filled with the table."""
        return Tally.of_columns(self.schema.kept if self.calibration == "worst-case" else self.schema.released)

    def check(self, tally: Tally) -> None:
        """Raise unless the promise holds for the table that was counted."""
        if not tally.n:
            raise CalibrationError("the table is empty: there is nobody to hide among")
        if self.calibration == "worst-case":
            if self.k_for(self.n) < self.k * (1 - LAST_DIGITS):
                raise CalibrationError(f"the mechanisms of this plan do not reach k={self.k:g}; calibrate again")
            fewest = tally.fewest
            if fewest < self.n:
                where = " in the smallest group that shares its kept values" if self.schema.kept else ""
                raise CalibrationError(
                    f"the plan was calibrated for {counted(self.n, 'record')} but there are only {fewest:,}{where}; "
                    f"calibrate with n={fewest}"
                )
        elif not Crowd(tally).reaches(self.k * (1 - LAST_DIGITS), self.mechanisms):
            raise CalibrationError(
                f"the plan was calibrated on another table: on this one somebody's crowd is below k={self.k:g}; "
                "calibrate with data=this table"
            )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "k": self.k,
            "n": self.n,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "calibration": self.calibration,
            "columns": {
                name: fields | self._describe_mechanism(name) for name, fields in self.schema.to_dict().items()
            },
        }

    def _describe_mechanism(self, name: str) -> dict[str, Any]:
        if name not in self.mechanisms:
            return {}
        mechanism = self.mechanisms[name]
        return {"mechanism": {"kind": mechanism.kind, **mechanism.parameters()}}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Plan:
        """The inverse of `to_dict`."""
        columns = {name: dict(column) for name, column in fields["columns"].items()}
        described = {name: column.pop("mechanism") for name, column in columns.items() if "mechanism" in column}
        schema = Schema.from_dict(columns)
        mechanisms = {
            attribute.name: mechanism_of(attribute, described[attribute.name]["kind"], described[attribute.name])
            for attribute in schema.perturbed
        }
        return cls(schema, mechanisms, fields["n"], fields["k"], fields["calibration"])
