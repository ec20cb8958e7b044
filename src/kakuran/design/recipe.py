"""How columns are to be perturbed, up to the budget: which are told together, by which mechanisms, in which shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kakuran.design.plan import LAST_DIGITS, Tell
from kakuran.design.tells import ColumnSets, tells_within
from kakuran.errors import CalibrationError, is_real
from kakuran.mechanism import MECHANISMS, Apart, Mechanism, SquareWave, SubsetSelection, k_for, neighbourhood_of
from kakuran.schema import Categorical, Numeric, Schema

MechanismChoice: TypeAlias = str | Mechanism


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
            raise CalibrationError("weights share the budget of whole records; columns told together have all of it")
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

    def worst_case_budget(self, n: int, k: float) -> float:
        """The budget that n and k leave, less what rounding takes: the parameters that are published keep the promise.

        What ready-made mechanisms cost is taken off first.
        """
        ready = {name: choice for name, choice in self.chosen.items() if isinstance(choice, Mechanism)}
        fixed = sum(choice.largest_swap_cost for choice in ready.values()) if self.sets is None else 0.0
        budget, less = math.log((n - 1) / (k - 1)) - fixed, LAST_DIGITS
        while budget > 0 and _k_of(n, self.at(budget)) < k * (1 + LAST_DIGITS):
            budget, less = max(budget - less, 0.0), 2 * less
        if budget < 0:
            raise CalibrationError(
                f"the mechanisms given for {', '.join(map(repr, ready))} alone reach k={k_for(n, fixed):.4g} with "
                f"{n:,} records, less than {k:g}; make them noisier"
            )
        return budget


def _k_of(n: int, tells: tuple[Tell, ...]) -> float:
    return k_for(n, max(tell.telling.largest_swap_cost for tell in tells))


def _choices(schema: Schema, mechanisms: Mapping[str, MechanismChoice]) -> dict[str, MechanismChoice]:
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
    return SquareWave.kind if isinstance(attribute, Numeric) else SubsetSelection.kind


def _checked_choice(attribute: Categorical | Numeric, choice: MechanismChoice) -> MechanismChoice:
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


def _shares(chosen: Mapping[str, MechanismChoice], weights: Mapping[str, float] | None) -> dict[str, float]:
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


def _at_swap_cost(attribute: Categorical | Numeric, choice: MechanismChoice, swap_cost: float) -> Mechanism:
    if isinstance(choice, Mechanism):
        return choice
    return MECHANISMS[choice].at_swap_cost(attribute, swap_cost)
