"""A steward is trusted, so why not noise on tables? Ours beside that and beside a synthesiser, at the same (ε, δ).

The (ε, δ) is what a shuffled release at k promises as a whole, of tables in which one person is replaced. Peers spend
it on tables that are chosen beforehand: Gaussian noise of OpenDP (or Laplace, at δ = 0) on all two-way tables, or on
all columns and a few pairs; or on those that a synthesiser chooses, MST (McKenna, Miklau and Sheldon 2021) on
Private-PGM. Errors are people in the wrong cell (half the L1 distance of the shares).

Linking: of ours, how many records an attacker who knows everybody links rightly. There are no records in tables. Of
all, how often somebody who knows all columns of a person but one reads that one off the made-up records that are
nearest, for people who are in the table and for people who are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

import kakuran as kk
from benchmarks.claims import Claim, no_peer
from benchmarks.measures import ADULT, NAMES
from kakuran.answers import ask
from kakuran.design import expected_error, expected_error_of_noise, gaussian_spread
from kakuran.samples import census

NOTE = "Errors are means over tables and draws, in percent of all people. Peers' negative counts are projected away."
PACKAGES = ("opendp", "mbi")

DELTA = 1e-6
CATEGORIES = ["workclass", "education", "marital", "occupation", "relationship", "race", "sex", "income"]
STEPS, COMPONENTS = 500, 50
"""Of mbi's mixture of products: of 50 and 200 components after 500 and 2,000 steps these come nearest to Adult."""
TRIED = 3_000
"""People whose records are looked for."""

Array: TypeAlias = NDArray[np.float64]
Columns: TypeAlias = tuple[str, ...]
Tables: TypeAlias = Callable[[Columns], Array]
"""How many people are in each cell of a table of some columns, as somebody says."""


def measure(*, quick: bool) -> Iterator[Claim]:
    """Errors at several k, then linking; quick runs are to see that all works, their numbers mean little."""
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        yield no_peer("records beside noise on tables", "—", f"not installed: {', '.join(missing)}", "—")
        return
    draws = 1 if quick else 3
    made_up = People.of(_census(2_000 if quick else 50_000), "job", 2)
    yield from _errors("the made-up census", made_up, 10, draws)
    if not ADULT.exists():
        yield no_peer("noise on tables of Adult", "—", "the Adult data set is not beside the checkout", "—")
        return
    adult = People.of(_adult(3_000 if quick else None), "income", 5)
    for k in (10,) if quick else (2, 10, 100):
        yield from _errors("Adult", adult, k, draws)
    yield from _linking(adult, 10)


def _census(n: int) -> pa.Table:
    people = census(n)
    bands = (people["age"].to_numpy() - 15) // 10
    return people.drop(["age"]).append_column("band", pa.array(bands.astype(str)))


