"""From k to ρ, φ and σ (S1 eq. 4, maths §2).

Every mechanism can be set to a *swap cost*: −log of the least factor by which likelihoods change when two
people at its two ends swap records. Costs of columns add up, so the whole calibration is one number B, the
budget: column j gets the swap cost s_j·B, and

- worst case: everybody else counts e^(−B), so k = 1 + (n−1)e^(−B) and B = ln((n−1)/(k−1));
- data-dependent: B is the largest rung of a coarse ladder at which every crowd in this very table is at least k.

Each column is then s_j·B/2-locally differentially private, the record B/2. What is published of a data-dependent plan
depends on the table through its rung alone: full precision would tell of somebody to whoever knows all others.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeAlias, get_args

from kakuran.counts import Tally
from kakuran.design.crowd import Crowd
from kakuran.design.plan import LAST_DIGITS, Calibration, Plan
from kakuran.errors import CalibrationError, ScatteredNumbersWarning, check_is, is_real
from kakuran.mechanism import (
    MECHANISMS,
    BoundedLaplace,
    Laplace,
    Mechanism,
    RetentionReplacement,
    SubsetSelection,
    k_for,
    k_of,
)
from kakuran.schema import Categorical, Numeric, Schema, encode_columns, in_order, open_source, read_parts
from kakuran.typing import Progress

Choice: TypeAlias = str | Mechanism
At: TypeAlias = Callable[[float], dict[str, Mechanism]]

_RUNGS = range(12 * 90)
"""The budgets a data-dependent plan may have: twelve powers of ten, with two digits each."""


def calibrate(
    schema: Schema,
    *,
    k: float,
    n: int | None = None,
    data: Any = None,
    calibration: Calibration | None = None,
    weights: Mapping[str, float] | None = None,
    mechanisms: Mapping[str, Choice] | None = None,
    progress: Progress = int,
) -> Plan:
    """The least noise that keeps everybody from being linked with probability above 1/k.

    Parameters
    ----------
    schema : Schema
        What the columns may hold.
    k : float
        The promise, above 1 and at most n.
    n : int
        Records in the table (worst case); with kept columns, in the smallest group that shares their values.
    data : frame, path, source or Tally
        The table itself, instead of n.
    calibration : {"worst-case", "data-dependent"}
        What is taken from the data: by default everything, which needs less noise, but the parameters then depend on
        the data and hold for this table only; ε is rounded down to two digits, so that they tell little of it. With
        ``"worst-case"`` only n is counted in them.
    weights : mapping from column to float
        Each column's share of the budget, adding up to 1; equal by default.
    mechanisms : mapping from column to str or Mechanism
        ``"retention"``, ``"subset"``, ``"laplace"``, ``"bounded-laplace"`` or ``"bounded-gaussian"``, or a ready
        mechanism such as `PRAM`, whose cost is taken off the budget first. By default bounded-laplace for numbers, and
        for categories subset, which is retention where they have few values for their share of the budget.
    progress : callable
        Told how many records have been counted, batch by batch.

    Examples
    --------
    S0's noise scale for age in Adult (k=2, 32561 records between 17 and 90):

    >>> import kakuran as kk
    >>> age = kk.Schema([kk.Numeric("age", 17, 90, step=1)])
    >>> round(kk.calibrate(age, n=32561, k=2)["age"].scale, 2)
    14.05
    """
    check_is(schema, Schema, "kakuran.Schema.load reads one from its file")
    if not schema.perturbed:
        raise CalibrationError("the schema has no column to perturb")
    if (n is None) == (data is None):
        raise CalibrationError("give either n (worst case) or data (data-dependent), not both and not neither")
    calibration = calibration or ("worst-case" if data is None else "data-dependent")
    if calibration not in get_args(Calibration):
        raise CalibrationError(f"calibration must be worst-case or data-dependent, got {calibration!r}")
    if calibration == "data-dependent" and data is None:
        raise CalibrationError("the data-dependent calibration needs the data, not n")
    chosen = _choices(schema, mechanisms or {})
    shares = _shares(chosen, weights)
    at_budget = _mechanisms_at(schema, chosen, shares)
    if calibration == "worst-case":
        n = smallest_group(schema, data, progress) if n is None else n
        _check_promise(k, n)
        budget = _worst_case_budget(n, k, at_budget, _fixed_cost(chosen))
        if budget < 0:
            _refuse_fixed(chosen, n, k)
        return _told(Plan(schema, at_budget(budget), int(n), float(k), "worst-case"))
    tally = count_columns(schema, data, schema.released, progress)
    _check_promise(k, tally.n)
    # Laplace swaps cost the same with bounds and without, but only bounded noise can be infinite.
    bounded = {name: BoundedLaplace.kind if kind == Laplace.kind else kind for name, kind in chosen.items()}
    budget = _largest_rung(Crowd(tally), k, _mechanisms_at(schema, bounded, shares), shares)
    if not schema.kept:
        budget = max(budget, _worst_case_budget(tally.n, k, at_budget, _fixed_cost(chosen)))
    return _told(Plan(schema, at_budget(budget), tally.n, float(k), "data-dependent"))


def _told(plan: Plan) -> Plan:
    """The plan, with a warning for every number that it all but destroys."""
    for told in plan.scattered:
        warnings.warn(told, ScatteredNumbersWarning, stacklevel=3)
    return plan


def mechanisms_within(
    schema: Schema, epsilon: float, mechanisms: Mapping[str, Choice] | None = None
) -> dict[str, Mechanism]:
    """The least noise whose ε adds up to this over all columns, in equal shares: a promise however many there are."""
    chosen = _choices(schema, mechanisms or {})
    found = _mechanisms_at(schema, chosen, _shares(chosen, None))(2 * epsilon)
    if any(math.isinf(mechanism.epsilon) for mechanism in found.values()):
        raise CalibrationError(f"chance would have to change so little for ε={epsilon:g} that it cannot; choose less")
    return found


class CountsItself(ABC):
    """A table that counts its own records, as one on Spark does."""

    @abstractmethod
    def count_columns(self, attributes: Sequence[Categorical | Numeric]) -> Tally:
        """The records over every code of some columns; over none, just how many there are."""


def count_columns(
    schema: Schema, data: Any, attributes: Sequence[Categorical | Numeric] | None = None, progress: Progress = int
) -> Tally:
    """The records of a table over every code of the released columns, or of some; over none, just how many there are.

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
            raise CalibrationError("the table was counted over other columns than those of the schema")
        return data
    source, tally = open_source(data), Tally.of_columns(attributes)
    if not attributes and (rows := source.rows) is not None:
        tally.update({}, rows)
        return tally
    names = [attribute.name for attribute in attributes or schema.released[:1]]  # some column tells how many there are
    encoded = partial(encode_columns, attributes)
    for codes, rows in in_order(lambda part: (part.through(encoded), len(part)), read_parts(source, schema, names)):
        tally.update(codes, rows)
        progress(rows)
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
    tally = count_columns(schema, data, schema.kept, progress)
    return tally.fewest if tally.n else 0


