"""S4's experiment (§5): Zipf attributes, all perturbed alike, and the error of the counts of class × predicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.mechanism import UniformMixture
from kakuran.mechanism.base import Array
from kakuran.randomness import Randomness
from kakuran.reconstruction import Operator, reconstruct
from kakuran.reconstruction.likelihood import class_by_class, ibt, maximum_likelihood

RETENTIONS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
CLASSES = (2, 3, 4, 5, 6, 7, 8, 9, 10)
REPETITIONS = 10
VALUES, WANTED = 1000, 400
"""An explanatory attribute has so many values; its predicate holds for so many of the most frequent."""


@dataclass(frozen=True)
class Setting:
    """One point of a figure."""

    classes: int
    explanatory: int
    records: int
    retention: float

    @property
    def shares(self) -> Array:
        """The population's share of every cell, class × predicate × …"""
        table = _zipf(self.classes)
        wanted = _zipf(VALUES)[:WANTED].sum()
        for _ in range(self.explanatory):
            table = np.multiply.outer(table, [1 - wanted, wanted])
        return table

    @property
    def operator(self) -> Operator:
        """S4 eq. 13."""
        target = UniformMixture(self.retention, np.full(self.classes, 1 / self.classes))
        predicate = UniformMixture(self.retention, np.array([1 - WANTED / VALUES, WANTED / VALUES]))
        return Operator([target] + [predicate] * self.explanatory)

    def draw(self, repetitions: int) -> tuple[Array, Array]:
        """True and perturbed counts, one table a repetition, the same every time."""
        name = f"{self.classes}{self.explanatory}{self.records}{round(100 * self.retention)}"
        dice, shares = Randomness.seeded(int(name)).generator(), self.shares
        truth = dice.multinomial(self.records, shares.ravel(), repetitions).reshape(repetitions, *shares.shape)
        return truth.astype(float), perturbed_once(truth, self.operator, dice).astype(float)


def perturbed_once(tables: NDArray[np.int64], operator: Operator, dice: np.random.Generator) -> NDArray[np.int64]:
    """Tables of whole counts after every record was perturbed, axis by axis."""
    for axis, transition in enumerate(operator.transitions, start=1):
        assert transition is not None  # noqa: S101
        moved = dice.multinomial(np.moveaxis(tables, axis, -1), transition.matrix.T).sum(axis=-2)
        tables = np.moveaxis(moved, -1, axis)
    return tables


Along: TypeAlias = Literal["retention", "classes"]


@dataclass(frozen=True)
class Figure:
    """A figure of S4: one setting with the retention or the number of classes varied."""

    number: int
    setting: Setting
    along: Along

    def settings(self, places: Sequence[float]) -> list[Setting]:
        """One setting a place on the horizontal axis."""
        if self.along == "retention":
            return [replace(self.setting, retention=place) for place in places]
        return [replace(self.setting, classes=int(place)) for place in places]

    @property
    def title(self) -> str:
        """The figure's number and what is fixed in it."""
        fixed = f"m={self.setting.explanatory}, n={self.setting.records:,}"
        rest = f"c={self.setting.classes}, " if self.along == "retention" else f"ρ={self.setting.retention:g}, "
        return f"Fig. {self.number}: {rest}{fixed}"


def _over_retention(number: int, classes: int, explanatory: int, records: int) -> Figure:
    return Figure(number, Setting(classes, explanatory, records, 0.1), "retention")


def _over_classes(number: int, records: int, retention: float) -> Figure:
    return Figure(number, Setting(5, 1, records, retention), "classes")


FIGURES = (
    _over_retention(2, 5, 1, 10_000),
    _over_retention(3, 10, 1, 10_000),
    _over_classes(4, 10_000, 0.2),
    _over_classes(5, 10_000, 0.1),
    _over_retention(6, 5, 2, 10_000),
    _over_retention(7, 10, 2, 10_000),
    _over_retention(8, 5, 3, 10_000),
    _over_retention(9, 10, 3, 10_000),
    _over_retention(10, 5, 1, 100_000),
    _over_retention(11, 10, 1, 100_000),
    _over_classes(12, 100_000, 0.2),
    _over_classes(13, 100_000, 0.1),
    _over_retention(14, 10, 2, 100_000),
    _over_retention(15, 10, 3, 100_000),
)

Method: TypeAlias = Callable[[Array, Operator], Array]

CURVES: Mapping[str, Method] = {
    "randomized": lambda tables, operator: tables,
    "IBT": lambda tables, operator: class_by_class(tables, operator.stacked(), 1, run=maximum_likelihood),
    "EIBT": lambda tables, operator: maximum_likelihood(tables, operator.stacked())[0],
    "IBT, stopped": lambda tables, operator: np.stack([class_by_class(table, operator) for table in tables]),
    "EIBT, stopped": lambda tables, operator: np.stack([ibt(table, operator)[0] for table in tables]),
    "auto": lambda tables, operator: np.stack([reconstruct(table, operator).counts for table in tables]),
}
"""What turns perturbed tables into estimates; stopped is when a step moves less than a thousandth of the records."""


@dataclass(frozen=True)
class Panel:
    """What was measured for a figure: the errors of every curve, one row a place, one column a repetition."""

    figure: Figure
    places: Array
    errors: Mapping[str, Array]

    def mean(self, curve: str) -> Array:
        """The error at each place, mean of the repetitions."""
        return self.errors[curve].mean(axis=1)


def measure(retentions: Sequence[float], classes: Sequence[float], repetitions: int) -> dict[int, Panel]:
    """Every figure by its number; settings that two figures share are measured once."""
    known: dict[Setting, dict[str, Array]] = {}
    panels = {}
    for figure in FIGURES:
        places = retentions if figure.along == "retention" else classes
        settings = figure.settings(places)
        for setting in settings:
            known[setting] = known.get(setting) or errors_of(setting, repetitions)
        errors = {curve: np.array([known[setting][curve] for setting in settings]) for curve in CURVES}
        panels[figure.number] = Panel(figure, np.array(places, float), errors)
    return panels


def errors_of(setting: Setting, repetitions: int) -> dict[str, Array]:
    """L1 distance from the true counts over the number of records, one a repetition, of every curve."""
    truth, perturbed = setting.draw(repetitions)
    cells = tuple(range(1, truth.ndim))
    return {
        curve: np.abs(method(perturbed, setting.operator) - truth).sum(axis=cells) / setting.records
        for curve, method in CURVES.items()
    }


def _zipf(values: int) -> Array:
    weights = 1 / np.arange(1, values + 1)
    return weights / weights.sum()
