"""What a plan guarantees: k in every draw or with certainty, a central ε, and the largest budget that keeps both.

The papers' k holds in every release that could be drawn: e^(2ε₀) = (n − 1)/(k − 1). With certainty 1 − δ it holds in
all draws but a share δ of them, which theorem B bounds (`blanket`, maths §15): ε₀ is then the larger of the papers' and
theorem B's. As k alone is a weak guarantee where cells are many and k is small, a ceiling on the central ε goes with
certainty, and the smaller ε₀ is taken.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from kakuran.design.central import DELTA, check_delta, local_epsilon
from kakuran.design.plan import MOST_PEOPLE, RAREST, Plan, Recipe, check_certainty
from kakuran.errors import CalibrationError, StrongerThanAskedWarning, is_real
from kakuran.typing import Number
from kakuran.words import Phrase

CERTAINTY = 0.999999
"""What is compared with k in every draw, where no other certainty is asked for."""
CENTRAL_CEILING = 1.0
"""The central ε that a plan with certainty may have at most, unless the steward says otherwise."""
_FEWEST_OTHERS = 1e-9
"""Others that hide a person at least, where a central ε is all that was asked for."""
_DIGITS = 1e-6
"""To which a budget is looked for."""


@dataclass(frozen=True)
class Guarantee:
    """What a plan must keep.

    Attributes
    ----------
    k : float | None
        Nobody is linked to a record with probability above 1/k; None where a central ε is all that was asked for.
    groups : tuple[int, ...]
        People in each group that shares its kept values, the smallest first; where no column is kept, all people.
    certainty : float | None
        The probability over the draw with which k holds for everybody; None for every draw.
    central : float | None
        The central ε that is kept, whatever k allows; None for any.
    delta : float
        δ of the central ε.

    Examples
    --------
    >>> from kakuran.design import Guarantee
    >>> Guarantee.of(10, [50_000], certainty=0.999999).central
    1.0
    """

    k: float | None
    groups: tuple[int, ...]
    certainty: float | None = None
    central: float | None = None
    delta: float = DELTA

    @classmethod
    def of(
        cls,
        k: float | None,
        groups: Iterable[int],
        *,
        certainty: float | None = None,
        central_epsilon: float | None = None,
        central_ceiling: float | None = CENTRAL_CEILING,
        delta: float = DELTA,
    ) -> Guarantee:
        """What was asked for, checked; the ceiling goes with certainty, and a central ε takes its place."""
        for size in (sizes := list(groups)):
            if not isinstance(size, Number):
                raise CalibrationError(Phrase("{name} must be a number, got {value!r}", name="n", value=size))
        check_k(2 if k is None else k, min(sizes, default=0))
        check_delta(delta)
        if certainty is not None:
            if k is None:
                raise CalibrationError(Phrase("certainty says how surely k holds: give k, too"))
            check_certainty(certainty)
        ceiling = None if certainty is None or central_ceiling == math.inf else central_ceiling
        for name, value in (("central_epsilon", central_epsilon), ("central_ceiling", ceiling)):
            if value is not None and (not is_real(value) or not 0 < value < math.inf):
                raise CalibrationError(Phrase("{name} must lie above 0, got {value!r}", name=name, value=value))
        central = ceiling if central_epsilon is None else central_epsilon
        return cls(k, tuple(sorted(map(int, sizes))), certainty, central, delta)

    @property
    def n(self) -> int:
        """People in the smallest group."""
        return self.groups[0]

    def plan(self, recipe: Recipe) -> Plan:
        """The plan with the least noise that keeps the guarantee; of a central ε it says the k that goes with it."""
        plan = self._at(recipe, self.budget(recipe))
        reached = plan.k_for(self.n)
        is_more = self.certainty is None and reached > plan.k * (1 + _DIGITS)
        return replace(plan, k=reached) if is_more else plan

    def budget(self, recipe: Recipe) -> float:
        """The largest budget found that keeps the guarantee; the parameters at it were checked as they are."""
        by_k = self._budget_by_k(recipe)
        if self.central is None:
            return by_k
        central = self.central * (1 - _DIGITS)  # as ε is not computed to its last digit
        enough = max(2 * local_epsilon(self.n, central, self.delta) - recipe.fixed_cost, 0.0)

        def excess(budget: float) -> float:
            return math.log(max(self._at(recipe, budget).part().delta(central), RAREST) / self.delta)

        return _largest(min(enough, by_k), by_k, excess)

    def warn_if_stronger(self, plan: Plan) -> None:
        """Say so where the ceiling on the central ε asks for more noise than the papers' k would."""
        if self.certainty is None or self.k is None or plan.k_for(self.n) < self.k * (1 + _DIGITS):
            return
        warnings.warn(
            Phrase(
                "the ceiling of {central:g} on the central ε takes more noise than k = {k:g} in every draw would; "
                "leave out certainty, or raise central_ceiling",
                central=self.central,
                k=self.k,
            ),
            StrongerThanAskedWarning,
            stacklevel=4,
        )

    def _budget_by_k(self, recipe: Recipe) -> float:
        if self.k is None:
            return math.log((self.n - 1) / _FEWEST_OTHERS)
        if self.certainty is None:
            return recipe.worst_case_budget(self.n, self.k)

        def excess(budget: float) -> float:
            return self._at(recipe, budget).excess_risk(self.groups)

        try:
            in_every_draw = recipe.worst_case_budget(self.n, self.k)
        except CalibrationError:  # of ready-made mechanisms, which may be enough with certainty
            if excess(0.0) > 0:
                raise
            in_every_draw = 0.0
        # On average (n − 1)e^(−ε₀) others hide a person: with fewer than k no certainty is left.
        most = max(2 * math.log((self.n - 1) / (self.k - 1)), in_every_draw)
        return _largest(in_every_draw, most, excess)

    def _at(self, recipe: Recipe, budget: float) -> Plan:
        return Plan(
            recipe.schema, recipe.at(budget), self.n, float(self.k or 1.0), "worst-case", certainty=self.certainty
        )