def _adult(rows: int | None) -> pa.Table:
    adult = pd.read_csv(ADULT, header=None, names=NAMES.split(), skipinitialspace=True, nrows=rows)
    band = ((adult["age"] - 17) // 8).clip(0, 8).astype(str)
    return pa.table({name: adult[name].astype(str) for name in CATEGORIES} | {"band": band})


@dataclass(frozen=True, eq=False)
class People:
    """True records, and which pairs of their columns a steward chose beforehand."""

    table: pa.Table
    schema: kk.Schema
    chosen: Sequence[Columns]

    @classmethod
    def of(cls, table: pa.Table, about: str, chosen: int) -> People:
        """Pairs of one column with those that come first among the others."""
        schema = kk.Schema([kk.Categorical(name, sorted(set(table[name].to_pylist()))) for name in table.column_names])
        pairs = [pair for pair in combinations(table.column_names, 2) if about in pair]
        return cls(table, schema, pairs[:chosen])

    @cached_property
    def codes(self) -> Mapping[str, NDArray[np.int32]]:
        """The records as places of their values."""
        return self.schema.encode(self.table)

    @property
    def n(self) -> int:
        """How many."""
        return self.table.num_rows

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many values each column has."""
        return {attribute.name: attribute.size for attribute in self.schema.released}

    def tables(self, ways: int) -> list[Columns]:
        """All of so many columns."""
        return list(combinations(self.sizes, ways))

    def count(self, columns: Columns, codes: Mapping[str, Any] | None = None) -> Array:
        """How many are in each cell, of these or of other records."""
        sizes = [self.sizes[name] for name in columns]
        cells = np.ravel_multi_index([(codes or self.codes)[name] for name in columns], sizes)
        return np.bincount(cells, minlength=math.prod(sizes)).reshape(sizes).astype(float)

    def wrong(self, told: Tables, tables: Sequence[Columns]) -> float:
        """The share in the wrong cell, in percent, on average."""
        return 100 * float(np.mean([np.abs(told(one) - self.count(one)).sum() / 2 / self.n for one in tables]))


def _errors(name: str, people: People, k: float, draws: int) -> Iterator[Claim]:
    """A row for each kind of tables, with all that answer it; the ratio is the best of ours over the best peer."""
    plans = {"all pairs told": _plan(people, k, 2), "chosen pairs told": _plan(people, k, _sets(people))}
    epsilon = plans["all pairs told"].central(DELTA)
    found: dict[str, list[list[float]]] = {}
    asked = {
        "columns one by one": people.tables(1),
        f"{len(people.chosen)} two-way tables chosen beforehand": people.chosen,
        "all other two-way tables": [pair for pair in people.tables(2) if pair not in people.chosen],
        "three-way tables": people.tables(3),
    }
    for draw in range(draws):
        ours = {way: _told(kk.perturb(people.table, plan)) for way, plan in plans.items()}
        for way, told in (ours | _peers(people, epsilon, np.random.default_rng(draw))).items():
            found.setdefault(way, []).append([people.wrong(told, tables) for tables in asked.values()])
    means = {way: np.mean(errors, axis=0) for way, errors in found.items()}
    for place, what in enumerate(asked):
        own = {way: means[way][place] for way in plans}
        others = {
            way: errors[place] for way, errors in means.items() if way not in plans and not np.isnan(errors[place])
        }
        ratio = f"{min(own.values()) / min(others.values()):.2f}×"
        yield Claim(f"{what} of {name}, k = {k:g}, ε = {epsilon:.3f}", _listed(own), _listed(others), ratio)
    tells = plans["all pairs told"].tells
    expected = expected_error(tells, people.n).two_way
    noise = expected_error_of_noise(tells, people.n, epsilon, DELTA)
    text = f"all two-way tables of {name}, k = {k:g}, as `kakuran advise` expects them"
    yield Claim(
        text, f"{100 * expected:.1f} %", f"Gaussian on all pairs: {100 * noise:.1f} %", f"{expected / noise:.2f}×"
    )


def _listed(errors: Mapping[str, float]) -> str:
    return "; ".join(f"{way}: {error:.1f} %" for way, error in errors.items())


def _plan(people: People, k: float, tell: Any) -> kk.Plan:
    return kk.calibrate(people.schema, n=people.n, k=k, tell=tell)


def _sets(people: People) -> list[list[str]]:
    """The chosen pairs, and the columns that are in none of them."""
    paired = {name for pair in people.chosen for name in pair}
    return [list(pair) for pair in people.chosen] + [[name] for name in people.sizes if name not in paired]


def _told(release: kk.Release) -> Tables:
    def told(columns: Columns) -> Array:
        question = ask(release.plan, columns, {}, None)
        return release.reader.estimate(question, release.reader.count([question])[0]).counts

    return told


def _peers(people: People, epsilon: float, dice: np.random.Generator) -> dict[str, Tables]:
    """What they make of the same (ε, δ), each by itself."""
    pairs, columns = people.tables(2), people.tables(1)
    gaussian = _gaussian(people, pairs, epsilon)
    return {
        "Gaussian on columns and chosen pairs (mbi's tree)": _graphical(
            people, _gaussian(people, [*columns, *people.chosen], epsilon)
        ),
        "Gaussian on all pairs": _projected(people, gaussian.counts),
        "Gaussian on all pairs (mbi's mixture)": _mixed(people, gaussian),
        "Laplace on all pairs": _projected(people, _laplace(people, pairs, epsilon)),
        "MST": _graphical(people, _mst(people, epsilon, dice)),
    }


@dataclass(frozen=True, eq=False)
class Noisy:
    """Tables with noise, each of its standard deviation."""

    counts: Mapping[Columns, Array]
    spread: Mapping[Columns, float]


def _gaussian(people: People, tables: Sequence[Columns], epsilon: float) -> Noisy:
    """By OpenDP, as little as is enough, less than its own map says: replacing somebody changes each table by √2."""
    return _with_noise(people, tables, gaussian_spread(epsilon, DELTA) * math.sqrt(2 * len(tables)))


def _with_noise(people: People, tables: Sequence[Columns], spread: float) -> Noisy:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    noise = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float), spread)
    return Noisy({one: _through(noise, people.count(one)) for one in tables}, dict.fromkeys(tables, spread))


def _laplace(people: People, tables: Sequence[Columns], epsilon: float) -> Mapping[Columns, Array]:
    """By OpenDP: replacing somebody changes two cells of every table by one."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    noise = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), 2 * len(tables) / epsilon)
    return {one: _through(noise, people.count(one)) for one in tables}


def _through(noise: Any, counts: Array) -> Array:
    return np.array(noise(counts.astype(int).ravel().tolist()), float).reshape(counts.shape)


def _zero_concentrated(epsilon: float) -> float:
    """ρ of what is (ε, δ)-private, by OpenDP's own map: what composes when tables are chosen one after another."""
    import opendp.prelude as dp

    dp.enable_features("contrib")

    def made(spread: float) -> Any:
        noise = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float), spread)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), DELTA)

    spread = dp.binary_search_param(made, d_in=1.0, d_out=(epsilon, DELTA), bounds=(0.01, 1e5))
    return 1 / (2 * float(spread) ** 2)


