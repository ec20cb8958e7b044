"""S2's protocol: both sides exchange their fitted parts, and each offers its least useful variable.

It reveals far more than the result: see the leakage meter. Kept as published, for comparison, and for partners who may
know each other's columns anyway.

Least squares over two sets of columns goes by asking the other side for fits to what we leave (S2 §2): `ask(v)` sends v
and returns its fit to y − v. Everything else happens here, so that the plain and the accelerated way differ on one side
only and send the same kind of messages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TypeAlias

import numpy as np
from scipy import special

from kakuran.errors import DataError, ProtocolError, counted
from kakuran.randomness import Randomness
from kakuran.typing import Array
from kakuran.vertical.checkpoints import Checkpoints
from kakuran.vertical.disclosure import check_directions
from kakuran.vertical.gram import check_scale
from kakuran.vertical.leakage import DirectionMeter, Exposure
from kakuran.vertical.messages import Estimates, FittedPart, Offer, Space, numbers
from kakuran.vertical.own import Standardised
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.regression import (
    Action,
    Inference,
    Selection,
    Step,
    conclude,
    degrees_of_freedom,
    digits_left,
    judge,
    parameters_of,
    score,
)
from kakuran.vertical.transport import Link
from kakuran.words import Phrase


@dataclass(frozen=True)
class Outcome:
    """The chosen model in standardised units, the way there, and what it cost in privacy."""

    selection: Selection
    inference: Inference
    exposure: Exposure
    target_scale: float
    rounds: int


SideFit: TypeAlias = Callable[[Array], Array]

TOLERANCE = 1e-10
"""How far from settled a fit may end, as a share of the target's length."""
MOST_ROUNDS = 20_000
_ROUNDING = 1e-14
"""Steps smaller than this share of the target are rounding, which need not shrink: it may go to and fro for ever."""


@dataclass(frozen=True)
class Settled:
    """Our part of the joint fit, and the rounds it took."""

    part: Array
    rounds: int


def alternate(target: Array, fit: SideFit, ask: SideFit, tolerance: float = TOLERANCE) -> Settled:
    """Both sides fit in turn what the other leaves (S2, estimation protocol, steps 1 to 4).

    Stops once the distance still to go, a geometric series of the steps so far, is below the tolerance, or steps are
    mere rounding, as they are from the start where neither side's columns have to do with the other's.
    """
    size = float(np.linalg.norm(target))
    part, step = fit(target), np.inf
    for rounds in range(1, MOST_ROUNDS + 1):
        moved = fit(target - ask(part))
        last_step, step = step, float(np.linalg.norm(moved - part))
        part = moved
        shrinking = step / last_step
        nearly_there = rounds > 1 and shrinking < 1 and step * shrinking / (1 - shrinking) <= tolerance * size
        if step <= _ROUNDING * size or nearly_there:
            return Settled(part, rounds)
    raise ProtocolError(
        Phrase("the fits have not settled after {most:,} rounds; use accelerated = true, or gram", most=MOST_ROUNDS)
    )


def accelerate(target: Array, fit: SideFit, ask: SideFit, tolerance: float = TOLERANCE) -> Settled:
    """Conjugate gradients on (I − P P')a = P(I − P')y, where P and P' are the two sides' fits.

    Takes at most as many rounds as the smaller side has columns, but for rounding.
    """
    size = float(np.linalg.norm(target))
    theirs_alone = ask(np.zeros_like(target))
    part, rounds = np.zeros_like(target), 1
    residual = fit(target - theirs_alone)
    direction, square = residual, float(residual @ residual)
    while np.sqrt(square) > tolerance / 10 * size:
        if rounds > MOST_ROUNDS:
            raise ProtocolError(
                Phrase("conjugate gradients have not settled after {most:,} rounds; use gram", most=MOST_ROUNDS)
            )
        # Sent at the target's own size, so that the reply does not lose digits.
        scale = size / float(np.linalg.norm(direction))
        applied = direction - fit((theirs_alone - ask(direction * scale)) / scale)
        rounds += 1
        if not (curvature := float(direction @ applied)) > 0:
            raise ProtocolError(
                Phrase("the fits the other side returned are those of no columns; are both kakurans the same?")
            )
        stride = square / curvature
        part = part + stride * direction
        residual = residual - stride * applied
        last, square = square, float(residual @ residual)
        direction = residual + square / last * direction
    return Settled(part, rounds)