def _check_promise(k: float, n: int) -> None:
    for name, value in (("k", k), ("n", n)):
        if not is_real(value):
            raise CalibrationError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(k) or k <= 1:
        raise CalibrationError(f"k must be above 1 (k=1 promises nothing) and at most the number of records, got {k:g}")
    if n != n or n in (math.inf, -math.inf) or n != int(n):
        raise CalibrationError(f"the number of records must be whole, got {n}")
    if n < 2:
        raise CalibrationError(f"at least 2 records are needed to hide among, got {n}")
    if k > n:
        raise CalibrationError(
            f"k={k:g} is more than the {n:,} records: nobody can hide among more people than there are"
        )


def _choices(schema: Schema, mechanisms: Mapping[str, Choice]) -> dict[str, Choice]:
    names = [attribute.name for attribute in schema.perturbed]
    for name in mechanisms:
        if name not in names:
            raise CalibrationError(
                f"a mechanism is given for {name!r}, which is not a perturbed column; those are {', '.join(names)}"
            )
    return {
        attribute.name: _checked_choice(attribute, mechanisms.get(attribute.name, _default(attribute)))
        for attribute in schema.perturbed
    }


def _default(attribute: Categorical | Numeric) -> str:
    if isinstance(attribute, Categorical):
        return SubsetSelection.kind
    return BoundedLaplace.kind if attribute.missing == "error" else RetentionReplacement.kind


