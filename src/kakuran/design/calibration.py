"""Calibration: from the promise, k or a central ε, to a plan with its ρ, φ and σ (S1 eq. 4, maths §2).

Every mechanism can be set to a *swap cost*: −log of the least factor by which likelihoods change when two
people at its two ends swap records. Costs of columns add up, so the whole calibration is one number B, the
budget: column j gets the swap cost s_j·B, and

- worst case: everybody else counts e^(−B), so k = 1 + (n−1)e^(−B) and B = ln((n−1)/(k−1)), less what is spent already
  (`Recipe.worst_case_budget` in `plan`);
- data-dependent: B is the largest rung of a coarse ladder at which every crowd in this very table is at least k.

Each column is then s_j·B/2-locally differentially private, the record B/2. What is published of a data-dependent plan
depends on the table through its rung alone: full precision would tell of somebody to whoever knows all others.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np

from kakuran.counts import Tally
from kakuran.design.central import DELTA
from kakuran.design.crowd import Crowd
from kakuran.design.designs import Purpose, TellChoice, Wish, column_sets
from kakuran.design.guarantee import CENTRAL_CEILING, Guarantee, check_k
from kakuran.design.plan import UNFITTING_CERTAINTY, Calibration, MechanismChoice, Plan, Recipe, several_rows
from kakuran.errors import CalibrationError, ScatteredNumbersWarning, wrong_type
from kakuran.mechanism import (
    BoundedLaplace,
    Laplace,
)
from kakuran.randomness import Randomness
from kakuran.schema import (
    Categorical,
    Numeric,
    Part,
    People,
    Pseudonyms,
    Schema,
    Source,
    check_same_for_a_person,
    encode_columns,
    in_order,
    open_source,
    read_parts,
)
from kakuran.typing import Codes, Progress
from kakuran.words import Phrase

_PEOPLE_AT_A_TIME = 1 << 20
"""Rows of people that are looked through together."""
_RUNGS = range(12 * 90)
"""The budgets a data-dependent plan may have: twelve powers of ten, with two digits each."""


def calibrate(
    schema: Schema,
    *,
    k: float | None = None,
    n: int | Sequence[int] | None = None,
    data: Any = None,
    certainty: float | None = None,
    central_ceiling: float | None = CENTRAL_CEILING,
    central_epsilon: float | None = None,
    delta: float = DELTA,
    calibration: Calibration = "worst-case",
    tell: TellChoice | None = None,
    about: str | None = None,
    purpose: Purpose | None = None,
    weights: Mapping[str, float] | None = None,
    mechanisms: Mapping[str, MechanismChoice] | None = None,
    progress: Progress = int,
) -> Plan:
    """The least noise that keeps everybody from being linked with probability above 1/k.

    Parameters
    ----------
    schema : Schema
        What the columns may hold; a draft must be confirmed first (`Schema.confirmed`).
    k : float
        The promise, above 1 and at most n; or `central_epsilon`, or both, of which the stronger is kept.
    n : int or sequence of int
        People in the table (worst case), each with one record unless the schema names their column; with kept columns,
        in the smallest group that shares their values, or, which certainty needs, in every such group.
    data : frame, path, source or Tally
        The table itself, instead of n. In the worst case its records are counted, or those of the smallest group that
        shares the kept values, and nothing else is taken from it.
    certainty : float
        The probability over the draw, such as 0.999999, with which nobody in the table is linked above 1/k by an
        attacker who knows the whole true table; without it k holds in every draw, for any belief of the attacker, and
        takes more noise. Worst case, one record per person. As the schema says by default.
    central_ceiling : float or None
        The central ε (at `delta`) that a plan with certainty has at most, because k alone guarantees little where
        cells are many and k is small; None or infinity for no ceiling.
    central_epsilon, delta : float
        The promise that the shuffled release as a whole is (ε, δ)-differentially private, as `Plan.central` has it; the
        plan then promises the k that goes with it. Worst case only.
    calibration : {"worst-case", "data-dependent"}
        Whether the promise holds whatever the data, or the noise is just what these data need: less, but the parameters
        then depend on the data and hold for this table only; ε is rounded down to two digits, so that they tell little
        of it.
    tell : "auto", "all", int or list of column sets
        What each record tells: whole records, each column on its own (``"all"``); so many of its columns, drawn at
        random and perturbed as one value with the whole budget, the others empty; one of these sets of columns; or
        whatever of these is expected to lose least (``"auto"``). As the schema says by default, or else ``"auto"``.
    about : str
        A column that every set has, because questions will be about it; as the schema says by default.
    purpose : {"one-way", "two-way", "three-way"}
        The tables that ``"auto"`` should lose least of; as the schema says by default, or else two-way.
    weights : mapping from column to float
        Each column's share of the budget. Columns that are not named share the rest equally; if all are named, shares
        add up to 1. Equal by default.
    mechanisms : mapping from column to str or Mechanism
        ``"retention"``, ``"subset"``, ``"square-wave"``, ``"laplace"``, ``"bounded-laplace"`` or
        ``"bounded-gaussian"``, or a ready mechanism such as `PRAM`, whose cost is taken off the budget first. By
        default the square wave for numbers, and for categories subset, which is retention where they have few values
        for their share of the budget.
    progress : callable
        Told how many records have been counted, batch by batch.

    Examples
    --------
    S0's noise scale for age in Adult (k=2, 32561 records between 17 and 90):

    >>> import kakuran as kk
    >>> age = kk.Schema([kk.Numeric("age", 17, 90, step=1)])
    >>> round(kk.calibrate(age, n=32561, k=2, mechanisms={"age": "laplace"})["age"].scale, 2)
    14.05
    """
    if not isinstance(schema, Schema):
        raise wrong_type(schema, Schema, "kakuran.Schema.load reads one from its file")
    schema.check_confirmed()
    if not schema.perturbed:
        raise CalibrationError(Phrase("the schema has no column to perturb"))
    if (n is None) == (data is None):
        raise CalibrationError(
            Phrase("give either n (how many records) or data (to count them in), not both and not neither")
        )
    if calibration not in get_args(Calibration):
        raise CalibrationError(
            Phrase("calibration must be worst-case or data-dependent, got {calibration!r}", calibration=calibration)
        )
    if calibration == "data-dependent" and data is None:
        raise CalibrationError(Phrase("the data-dependent calibration needs the data, not n"))
    if calibration == "data-dependent" and schema.person is not None:
        raise CalibrationError(
            Phrase(
                "rows of each {person!r} are drawn when a table is perturbed, so nothing can be fitted to them "
                'before; take calibration="worst-case"',
                person=schema.person,
            )
        )
    if k is None and central_epsilon is None:
        raise CalibrationError(Phrase("give a promise to keep: k, or central_epsilon"))
    if central_epsilon is not None and calibration == "data-dependent":
        raise CalibrationError(
            Phrase('central_epsilon needs calibration="worst-case": it does not hold for fitted parameters')
        )
    certainty = _first_given(certainty, schema.certainty)
    if certainty is not None and calibration == "data-dependent":
        raise CalibrationError(UNFITTING_CERTAINTY)
    if certainty is not None and schema.rows_a_person > 1:
        raise CalibrationError(several_rows(schema))
    if central_epsilon is not None and schema.rows_a_person > 1:
        raise CalibrationError(
            Phrase(
                "central_epsilon needs one record a person, and the schema uses up to {rows} rows; leave out "
                "rows_a_person",
                rows=schema.rows_a_person,
            )
        )
    wish = Wish(
        schema,
        _first_given(tell, schema.tell, "auto"),
        _first_given(about, None if tell == "all" else schema.about),  # whole records, typed out, tell it anyway
        _first_given(purpose, schema.purpose, "two-way"),
        mechanisms,
        weights,
    )
    if calibration == "worst-case":
        guarantee = Guarantee.of(
            k,
            _groups(schema, n, data, certainty, progress),
            certainty=certainty,
            central_epsilon=central_epsilon,
            central_ceiling=central_ceiling,
            delta=delta,
        )
        plan = guarantee.plan(wish.recipe(guarantee))
        guarantee.warn_if_stronger(plan)
        return _told(plan)
    tally = count_columns(schema, data, schema.released, progress)
    k = check_k(k, tally.n)
    recipe = wish.recipe(Guarantee.of(k, [tally.n]))
    budget = _largest_rung(Crowd(tally), k, recipe)
    if not schema.kept:
        budget = max(budget, recipe.worst_case_budget(tally.n, k))
    return _told(Plan(schema, recipe.at(budget), tally.n, float(k), "data-dependent"))


def plan_within(
    schema: Schema,
    epsilon: float,
    *,
    tell: TellChoice = "all",
    about: str | None = None,
    mechanisms: Mapping[str, MechanismChoice] | None = None,
) -> Plan:
    """The least noise that makes every record ε-locally differentially private: a promise however many there are.

    Columns of whole records share ε equally; every set of columns that is told together has all of it.

    Parameters
    ----------
    schema : Schema
        What the columns may hold.
    epsilon : float
        The promise.
    tell, about, mechanisms : optional
        As for `kakuran.calibrate`; without knowing how many records there are, no design can be chosen for you.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.design import plan_within
    >>> schema = kk.Schema([kk.Categorical(name, ["no", "yes"]) for name in ("smokes", "drinks", "swims")])
    >>> plan = plan_within(schema, 2.0, tell=2)
    >>> len(plan.tells), round(plan.epsilon, 6)
    (3, 2.0)
    """
    if tell == "auto":
        raise CalibrationError(
            Phrase(
                'tell = "auto" weighs designs by how many records there are: promise k for so many, or say what to tell'
            )
        )
    tells = Recipe.of(schema, column_sets(schema, tell, about), mechanisms).at(2 * epsilon)
    plan = Plan(schema, tells, 1, 1.0, "worst-case")
    if math.isinf(plan.epsilon):
        raise CalibrationError(
            Phrase(
                "chance would have to change so little for ε={epsilon:g} that it cannot; choose less", epsilon=epsilon
            )
        )
    return plan


def _first_given(*words: Any) -> Any:
    return next((word for word in words if word is not None), None)


def _told(plan: Plan) -> Plan:
    """The plan, with a warning for every number that it all but destroys."""
    for told in plan.scattered:
        warnings.warn(told, ScatteredNumbersWarning, stacklevel=3)
    return plan


class CountsItself(ABC):
    """A table that counts its own records, as one on Spark does."""

    @abstractmethod
    def count_columns(self, attributes: Sequence[Categorical | Numeric]) -> Tally:
        """The records over every code of some columns; over none, just how many there are."""


def count_columns(
    schema: Schema, data: Any, attributes: Sequence[Categorical | Numeric] | None = None, progress: Progress = int
) -> Tally:
    """The records of a table over every code of the released columns, or of some; over none, just how many there are.

    Where people have several rows they are counted once, over columns that are the same in all of their rows.

    Parameters
    ----------
    schema : Schema
        What the columns may hold.
    data : frame, path, source or Tally
        The table; a tally that was counted elsewhere is taken if it is over these columns.
    attributes : sequence of Categorical or Numeric
        The columns to count over.
    progress : callable
        Told how many records have been counted, batch by batch.
    """
    attributes = schema.released if attributes is None else tuple(attributes)
    if isinstance(data, CountsItself):
        return data.count_columns(attributes)
    if isinstance(data, Tally):
        if [(axis.name, axis.size) for axis in data.axes] != [(one.name, one.size) for one in attributes]:
            raise CalibrationError(
                Phrase(
                    "the table was counted over other columns than those of the schema: count those that are "
                    'kept for the worst case, all that are released for calibration="data-dependent"'
                )
            )
        return data
    if schema.person is not None:
        return _count_people(schema, open_source(data), attributes, progress)
    source, tally = open_source(data), Tally.of_columns(attributes)
    schema.check_columns(source.names)
    if not attributes and (rows := source.rows) is not None:
        tally.update({}, rows)
        return tally
    names = [attribute.name for attribute in attributes or schema.released[:1]]  # some column tells how many there are
    encoded = partial(encode_columns, attributes)
    for codes, rows in in_order(lambda part: (part.through(encoded), len(part)), read_parts(source, schema, names)):
        tally.update(codes, rows)
        progress(rows)
    return tally


def _count_people(
    schema: Schema, source: Source, attributes: Sequence[Categorical | Numeric], progress: Progress
) -> Tally:
    """People, each once, in memory that grows with how many they are and not with their rows."""
    person, pseudonyms = str(schema.person), Pseudonyms(Randomness.secure())
    people, columns = np.empty(0, np.uint64), {one.name: np.empty(0, np.int32) for one in attributes}
    waiting: list[tuple[People, dict[str, Codes]]] = []

    def read(part: Part) -> tuple[People, dict[str, Codes]]:
        return part.through(lambda batch: (pseudonyms.of(batch, person), encode_columns(attributes, batch)))

    def settle() -> None:
        """Those who wait and those who are known already, each once."""
        nonlocal people, columns
        every = np.concatenate([people, *(some for some, _ in waiting)])
        codes = {name: np.concatenate([known, *(some[name] for _, some in waiting)]) for name, known in columns.items()}
        check_same_for_a_person(every, codes)
        people, first = np.unique(every, return_index=True)
        columns = {name: column[first] for name, column in codes.items()}
        waiting.clear()

    names = [person, *columns]
    for found in in_order(read, read_parts(source, schema, names)):
        waiting.append(found)
        progress(len(found[0]))
        if sum(len(some) for some, _ in waiting) > max(len(people), _PEOPLE_AT_A_TIME):
            settle()
    settle()
    tally = Tally.of_columns(attributes)
    tally.update(columns, len(people))
    return tally


def smallest_group(schema: Schema, data: Any, progress: Progress = int) -> int:
    """The fewest records that share the values of all kept columns: all there are, where none is kept.

    Examples
    --------
    >>> import kakuran as kk, pyarrow as pa
    >>> from kakuran.design import smallest_group
    >>> region = kk.Categorical("region", ["east", "west"], role="keep")
    >>> schema = kk.Schema([region, kk.Categorical("job", ["clerk", "nurse"])])
    >>> people = pa.table({"region": ["east", "east", "west"], "job": ["clerk", "nurse", "nurse"]})
    >>> smallest_group(schema, people)
    1
    """
    return min(group_sizes(schema, data, progress))


def group_sizes(schema: Schema, data: Any, progress: Progress = int) -> list[int]:
    """The numbers of records that share the values of all kept columns; all records are one group where none is."""
    tally = count_columns(schema, data, schema.kept, progress)
    return [int(size) for size in tally.occupied()[1]] if schema.kept and tally.n else [tally.n]


def _groups(
    schema: Schema, n: int | Sequence[int] | None, data: Any, certainty: float | None, progress: Progress
) -> Sequence[int]:
    """How many people each group has that shares its kept values."""
    if n is None:
        return group_sizes(schema, data, progress)
    if schema.kept and certainty is not None and not isinstance(n, Sequence):
        raise CalibrationError(
            Phrase(
                "with kept columns ({columns}) certainty adds up over all groups that share their values: give data, "
                "or the number of people in every group as n",
                columns=", ".join(attribute.name for attribute in schema.kept),
            )
        )
    return n if isinstance(n, Sequence) else [n]


def _largest_rung(crowd: Crowd, k: float, recipe: Recipe) -> float:
    """The largest budget of the ladder that leaves everybody a crowd of k; infinite where no noise does."""
    # Laplace swaps cost the same with bounds and without, but only bounded noise can be infinite.
    bounded = {name: BoundedLaplace.kind if kind == Laplace.kind else kind for name, kind in recipe.chosen.items()}
    at_budget = replace(recipe, chosen=bounded).at

    def reached(budget: float) -> bool:
        return crowd.reaches(k, [tell.telling for tell in at_budget(budget)])

    if recipe.is_fixed:
        if not reached(0.0):
            raise CalibrationError(
                Phrase("the mechanisms given leave somebody a crowd below k={k:g}; make them noisier", k=k)
            )
        return 0.0
    if reached(math.inf):
        return math.inf
    if not reached(0.0):
        raise CalibrationError(
            Phrase(
                "no noise reaches k={k:g}: too few people share their kept values, or the mechanisms given are "
                "too weak",
                k=k,
            )
        )
    return _rung(bisect_left(_RUNGS, True, key=lambda place: not reached(_rung(place))) - 1)


def _rung(place: int) -> float:
    """A budget of the ladder, whose ε = B/2 has two digits: 1.0·10⁻⁶, 1.1·10⁻⁶, …, 9.9·10⁵, and 0 below them."""
    power, digits = divmod(place, 90)
    return 2 * float(f"{10 + digits}e{power - 7}") if place in _RUNGS else 0.0
