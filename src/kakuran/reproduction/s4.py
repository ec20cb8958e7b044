"""S4's experiment (§5) again: Tables 1 to 7 on one small table, Figures 2–15, and whether what S4 says of each is so.

S4 iterates "until successive x differ little" without saying how little. What it reports is seen when both methods are
run until they converge, so that is what is drawn; thin lines show both stopped early, and `auto` is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kakuran.answers import CRITERIA
from kakuran.charts import BLUE, ESTIMATE, INK, Curve, new_figure, put_curves, unbox
from kakuran.mechanism import UniformMixture
from kakuran.model import Operator, class_by_class, ibt, maximum_likelihood, reconstruct
from kakuran.randomness import Randomness
from kakuran.reproduction.findings import Finding, Reproduced, Verdict
from kakuran.typing import Array

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

S4Method: TypeAlias = Callable[[Array, Operator], Array]

CURVES: Mapping[str, S4Method] = {
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


TRUTH = np.array([[2400.0, 1600.0], [1000.0, 2500.0], [900.0, 1600.0]])
"""Three classes × the predicate false, true."""
RETENTION = 0.3
_SHOWN = ("randomized", "IBT", "EIBT")

FINDINGS = (
    Finding("Figure 1", "clients perturb, a server collects", "drawing", "the model of a release, and of a survey"),
    Finding("Table 1", "count queries of two yes/no attributes", "drawing", "two rows of Table 7 added up"),
    Finding(
        "Table 2",
        "entropy, Gini and χ² of a split",
        "in part",
        "χ² with the sizes of the parts; without, a part of one record would win",
    ),
    *(
        Finding(f"Table {number}", shows, "drawing", "computed on 10,000 records")
        for number, shows in (
            (3, "queries for two classes"),
            (4, "queries for three classes"),
            (5, "what IBT rebuilds at once"),
            (6, "states of a record, in bits"),
            (7, "what EIBT rebuilds at once"),
        )
    ),
)


def report() -> Iterator[str]:
    """Each state with its query, the true and the perturbed count, and what IBT and EIBT make of it."""
    setting = Setting(len(TRUTH), 1, int(TRUTH.sum()), RETENTION)
    perturbed = perturbed_once(TRUTH[None].astype(np.int64), setting.operator, Randomness.seeded(4).generator())
    found = {name: CURVES[name](perturbed.astype(float), setting.operator)[0] for name in _SHOWN}
    yield "## Tables 1 to 7: the counts behind one split\n"
    yield (
        f"Three classes, one predicate, {TRUTH.sum():,.0f} records, ρ = {RETENTION:g}. The states and queries are "
        "those of Tables 6 and 7; Table 4 has the same queries, Table 5 those of one class against the rest, and "
        "Tables 1 and 3 those of two classes. IBT rebuilds the rows of a class from a run of its own, EIBT all rows "
        "from one.\n"
    )
    yield "| state | query | true | perturbed | IBT | EIBT |\n|---|---|---|---|---|---|"
    for one in range(len(TRUTH)):
        for holds in (0, 1):
            query = f"COUNT(P₀^{one} ∧ {'' if holds else '¬'}P₁)"
            cells = [TRUTH[one, holds], *(counts[one, holds] for counts in found.values())]
            yield f"| {one:02b}{holds} | {query} | {' | '.join(f'{count:,.0f}' for count in cells)} |"
    yield ""
    yield "Table 2, what splitting by P₁ gains a record:\n"
    yield "| | true | perturbed | IBT | EIBT |\n|---|---|---|---|---|"
    for criterion in CRITERIA:
        gains = [_gain(counts, criterion) for counts in (TRUTH, *found.values())]
        yield f"| {criterion} | {' | '.join(f'{gain:.4f}' for gain in gains)} |"
    yield ""


def _gain(counts: Array, criterion: str) -> float:
    whole, parts = counts.sum(axis=1), (counts[:, 0], counts[:, 1])
    return float(CRITERIA[criterion](whole, parts) / whole.sum())  # type: ignore[index]


Panels: TypeAlias = Mapping[int, Panel]
S4Places: TypeAlias = NDArray[np.bool_]
FigureVerdict: TypeAlias = tuple[bool, str]
Check: TypeAlias = Callable[[Panels, int, str], FigureVerdict]

STOPS = {"": "converged", ", stopped": "stopped at 10⁻³ n"}
"""What the names of curves end in, and what it means."""
LOW, HIGH = 0.2, 0.5
"""S4 speaks of low and high retention; we take at most and at least these."""
ALIKE = 0.02
"""Errors this close look the same in a figure."""


def reproduce(folder: Path, *, quick: bool) -> Reproduced:
    """Draw the figures into a folder and return what was found as Markdown; quick runs are small and mean little."""
    panels = measure((0.1, 0.5), (2, 5), 2) if quick else measure(RETENTIONS, CLASSES, REPETITIONS)
    for along, name in (("retention", "s4-retention.png"), ("classes", "s4-classes.png")):
        _draw([panel for panel in panels.values() if panel.figure.along == along], folder / name)
    text = [*_claims(panels), *_pictures(), *_bars(panels), *report(), *_numbers(panels.values())]
    return Reproduced("\n".join(text), (*FINDINGS, *_findings(panels)))


def _is_lower(at: Callable[[Array], S4Places]) -> Check:
    """EIBT's error is below IBT's at these places."""

    def check(panels: Panels, number: int, stop: str) -> FigureVerdict:
        panel = panels[number]
        ratio = (panel.mean(f"EIBT{stop}") / panel.mean(f"IBT{stop}"))[at(panel.places)]
        return bool((ratio < 1).all()), f"EIBT/IBT {ratio.min():.2f} … {ratio.max():.2f}"

    return check


def _is_alike(at: Callable[[Array], S4Places], most: float = ALIKE) -> Check:
    """Both errors are nearly the same at these places."""

    def check(panels: Panels, number: int, stop: str) -> FigureVerdict:
        panel = panels[number]
        apart = float(np.abs(panel.mean(f"EIBT{stop}") - panel.mean(f"IBT{stop}"))[at(panel.places)].max())
        return apart <= most, f"at most {apart:.3f} apart"

    return check


def _is_above(other: int) -> Check:
    def check(panels: Panels, number: int, stop: str) -> FigureVerdict:
        here, there = (float(panels[which].mean(f"EIBT{stop}").mean()) for which in (number, other))
        return here > there, f"EIBT on average {here:.3f}, there {there:.3f}"

    return check


def _is_below(other: int) -> Check:
    def check(panels: Panels, number: int, stop: str) -> FigureVerdict:
        above, words = _is_above(other)(panels, number, stop)
        return not above, words

    return check


def _is_closer_than(other: int) -> Check:
    """The two methods differ less than in the other figure."""

    def apart(panel: Panel, stop: str) -> float:
        return float((panel.mean(f"IBT{stop}") - panel.mean(f"EIBT{stop}")).mean())

    def check(panels: Panels, number: int, stop: str) -> FigureVerdict:
        here, there = (apart(panels[which], stop) for which in (number, other))
        return abs(here) < abs(there), f"IBT − EIBT on average {here:.3f}, there {there:.3f}"

    return check


_LOW_AND_HIGH: tuple[tuple[str, Check], ...] = (
    ("EIBT lower at low retention", _is_lower(lambda retention: retention <= LOW)),
    ("hardly any difference at high retention", _is_alike(lambda retention: retention >= HIGH)),
)
_CLASSES: tuple[tuple[str, Check], ...] = (
    ("equal for two classes", _is_alike(lambda classes: classes == 2, 1e-4)),
    ("EIBT lower for three to ten", _is_lower(lambda classes: classes > 2)),
)


def _more_attributes(other: int) -> tuple[tuple[str, Check], ...]:
    return (_LOW_AND_HIGH[0], (f"errors larger than in figure {other}", _is_above(other)))


def _more_records(other: int) -> tuple[tuple[str, Check], ...]:
    return (
        (f"errors smaller than in figure {other}", _is_below(other)),
        (f"difference smaller than in figure {other}", _is_closer_than(other)),
    )


CLAIMS: Mapping[int, tuple[tuple[str, Check], ...]] = {
    2: _LOW_AND_HIGH,
    3: _LOW_AND_HIGH,
    4: _CLASSES,
    5: _CLASSES,
    6: _more_attributes(2),
    7: _more_attributes(3),
    8: _more_attributes(2),
    9: _more_attributes(3),
    10: _more_records(2),
    11: _more_records(3),
    12: (*_more_records(4), ("nearly the same", _is_alike(lambda classes: classes > 0))),
    13: (*_more_records(5), _CLASSES[1]),
    14: (*_more_records(7), _LOW_AND_HIGH[0]),
    15: (*_more_records(9), _LOW_AND_HIGH[0]),
}
"""What S4 says of each figure."""


def _claims(panels: Panels) -> Iterator[str]:
    repetitions = panels[2].errors["auto"].shape[1]
    yield "# S4: counts reconstructed class by class and all classes at once\n"
    yield (
        f"Error = L1 distance from the true counts over n, mean of {repetitions}. S4 draws its figures without numbers "
        "and gives no tolerance for its iteration, so what can be compared is what it says of them. Low retention is "
        f"taken as ρ ≤ {LOW:g}, high as ρ ≥ {HIGH:g}, hardly any difference as at most {ALIKE:g}.\n"
    )
    yield f"| figure | S4 says | {' | '.join(STOPS.values())} |\n|---|---|---|---|"
    agreed = dict.fromkeys(STOPS, 0)
    for number, claims in CLAIMS.items():
        for text, check in claims:
            verdicts = {stop: check(panels, number, stop) for stop in STOPS}
            agreed = {stop: agreed[stop] + verdicts[stop][0] for stop in STOPS}
            cells = [f"{'yes' if holds else '**no**'}: {words}" for holds, words in verdicts.values()]
            yield f"| {number} | {text} | {' | '.join(cells)} |"
    total = sum(map(len, CLAIMS.values()))
    yield "\n" + "; ".join(f"{words}, {agreed[stop]} of {total} are so" for stop, words in STOPS.items()) + ".\n"


def _pictures() -> Iterator[str]:
    yield "![Figures by retention](s4-retention.png)\n"
    yield "![Figures by number of classes](s4-classes.png)\n"


def _findings(panels: Panels) -> Iterator[Finding]:
    """A figure reproduces if all that S4 says of it is so when both methods converge."""
    for number, claims in CLAIMS.items():
        verdicts = {text: check(panels, number, "") for text, check in claims}
        holds = [is_so for is_so, _ in verdicts.values()]
        told = "; ".join(f"{'' if is_so else 'not '}{text} ({words})" for text, (is_so, words) in verdicts.items())
        verdict: Verdict = "yes" if all(holds) else "in part" if any(holds) else "no"
        yield Finding(f"Figure {number}", panels[number].figure.title.partition(": ")[2], verdict, told)


def _bars(panels: Panels) -> Iterator[str]:
    """How `auto` compares with EIBT under either stop."""
    yield "## auto\n"
    for stop, words in STOPS.items():
        ratios, surely = [], 0
        for panel in panels.values():
            ours, theirs = panel.errors["auto"], panel.errors[f"EIBT{stop}"]
            ratios.extend(ours.mean(axis=1) / theirs.mean(axis=1))
            excess = ours - 1.02 * theirs
            surely += int((excess.mean(axis=1) > 2 * excess.std(axis=1, ddof=1) / excess.shape[1] ** 0.5).sum())
        above = sum(ratio > 1.02 for ratio in ratios)
        yield (
            f"- Against EIBT {words}: at most {max(ratios):.2f} times its error, on average {np.mean(ratios):.2f}; "
            f"more than 2 % above it at {above} of {len(ratios)} points, at {surely} by more than two standard "
            f"errors. With m = 3 and ρ ≤ {LOW:g} it is {1 - _where_it_is_hard(panels, stop):.0%} below it on average."
        )
    yield ""


def _where_it_is_hard(panels: Panels, stop: str) -> float:
    """The mean ratio of errors, auto over EIBT, with three explanatory attributes and low retention."""
    ratios: list[float] = []
    for panel in panels.values():
        if panel.figure.setting.explanatory == 3:
            ratios.extend((panel.mean("auto") / panel.mean(f"EIBT{stop}"))[panel.places <= LOW])
    return float(np.mean(ratios))


def _numbers(panels: Iterable[Panel]) -> Iterator[str]:
    for panel in panels:
        symbol = "ρ" if panel.figure.along == "retention" else "c"
        yield f"## {panel.figure.title}\n"
        yield f"| {symbol} | {' | '.join(f'{place:g}' for place in panel.places)} |"
        yield "|---" * (len(panel.places) + 1) + "|"
        for curve in CURVES:
            yield f"| {curve} | {' | '.join(f'{error:.3f}' for error in panel.mean(curve))} |"
        yield ""


_STYLES = {
    "randomized": ("#a8a39a", "-"),
    "IBT": (BLUE, "-"),
    "EIBT": (ESTIMATE, "-"),
    "IBT, stopped": (BLUE, ":"),
    "EIBT, stopped": (ESTIMATE, ":"),
    "auto": (INK, "--"),
}


def _draw(panels: list[Panel], path: Path) -> None:
    """One small panel a figure."""
    columns = len(panels) // 2
    picture = new_figure(3.1 * columns, 6.2)
    for axes, panel in zip(picture.subplots(2, columns, sharey=True, sharex=True).flat, panels, strict=True):
        curves = [Curve(name, panel.places, panel.mean(name), *style) for name, style in _STYLES.items()]
        put_curves(axes, curves, linewidth=1.6)
        axes.set_title(panel.figure.title, loc="left", fontsize=9)
        unbox(axes)
    picture.axes[0].set_ylim(bottom=0)  # shared by all, once all are drawn
    picture.supxlabel("retention ρ" if panels[0].figure.along == "retention" else "number of classes")
    picture.supylabel("error: L1 / n")
    handles, labels = picture.axes[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside upper center", ncols=3 * (columns // 2), frameon=False)
    picture.savefig(path, dpi=120)
