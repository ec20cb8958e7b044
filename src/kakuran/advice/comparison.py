"""Expected error against k.

Which method to use and why, in plain sentences.

Which method for which table: all of them tried at the k that is wanted, and at others beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.advice.methods import (
    FLAT_GUESS,
    K_ANONYMITY,
    PK_ANONYMITY,
    Outlook,
    Trial,
    Yardstick,
    factorised,
    microaggregated,
    perturbed,
    perturbed_for_the_data,
)
from kakuran.charts import BLUE, ESTIMATE, INK, Curve, error_chart
from kakuran.counts import Cells, Tally, cells_of
from kakuran.design import calibrate
from kakuran.errors import CalibrationError, DataError, SchemaError
from kakuran.randomness import Randomness
from kakuran.schema import (
    Categorical,
    Schema,
    Source,
    columns_of,
    numbers_of,
    open_source,
    read_all,
    read_table,
)
from kakuran.typing import Codes
from kakuran.wide import binary_matrix
from kakuran.words import Phrase, Translate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = {
    "perturb": (ESTIMATE, "-o"),
    "perturb-data-dependent": ("#8c3a1f", "-s"),
    "microaggregate": (INK, "-^"),
    "factorise": (BLUE, "-D"),
}


NAMES = {
    "perturb": Phrase("perturbation (worst case)"),
    "perturb-data-dependent": Phrase("perturbation (data-dependent)"),
    "microaggregate": Phrase("microaggregation"),
    "factorise": Phrase("factorisation"),
}
_USELESS = 0.8
_HOW = {
    "perturb": "kakuran perturb",
    "perturb-data-dependent": "kakuran perturb --data-dependent",
    "microaggregate": "kakuran microaggregate",
    "factorise": "kakuran factorise",
}


def reasons(outlooks: Sequence[Outlook], guess: float, *, from_data: bool) -> Iterator[Phrase]:
    """What to do, what it costs, what it promises, and what to do instead if that is not enough."""
    best, *others = [outlook for outlook in outlooks if outlook.errors is not None]
    yield Phrase(
        "Use {method}, with {command}: of all that can be assessed it counts the fewest people in the wrong cell, "
        "{share:.1%} on average over one- and two-way tables ({note}).",
        **_said_of(best),
    )
    yield _promised(best)
    stronger = [one for one in others if best.promise == K_ANONYMITY and one.promise == PK_ANONYMITY][:1]
    for other in stronger:
        yield Phrase(
            "Where the values themselves must be hidden, and not only whose they are, use {method}, with {command}: "
            "{share:.1%} in the wrong cell ({note}).",
            **_said_of(other),
        )
    if "perturb-data-dependent" in [one.method for one in (best, *stronger)]:
        yield Phrase(
            "The parameters of data-dependent noise are computed from the data and published, so they tell a little "
            "about them; the worst case does not."
        )
    for other in others:
        if other not in stronger:
            yield Phrase(
                "With {method}, {share:.1%} would be in the wrong cell ({promise}; {note}).", **_said_of(other)
            )
    if best.errors is not None and best.errors.both > _USELESS * guess:
        yield Phrase(
            "Beware: guessing without any release would put {guess:.1%} in the wrong cell. At this k the release "
            "tells next to nothing; lower k, or release fewer columns.",
            guess=guess,
        )
    for outlook in outlooks:
        if outlook.errors is None:
            yield Phrase(
                "With {method}, the error is not known ({note}).", method=NAMES[outlook.method], note=outlook.note
            )
    yield (
        Phrase("These errors were found on the data: keep this advice inside.")
        if from_data
        else Phrase(
            "No data were looked at: smooth tables come out better than this, numbers with a spike may come out worse."
        )
    )


def _promised(outlook: Outlook) -> Phrase:
    if outlook.promise == PK_ANONYMITY:
        return Phrase(
            "It promises Pk-anonymity: no released record can be linked to a person with probability above 1/{k:g}, "
            "and every value is random.",
            k=outlook.k,
        )
    return Phrase(
        "It promises k-anonymity: at least {k:g} records share their values, so nobody can tell whose is whose; but "
        "there is no ε: what stands for a group is computed from its members, and what all of them share is in plain "
        "sight.",
        k=outlook.k,
    )


def _said_of(outlook: Outlook) -> dict[str, object]:
    assert outlook.errors is not None  # noqa: S101
    return {
        "method": NAMES[outlook.method],
        "command": _HOW[outlook.method],
        "share": outlook.errors.both,
        "promise": outlook.promise,
        "note": outlook.note,
    }


OTHER_KS = (2, 5, 10, 20, 50)
MADE_UP = 2_000
"""Records made up where there are no data, or more for twenty groups of k."""
METHODS = (perturbed, perturbed_for_the_data, microaggregated, factorised)


@dataclass(frozen=True, eq=False)
class Advice:
    """What every method would cost, and which to use; `kakuran.advise` makes one.

    Attributes
    ----------
    n : int
        People.
    k : float
        The promise.
    from_data : bool
        Whether methods were tried on the data; the advice then depends on them and is internal.
    outlooks : tuple[Outlook, ...]
        Every method at k, the least error first, those that could not be assessed last.
    curves : tuple[Outlook, ...]
        Every method at other k as well.
    guess : float
        The share of people somebody would put in the wrong cell who never saw a release.
    sentences : tuple[str, ...]
        Which to use, and why.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse", "smith"])])
    >>> advice = kk.advise(schema, n=10_000, k=5)
    >>> advice.from_data, advice.to_dict()["best"] == advice.best.method
    (False, True)
    """

    n: int
    k: float
    from_data: bool
    outlooks: tuple[Outlook, ...]
    curves: tuple[Outlook, ...]
    guess: float
    sentences: tuple[str, ...]

    @property
    def best(self) -> Outlook:
        """The method with the least expected error."""
        return self.outlooks[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {
            "n": self.n,
            "k": self.k,
            "from_data": self.from_data,
            "best": self.best.method,
            "guess": self.guess,
            "advice": list(self.sentences),
            "methods": [_described(outlook) for outlook in self.outlooks],
            "curves": [_described(outlook) for outlook in self.curves],
        }

    def plot(self, translate: Translate = str, *, narrow: bool = False) -> Figure:
        """Expected error against k, a line a method; the k that is wanted, and what guessing would get wrong.

        Parameters
        ----------
        translate : callable, optional
            Says the picture's words in another language.
        narrow : bool, optional
            Whether it is for a narrow screen.
        """
        curves = []
        for method, (colour, style) in _STYLES.items():
            points = sorted((one.k, one.errors.both) for one in self.curves if one.method == method and one.errors)
            if points:
                ks, errors = zip(*points, strict=True)
                curves.append(Curve(translate(NAMES[method]), ks, errors, colour, style))
        title = Phrase("Expected error of one- and two-way tables, n = {n:,}", n=self.n)
        return error_chart(curves, self.k, self.guess, title, translate, narrow=narrow)

    def __str__(self) -> str:
        return " ".join(self.sentences)


def advise(
    schema: Schema | None, *, k: float, n: int | None = None, data: Any = None, progress: Callable[[str], object] = str
) -> Advice:
    """Compare perturbation, microaggregation and factorisation by the error to expect, and say which to use.

    The yardstick is the share of people that the one- and two-way tables of a release count in the wrong cell, after
    reconstruction where there is one. Promises differ too: see `Advice.sentences`.

    Parameters
    ----------
    schema : Schema | None
        What the columns may hold; None for a wide table of zeros and ones, given as `data`.
    k : float
        The promise.
    n : int | None
        People in the table, where the data must not be looked at; with kept columns, in the smallest group.
    data : Any
        The table itself, as a frame, a path or a source; methods are then tried on it, and the advice depends on it.
    progress : Callable[[str], object]
        Told in a word what is being tried.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse", "smith"]), kk.Numeric("age", 0, 99, step=1)])
    >>> advice = kk.advise(schema, n=10_000, k=5)
    >>> advice.best.method
    'microaggregate'
    >>> [outlook.method for outlook in advice.outlooks if outlook.errors is None]
    ['perturb-data-dependent', 'factorise']
    """
    trial = trial_of(schema, n, data, k)
    k = float(k)
    ks = sorted({k, *(float(other) for other in OTHER_KS if other <= trial.n // 2)})
    curves: list[Outlook] = []
    for method in METHODS:
        progress(method.__name__.replace("_", " "))
        at_k = method(trial, k)
        curves += [at_k] if at_k.errors is None else [at_k if other == k else method(trial, other) for other in ks]
    outlooks = sorted((one for one in curves if one.k == k), key=_error)
    guess = FLAT_GUESS if trial.is_assumed else Yardstick.of(trial.schema, trial.codes).guess().both
    said = tuple(reasons(outlooks, guess, from_data=not trial.is_assumed))
    return Advice(trial.n, k, not trial.is_assumed, tuple(outlooks), tuple(curves), guess, said)


def trial_of(schema: Schema | None, n: int | None, data: Any, k: float) -> Trial:
    """The table to try methods on: the data, or records made up in their stead."""
    if (n is None) == (data is None):
        raise CalibrationError("give either n or the data, not both and not neither")
    if isinstance(data, str | Path | Source):
        source = open_source(data)
        data = read_all(source) if schema is None else read_table(source, schema)
    if schema is None:
        schema, codes = _matrix(data)
    elif data is not None:
        codes = schema.encode(data)
    else:
        people = calibrate(schema, k=k, n=n).n  # refuses what cannot be promised
        return Trial(schema, _made_up(schema, min(people, max(MADE_UP, math.ceil(20 * k)))), people, is_assumed=True)
    if not schema.perturbed:
        raise CalibrationError("the schema has no column to perturb")
    tally = Tally.of_columns(schema.kept)
    records = len(codes[schema.perturbed[0].name])
    tally.update(codes, records)
    return Trial(schema, codes, tally.fewest if records else 0, is_assumed=False)


def _matrix(data: Any) -> tuple[Schema, dict[str, Codes]]:
    """The schema and the codes of a wide table of zeros and ones."""
    if data is None:
        raise SchemaError("without a schema, give a wide table of zeros and ones as data")
    if hasattr(data, "shape") and not hasattr(data, "columns"):
        matrix = binary_matrix(data).toarray()
        names = [str(place) for place in range(matrix.shape[1])]
    else:
        columns = columns_of(data)
        try:
            numbers = [numbers_of(name, column) for name, column in columns.items()]
        except DataError as error:
            raise DataError(
                error.column,
                error.problem,
                "Give the schema (-s); without one the data are a wide table of zeros and ones.",
            ) from None
        matrix = binary_matrix(np.column_stack(numbers)).toarray()
        names = list(columns)
    schema = Schema([Categorical(name, [0, 1]) for name in names])
    return schema, {name: column.astype(np.int32) for name, column in zip(names, matrix.T, strict=True)}


def _made_up(schema: Schema, records: int) -> dict[str, Codes]:
    """Records of independent columns, every distribution of a column over its cells being equally likely."""
    dice = Randomness.seeded(0).generator()
    return {one.name: _made_up_column(cells_of(schema, one.name, None), records, dice) for one in schema.released}


def _made_up_column(cells: Cells, records: int, dice: np.random.Generator) -> Codes:
    chosen = dice.choice(cells.size, records, p=dice.dirichlet(np.ones(cells.size)))
    first, width = cells.edges[:-1][chosen], np.diff(cells.edges)[chosen]
    return (first + dice.random(records) * width).astype(np.int32)


def _error(outlook: Outlook) -> float:
    return math.inf if outlook.errors is None else outlook.errors.both


def _described(outlook: Outlook) -> dict[str, Any]:
    errors = outlook.errors
    return {
        "method": outlook.method,
        "k": outlook.k,
        "promise": outlook.promise,
        "error": None if errors is None else errors.both,
        "one_way": None if errors is None else errors.one_way,
        "two_way": None if errors is None else errors.two_way,
        "note": outlook.note,
    }