def plan_among(plan: Plan, n: int) -> Plan:
    """The plan with the k that its mechanisms keep for n people, be they fewer than planned.

    Of a plan with certainty, the largest k found up to the plan's own that they keep with the same certainty; k in
    every draw where that is more.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.design import plan_among
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse", "smith"])])
    >>> plan = kk.calibrate(schema, n=1000, k=10, certainty=0.999999)
    >>> round(plan_among(plan, 900).k, 2), round(plan.k_for(900), 2)
    (8.06, 2.38)
    """
    in_every_draw = plan.k_for(n)
    if plan.certainty is not None:
        k = _largest(in_every_draw, plan.k, lambda k: replace(plan, n=n, k=k).excess_risk([n]))
        if k > in_every_draw:
            return replace(plan, n=n, k=k)
    return replace(plan, n=n, k=in_every_draw, certainty=None)


def check_k(k: float | None, n: float) -> float:
    """Refuse a k that cannot be guaranteed to n people."""
    for name, value in (("n", n), ("k", k)):
        if value is None or not isinstance(value, Number):
            raise CalibrationError(Phrase("{name} must be a number, got {value!r}", name=name, value=value))
        if MOST_PEOPLE < abs(value) < math.inf:
            raise CalibrationError(
                Phrase("{name} must be at most {most:g}, got {value!r}", name=name, most=MOST_PEOPLE, value=value)
            )
    if k is None or not 1 < k < math.inf:
        raise CalibrationError(
            Phrase("k must be above 1 (k=1 promises nothing) and at most the number of records, got {k:g}", k=k)
        )
    if n != n or n in (math.inf, -math.inf) or n != int(n):
        raise CalibrationError(Phrase("the number of records must be whole, got {n}", n=n))
    if n < 2:
        raise CalibrationError(Phrase("at least 2 records are needed to hide among, got {n}", n=n))
    if k > n:
        raise CalibrationError(
            Phrase("k={k:g} is more than the {n:,} records: nobody can hide among more people than there are", k=k, n=n)
        )
    return k


def _largest(low: float, high: float, excess: Callable[[float], float]) -> float:
    """The largest budget found between one that is known to keep the guarantee and one that may be too large.

    Half-widths and sizes of subsets are whole numbers, so that the excess jumps: a budget is taken only where it is
    not above 0.
    """
    from scipy.optimize import brentq

    if excess(high) <= 0:
        return high
    if excess(low) >= 0:
        return low
    found, less = float(brentq(excess, low, high, xtol=_DIGITS, rtol=_DIGITS)), _DIGITS
    while found > low and excess(found) > 0:
        found, less = found - less, 2 * less
    return max(found, low)