def _checked_choice(attribute: Categorical | Numeric, choice: Choice) -> Choice:
    if attribute.size < 2:
        raise CalibrationError(
            f"column {attribute.name!r} has one value only, so perturbing cannot hide anything; "
            "list its other values, keep it, or drop it"
        )
    if isinstance(choice, Mechanism):
        choice.check_fits(attribute)
        return choice
    known = [name for name, mechanism in MECHANISMS.items() if not mechanism.is_ready_made]
    if choice not in known:
        raise CalibrationError(f"column {attribute.name!r}: unknown mechanism {choice!r}; there are {', '.join(known)}")
    return choice


def _shares(chosen: Mapping[str, Choice], weights: Mapping[str, float] | None) -> dict[str, float]:
    """Each column's share of the budget; ready-made mechanisms have none."""
    names = [name for name, choice in chosen.items() if isinstance(choice, str)]
    if weights is None:
        return {name: 1 / len(names) for name in names}
    if set(weights) != set(names):
        missing, surplus = sorted(set(names) - set(weights)), sorted(set(weights) - set(names))
        odd = [f"{name!r} is missing" for name in missing] + [f"{name!r} is not one of them" for name in surplus]
        raise CalibrationError(f"weights must name exactly the columns {', '.join(names)}; {', '.join(odd)}")
    for name, weight in weights.items():
        if not is_real(weight) or not 0 < weight <= 1:
            raise CalibrationError(
                f"the weight of {name!r} must lie between 0 and 1, got {weight!r}; to leave a column out, drop it"
            )
    if abs(sum(weights.values()) - 1) > 1e-9:
        raise CalibrationError(f"weights must add up to 1, got {sum(weights.values()):.12g}")
    return dict(weights)


def _mechanisms_at(schema: Schema, chosen: Mapping[str, Choice], shares: Mapping[str, float]) -> At:
    """The mechanisms of all columns as a function of the budget."""

    def at_budget(budget: float) -> dict[str, Mechanism]:
        return {
            attribute.name: _at_swap_cost(attribute, chosen[attribute.name], shares.get(attribute.name, 0.0) * budget)
            for attribute in schema.perturbed
        }

    return at_budget


def _at_swap_cost(attribute: Categorical | Numeric, choice: Choice, swap_cost: float) -> Mechanism:
    if isinstance(choice, Mechanism):
        return choice
    return MECHANISMS[choice].at_swap_cost(attribute, swap_cost)


def _fixed_cost(chosen: Mapping[str, Choice]) -> float:
    return sum(choice.largest_swap_cost for choice in chosen.values() if isinstance(choice, Mechanism))


def _refuse_fixed(chosen: Mapping[str, Choice], n: int, k: float) -> NoReturn:
    reached = k_for(n, _fixed_cost(chosen))
    names = ", ".join(repr(name) for name, choice in chosen.items() if isinstance(choice, Mechanism))
    raise CalibrationError(
        f"the mechanisms given for {names} alone reach k={reached:.4g} with {n:,} records, less than {k:g}; "
        "make them noisier"
    )


def _worst_case_budget(n: int, k: float, at_budget: At, fixed_cost: float) -> float:
    """The budget that n and k leave, less what rounding takes: the parameters that are published keep the promise."""
    budget, less = math.log((n - 1) / (k - 1)) - fixed_cost, LAST_DIGITS
    while budget > 0 and k_of(n, at_budget(budget).values()) < k * (1 + LAST_DIGITS):
        budget, less = max(budget - less, 0.0), 2 * less
    return budget


def _largest_rung(crowd: Crowd, k: float, at_budget: At, shares: Mapping[str, float]) -> float:
    """The largest budget of the ladder that leaves everybody a crowd of k; infinite where no noise does."""
    if not shares:
        if not crowd.reaches(k, at_budget(0.0)):
            raise CalibrationError(f"the mechanisms given leave somebody a crowd below k={k:g}; make them noisier")
        return 0.0
    if crowd.reaches(k, at_budget(math.inf)):
        return math.inf
    if not crowd.reaches(k, at_budget(0.0)):
        raise CalibrationError(
            f"no noise reaches k={k:g}: too few people share their kept values, or the mechanisms given are too weak"
        )
    return _rung(bisect_left(_RUNGS, True, key=lambda place: not crowd.reaches(k, at_budget(_rung(place)))) - 1)


def _rung(place: int) -> float:
    """A budget of the ladder, whose ε = B/2 has two digits: 1.0·10⁻⁶, 1.1·10⁻⁶, …, 9.9·10⁵, and 0 below them."""
    power, digits = divmod(place, 90)
    return 2 * float(f"{10 + digits}e{power - 7}") if place in _RUNGS else 0.0