@dataclass(frozen=True)
class Model:
    """A fitted model as one side sees it."""

    columns: tuple[str, ...]
    their_columns: tuple[str, ...]
    coefficients: Array
    part: Array
    their_part: Array
    variance: float
    """RSS/N in standardised units."""
    score: float
    their_space: Array | None = None


def save_model(checkpoints: Checkpoints, model: Model, steps: list[Step], rounds: int, seen: Array) -> None:
    """Keep a fitted model, the steps that led to it, and what the other side has seen by then."""
    facts = {
        "columns": model.columns,
        "their_columns": model.their_columns,
        "variance": model.variance,
        "score": model.score,
        "rounds": rounds,
        "steps": [asdict(step) for step in steps],
    }
    path = json.dumps([(step.action, step.column) for step in steps])
    arrays = {"coefficients": model.coefficients, "part": model.part, "their_part": model.their_part, "seen": seen}
    checkpoints.save(stage_name(len(steps) - 1), hashlib.sha256(path.encode()).hexdigest(), facts, **arrays)


def load_model(checkpoints: Checkpoints, stage: str) -> tuple[Model, list[Step], int, Array]:
    """The inverse of `save_model`."""
    facts, arrays = checkpoints.load(stage)
    seen = arrays.pop("seen")
    model = Model(
        columns=tuple(facts["columns"]),
        their_columns=tuple(facts["their_columns"]),
        variance=facts["variance"],
        score=facts["score"],
        **arrays,
    )
    return model, [Step(**step) for step in facts["steps"]], facts["rounds"], seen


def stage_name(dropped: int) -> str:
    """The name of the stage at which so many variables were dropped; sorts by number."""
    return f"model-{dropped:05d}"


WARNING = (
    "the residual protocol tells both sides the target and shows fitted values record by record; over a whole "
    "elimination that is everything our columns span, and who knows a few of our records can then compute all of them. "
    "The gram protocol shows sums only."
)

_ESTIMATED = ("coefficients", "standard_errors", "vif")
_SINGULAR = 1e-6
"""What must be left of a standardised column that the other side's columns do not explain."""
_NOTHING_LEFT = 1e-25
"""A share of the target's variance that is nothing but rounding."""