def _projected(people: People, noisy: Mapping[Columns, Array]) -> Tables:
    """The nearest tables that could be: no negative counts, and everybody in them. Others are not told."""
    margins = {(name,): _margin(people, noisy, name) for name in people.sizes}
    known = {columns: _possible(counts, people.n) for columns, counts in (margins | dict(noisy)).items()}
    return lambda columns: known.get(columns, np.full(1, np.nan))


def _margin(people: People, noisy: Mapping[Columns, Array], name: str) -> Array:
    """The mean of what tables with a column say of it, those of few other cells the more."""
    found = [(counts, columns.index(name)) for columns, counts in noisy.items() if name in columns]
    weights = [people.sizes[name] / counts.size for counts, _ in found]
    sums = [np.moveaxis(counts, place, 0).reshape(people.sizes[name], -1).sum(axis=1) for counts, place in found]
    return np.average(sums, axis=0, weights=weights)


def _possible(counts: Array, total: float) -> Array:
    """The nearest counts that are not negative and add up."""
    falling = np.sort(counts, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    return np.maximum(counts - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def _measurements(noisy: Noisy) -> list[Any]:
    from mbi import LinearMeasurement

    return [LinearMeasurement(counts.ravel(), one, noisy.spread[one]) for one, counts in noisy.counts.items()]


def _domain(people: People) -> Any:
    from mbi import Domain

    return Domain(list(people.sizes), list(people.sizes.values()))


def _tree(people: People, noisy: Noisy) -> Any:
    """Private-PGM of tables that hang together as a tree."""
    from mbi.estimation import MirrorDescent

    return MirrorDescent().estimate(_domain(people), _measurements(noisy), known_total=float(people.n))


def _graphical(people: People, noisy: Noisy) -> Tables:
    """Tables that were measured from the model itself, all others from ten times as many records made up from it."""
    model = _tree(people, noisy)
    records = model.synthetic_data(10 * people.n).to_dict()

    def told(columns: Columns) -> Array:
        if columns in noisy.counts:
            return np.asarray(model.project(columns).values, float)
        return people.count(columns, records) / 10

    return told


def _mixture(people: People, noisy: Noisy) -> Any:
    import optax
    from mbi.extensions.mixture_of_products import MixtureOfProductsEstimator

    estimator = MixtureOfProductsEstimator(optimizer=optax.adam(0.1), num_components=COMPONENTS)
    return estimator.estimate(_domain(people), _measurements(noisy), known_total=float(people.n), iters=STEPS)


def _mixed(people: People, noisy: Noisy) -> Tables:
    products = {name: np.asarray(shares, float) for name, shares in _mixture(people, noisy).products.items()}

    def told(columns: Columns) -> Array:
        letters = "bcd"[: len(columns)]
        formula = ",".join(f"a{letter}" for letter in letters) + "->" + letters
        return people.n * np.asarray(np.einsum(formula, *(products[name] for name in columns))) / COMPONENTS

    return told


def _mst(people: People, epsilon: float, dice: np.random.Generator) -> Noisy:
    """What MST measures: columns, then the pairs of a tree that it chooses by how far they are from independent."""
    third = _zero_concentrated(epsilon) / 3
    columns = people.tables(1)
    margins = _with_noise(people, columns, math.sqrt(len(columns) / third))
    shares = {name: _possible(counts, people.n) / people.n for (name,), counts in margins.counts.items()}
    scores = {
        pair: np.abs(people.count(pair) - people.n * np.outer(*(shares[name] for name in pair))).sum()
        for pair in people.tables(2)
    }
    each = math.sqrt(8 * third / (len(columns) - 1))
    tree, parts = [], {name: name for name in people.sizes}
    while len(set(parts.values())) > 1:
        apart = [pair for pair in scores if parts[pair[0]] != parts[pair[1]]]
        # The exponential mechanism; replacing somebody changes a score by 2.
        tree.append(apart[int(np.argmax([each / 4 * scores[pair] + dice.gumbel() for pair in apart]))])
        one, other = (parts[name] for name in tree[-1])
        parts = {name: one if part == other else part for name, part in parts.items()}
    pairs = _with_noise(people, tree, math.sqrt(len(tree) / third))
    return Noisy({**margins.counts, **pairs.counts}, {**margins.spread, **pairs.spread})


def _linking(everybody: People, k: float, target: str = "occupation") -> Iterator[Claim]:
    """Nine in ten are in the table, the others are not."""
    order = np.random.default_rng(0).permutation(everybody.n)
    cut = everybody.n // 10
    people = People(everybody.table.take(order[cut:]), everybody.schema, everybody.chosen)
    plan = _plan(people, k, 2)
    epsilon, release = plan.central(DELTA), kk.perturb(people.table, plan)
    linked = kk.audit(people.table, release).linked
    text = f"records that somebody who knows everybody links rightly, Adult, k = {k:g}"
    yield Claim(
        text, f"{linked:.4f}", "tables and made-up records: none to link", bar=f"≤ {1 / k:g}", is_met=linked <= 1 / k
    )
    looked_for = [
        {name: codes[some] for name, codes in everybody.codes.items()}
        for some in (order[cut:][:TRIED], order[:cut][:TRIED])
    ]

    def read(records: Mapping[str, Any]) -> str:
        return " / ".join(f"{_read_off(records, one, target):.3f}" for one in looked_for)

    others = {
        "Gaussian on all pairs (mbi's mixture)": _mixture(people, _gaussian(people, people.tables(2), epsilon)),
        "MST": _tree(people, _mst(people, epsilon, np.random.default_rng(0))),
    }
    records = {way: model.synthetic_data(people.n).to_dict() for way, model in others.items()}
    told = [f"{way}: {read(some)}" for way, some in (records | {"the true table": people.codes}).items()]
    text = f"{target} read off the nearest records by all other columns, of people in the table / not in it"
    ours = read(people.schema.encode(pa.Table.from_batches(release.synthesise().batches())))
    yield Claim(f"{text}, k = {k:g}", f"made-up records: {ours}", "; ".join(told))


def _read_off(records: Mapping[str, Any], people: Mapping[str, Any], target: str) -> float:
    """How often the commonest value of the nearest records is right."""
    known = [name for name in people if name != target]
    values, right = int(max(records[target].max(), people[target].max())) + 1, 0
    for place, truth in enumerate(people[target]):
        apart = sum((np.asarray(records[name]) != people[name][place]).astype(np.int8) for name in known)
        right += np.bincount(records[target][apart == np.min(apart)], minlength=values).argmax() == truth
    return float(right / len(people[target]))