@dataclass
class Residual:
    """One side of a run; `leads` is true for the party that comes first in the plan."""

    link: Link
    plan: VerticalPlan
    own: Standardised
    target: Array
    target_scale: float
    leads: bool
    their_name: str
    checkpoints: Checkpoints
    notify: Callable[[str], object]
    rounds: int = 0
    meter: DirectionMeter = field(init=False)

    def __post_init__(self) -> None:
        check_scale(self.target_scale, self.plan.holder)
        self.meter = DirectionMeter(self.own.names, self.own.values)
        if np.linalg.matrix_rank(self.own.values) < len(self.own.names):
            raise DataError(
                self.own.names[-1], Phrase("or another of our columns repeats the rest"), Phrase("Leave it out.")
            )

    def run(self, resume: str | None) -> Outcome:
        """Fit and eliminate until the criterion rises (S2 §3.3); `resume` names a stage both sides have."""
        model, steps = self._start() if resume is None else self._resume(resume)
        while self.plan.search == "backward":
            if self.plan.ranking == "exact":
                model = self._with_their_space(model)
            dropped = self._agree_on_drop(model)
            if dropped is None:
                break
            smaller = self._fit(
                tuple(name for name in model.columns if name != dropped),
                tuple(name for name in model.their_columns if name != dropped),
            )
            accepted = smaller.score <= model.score
            steps.append(self._step("drop", dropped, smaller, accepted=accepted))
            if not accepted:
                break
            model = smaller
            save_model(self.checkpoints, model, steps, self.rounds, self.meter.seen)
        model = self._with_their_space(model)
        chosen = tuple(name for name in self.plan.columns if name in model.columns + model.their_columns)
        inference = self._infer(model, chosen)
        exposure = self.meter.exposure()
        return Outcome(Selection(chosen, tuple(steps)), inference, exposure, self.target_scale, self.rounds)

    def _start(self) -> tuple[Model, list[Step]]:
        theirs = self.plan.terms(self.their_name).columns
        model = self._fit(self.own.names, theirs)
        steps = [self._step("start", "", model, accepted=True)]
        save_model(self.checkpoints, model, steps, self.rounds, self.meter.seen)
        return model, steps

    def _resume(self, stage: str) -> tuple[Model, list[Step]]:
        model, steps, self.rounds, self.meter.seen = load_model(self.checkpoints, stage)
        return model, steps

    def _fit(self, columns: tuple[str, ...], their_columns: tuple[str, ...]) -> Model:
        """Joint least squares on these columns (S2 eq. 2 to 7)."""
        basis, triangle = np.linalg.qr(self.own.only(columns).values)

        def fit(target: Array) -> Array:
            return np.asarray(basis @ (basis.T @ target))

        part, their_part = self._settle(fit) if self.leads else self._answer(fit)
        coefficients = np.linalg.solve(triangle, basis.T @ part)
        # In the order in which the other side subtracts, so that both find the very same variance.
        residual = self.target - part - their_part if self.leads else self.target - their_part - part
        variance = float(residual @ residual) / len(residual)
        if variance < _NOTHING_LEFT:
            raise ProtocolError(
                Phrase("with what {peer} sent, nothing of the target is left to explain", peer=self.their_name)
            )
        variables = len(columns) + len(their_columns)
        value = score(
            self.plan.criterion,
            variance * self.target_scale**2,
            len(residual),
            parameters_of(variables, intercept=self.plan.intercept),
        )
        seen = self.meter.exposure()
        self.notify(
            f"{counted(variables, 'variable')}: {self.plan.criterion} {value:.2f}; {self.their_name} has seen "
            f"{seen.rank} of {counted(seen.columns, 'direction')} of our columns"
        )
        return Model(columns, their_columns, coefficients, part, their_part, variance, value)

    def _settle(self, fit: Callable[[Array], Array]) -> tuple[Array, Array]:
        solve = accelerate if self.plan.accelerated else alternate
        settled = solve(self.target, fit, lambda part: self._ask(self._shown(part), settled=False))
        part = self._shown(settled.part)
        return part, self._ask(part, settled=True)

    def _ask(self, part: Array, *, settled: bool) -> Array:
        self.rounds += 1
        self.link.send(FittedPart(part, settled))
        return self._their_vector(self._receive_part())

    def _answer(self, fit: Callable[[Array], Array]) -> tuple[Array, Array]:
        for _ in range(MOST_ROUNDS + 1):
            question = self._receive_part()
            theirs = self._their_vector(question)
            part = self._shown(fit(self.target - theirs))
            self.rounds += 1
            self.link.send(FittedPart(part, question.settled))
            if question.settled:
                return part, theirs
        raise ProtocolError(
            Phrase("{peer} has asked more than {most:,} times without settling", peer=self.their_name, most=MOST_ROUNDS)
        )

    def _receive_part(self) -> FittedPart:
        return self.link.receive(FittedPart, most=numbers(len(self.target)))

    def _shown(self, vectors: Array) -> Array:
        """What to send of these: all that the meter counts. The guard may stop it."""
        told = self.meter.note(vectors)
        check_directions(self.meter, self.plan.limits)
        return told

    def _their_vector(self, message: FittedPart) -> Array:
        if message.values.shape != self.target.shape:
            raise ProtocolError(
                Phrase(
                    "{peer} sent {shape} values for {count} records",
                    peer=self.their_name,
                    shape=message.values.shape,
                    count=len(self.target),
                )
            )
        return message.values

    def _agree_on_drop(self, model: Model) -> str | None:
        """The variable both sides give up: the cheaper of their two offers (S2 eq. 12, 13)."""
        ours = self._our_offer(model)
        theirs = self.link.swap(ours, speaks_first=self.leads)
        if theirs.column and theirs.column not in model.their_columns:
            raise ProtocolError(
                Phrase(
                    "{peer} offers to drop {column!r}, which it does not have",
                    peer=self.their_name,
                    column=theirs.column,
                )
            )
        first, second = (ours, theirs) if self.leads else (theirs, ours)
        return (first if first.variance <= second.variance else second).column or None

    def _our_offer(self, model: Model) -> Offer:
        costs = model.coefficients**2
        if self.plan.ranking == "exact":
            costs = costs / (len(self.target) * np.diag(self._inverse(model)))
        free = [name not in self.plan.forced for name in model.columns]
        if len(model.columns) <= self.plan.least or not any(free):
            return Offer("", np.inf)
        place = int(np.where(free, costs, np.inf).argmin())
        return Offer(model.columns[place], model.variance + float(costs[place]))

    def _with_their_space(self, model: Model) -> Model:
        """The model with what the other side's columns span, which exact costs and standard errors need."""
        if model.their_space is not None:
            return model
        basis, _ = np.linalg.qr(self.own.only(model.columns).values)
        turned = self._shown(basis @ _random_rotation(basis.shape[1]))
        due = numbers(len(self.target) * len(model.their_columns))
        theirs = self.link.swap(Space(turned), speaks_first=self.leads, most=due).basis
        if theirs.shape != (len(self.target), len(model.their_columns)):
            raise ProtocolError(
                Phrase("{peer} sent a space of another shape than its columns have", peer=self.their_name)
            )
        return replace(model, their_space=theirs)

    def _inverse(self, model: Model) -> Array:
        """Our block of (XᵀX)⁻¹ over both sides' columns."""
        assert model.their_space is not None  # noqa: S101 - every caller has asked for it
        if not model.columns:
            return np.empty((0, 0))
        ours = self.own.only(model.columns).values
        unexplained = ours - model.their_space @ (model.their_space.T @ ours)
        _, strengths, directions = np.linalg.svd(unexplained, full_matrices=False)
        if strengths[-1] < _SINGULAR * np.sqrt(len(ours)):
            culprit = model.columns[int(np.abs(directions[-1]).argmax())]
            raise DataError(
                culprit, Phrase("is a combination of other columns in the model"), Phrase("Leave it out of the plan.")
            )
        return np.asarray(np.linalg.inv(unexplained.T @ unexplained), np.float64)

    def _infer(self, model: Model, chosen: tuple[str, ...]) -> Inference:
        assert model.their_space is not None  # noqa: S101 - every caller has asked for it
        records = len(self.target)
        ours = self.own.only(model.columns).values
        between = np.linalg.qr(ours).Q.T @ model.their_space
        cosine = min(float(np.linalg.norm(between, 2)), 1 - 1e-15) if between.size else 0.0
        inverse = np.diag(self._inverse(model))
        freedom = degrees_of_freedom(records, len(chosen), intercept=self.plan.intercept)
        errors = np.sqrt(model.variance * records / freedom * inverse)
        condition = float(np.linalg.cond(ours)) if model.columns else 1.0
        sent = Estimates(model.coefficients, errors, inverse * records, condition)
        theirs = self._their_estimates(self.link.swap(sent, speaks_first=self.leads), model)
        condition = max(sent.condition, theirs.condition) * float(np.sqrt((1 + cosine) / (1 - cosine)))
        quality = judge(
            records,
            len(chosen),
            intercept=self.plan.intercept,
            unexplained=model.variance,
            variance=model.variance * self.target_scale**2,
            condition=condition,
            digits=min(digits_left(condition, None), max(0, int(-np.log10(TOLERANCE * condition)))),
        )
        names = model.columns + model.their_columns
        order = [names.index(name) for name in chosen]
        coefficients, errors, vif = (
            np.concatenate([getattr(sent, what), getattr(theirs, what)])[order] for what in _ESTIMATED
        )
        return conclude(chosen, coefficients, errors, vif=vif, quality=quality)

    def _their_estimates(self, message: Estimates, model: Model) -> Estimates:
        if any(getattr(message, what).shape != (len(model.their_columns),) for what in _ESTIMATED):
            raise ProtocolError(
                Phrase("{peer} sent estimates of another shape than its columns have", peer=self.their_name)
            )
        if not ((message.standard_errors > 0).all() and (message.vif > 0).all() and message.condition > 0):
            raise ProtocolError(Phrase("{peer} sent estimates that no columns have", peer=self.their_name))
        return message

    def _step(self, action: Action, column: str, model: Model, *, accepted: bool) -> Step:
        variables = len(model.columns) + len(model.their_columns)
        variance = model.variance * self.target_scale**2
        return Step(action, column, variables, variance, model.score, accepted)


def _random_rotation(size: int) -> Array:
    """A rotation nobody else knows, so that a basis says nothing about which column is which."""
    uniform = (Randomness.secure().words(size * size) >> np.uint64(11)).astype(np.float64) + 0.5
    return np.linalg.qr(special.ndtri(uniform * 2.0**-53).reshape(size, size)).Q
