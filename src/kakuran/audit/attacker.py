"""The strongest attacker we can compute: knows the whole true table and every parameter of the release.

For each released record the attacker forms the posterior over the people it may belong to and links it to the most
probable one; knowing that every person has exactly one record, the attacker can also choose the most probable way to
match them all. Given the whole release, the posterior of a link is a sum over all such matchings (`Matchings`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from kakuran.audit.likelihoods import IMPOSSIBLE, Likelihoods, cut_between
from kakuran.counts import DistinctRows, distinct_rows, rows_of_each
from kakuran.mechanism import Neighbourhood, Telling, Together, TwoLevel
from kakuran.perturbation import CodedColumns
from kakuran.typing import Array, Indices, Progress

ENUMERABLE = 14
"""Records up to which the sum over all matchings is written out, whatever the mechanism."""

ASSIGNABLE = 2000
"""Records up to which the most probable one-to-one matching is found exactly."""

_TIE = 1e-4
_SCALINGS = 5
_MOST_PAIRS = 1 << 23
"""Of a record and a person who differ, the record in the person's window: some 400 MB."""
_COMPLETE = 1 << 16
"""Pairs of a type and a class up to which all are looked at, also those outside windows."""
_LARGEST_EPSILON = 30.0
_MOST_STEPS = 1000
_CONVERGED = 1e-8
_LARGEST_OUTSIDE = 0.1
"""The largest product of factors outside a window for which four terms of the Catalan series do."""
_NODES = 128
_NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class LinkageAttack:
    """What linking released records to people achieved.

    Attributes
    ----------
    posteriors : Array
        For every attacked record, the probability that the most probable person is the right one.
    densities : Array
        Log of the mean likelihood of every attacked record, which is high where noise was weak.
    linked : float | None
        Share linked to the right person, one by one.
    linked_one_to_one : float | None
        Share linked to the right person when all are matched at once, where that was played.
    """

    posteriors: Array
    densities: Array
    linked: float | None
    linked_one_to_one: float | None


@dataclass(frozen=True, eq=False)
class _Part:
    """The distinct records that tell the same columns."""

    rows: Indices
    """Which of all distinct records they are."""
    likelihoods: Likelihoods
    person_of: Indices
    """Whom of the people that differ in what is told each of those that differ anywhere is."""

    def weighed(self, weights: Array) -> Array:
        """The weights of people who do not differ in what is told, added up."""
        return np.bincount(self.person_of, weights).astype(float)


class Attacker:
    """Likelihoods of released records given every person of the true table.

    People who are alike are one class, and records that are alike are attacked once: cost follows what differs. What a
    record tells was drawn without looking at it, so that it says nothing of whose it is; people who are alike in the
    columns that it tells are one class to it. Columns that no record tells are public: they must agree.

    Parameters
    ----------
    original : CodedColumns
        The true table.
    tellings : Sequence[Telling]
        How records tell their columns.
    told : str | None
        The column of a release that says which of these a record is; None where there is but one.
    """

    def __init__(self, original: CodedColumns, tellings: Sequence[Telling], told: str | None = None) -> None:
        self.original, self.tellings, self.told = original, tellings, told
        self.people = len(next(iter(original.values())))
        self._public = set(original).difference(*(telling.columns for telling in tellings))
        classes = distinct_rows(list(original.values()))
        self._classes = dict(zip(original, classes.columns, strict=True))
        self._class_of, self._sizes = classes.place, classes.counts.astype(float)

    def log_likelihoods(self, released: CodedColumns) -> Array:
        """log p(released record | person), given what it tells: records × people."""
        return self._log_likelihoods_of_classes(released)[:, self._class_of]

    def _log_likelihoods_of_classes(self, released: CodedColumns) -> Array:
        found = np.empty((len(next(iter(released.values()))), len(self._sizes)))
        for rows, telling in self._by_telling(released):
            some = {name: codes[rows, None] for name, codes in released.items()}
            found[rows] = self._logs(telling, some, self._classes)
        return found

    def log_likelihoods_of(self, released: CodedColumns, owners: Indices) -> Array:
        """The same of every record and one person."""
        found = np.empty(len(owners))
        for rows, telling in self._by_telling(released):
            some, own = (
                {name: codes[places] for name, codes in table.items()}
                for table, places in ((released, rows), (self.original, owners[rows]))
            )
            found[rows] = self._logs(telling, some, own)
        return found

    def _logs(self, telling: Telling, released: CodedColumns, original: CodedColumns) -> Array:
        logs = np.maximum(telling.log_likelihood(released, original), IMPOSSIBLE)
        for name in self._public:
            logs = np.where(released[name] == original[name], logs, IMPOSSIBLE)
        return logs

    def _by_telling(self, released: CodedColumns) -> Iterator[tuple[Indices, Telling]]:
        """The records that tell the same columns."""
        told = np.zeros(len(next(iter(released.values()))), np.int32) if self.told is None else released[self.told]
        for rows, telling in zip(rows_of_each(told, len(self.tellings)), self.tellings, strict=True):
            if len(rows):
                yield rows, telling

    def attack(
        self,
        released: CodedColumns,
        owners: Indices | None,
        dice: np.random.Generator,
        progress: Progress = int,
    ) -> LinkageAttack:
        """Link released records to people; count the right links where the true `owners` are known.

        All are matched at once only when every person's record is attacked and the owners are known.
        """
        found = distinct_rows(list(released.values()))
        parts = list(self._parts(dict(zip(released, found.columns, strict=True))))
        is_matched = owners is not None and len(found.place) == self.people
        if is_matched and self.people > ASSIGNABLE:
            progress = _spread(progress, 2 + _SCALINGS)
        best, total, ties = np.empty((3, len(found)))
        for part in parts:
            seen = part.likelihoods.suspicion(part.weighed(self._sizes))
            best[part.rows], total[part.rows], ties[part.rows] = seen.best, seen.total, seen.ties
            progress(int(found.counts[part.rows].sum()))
        is_possible = total > IMPOSSIBLE
        total[~is_possible] = IMPOSSIBLE
        posteriors, densities = np.exp(best - total)[found.place], total[found.place] - np.log(self.people)
        if owners is None:
            return LinkageAttack(posteriors, densities, None, None)
        is_right = self.log_likelihoods_of(released, owners) >= np.where(is_possible, best - _TIE, 0)[found.place]
        linked = float((is_right / np.maximum(ties, 1)[found.place]).mean())
        if not is_matched:
            return LinkageAttack(posteriors, densities, linked, None)
        if self.people <= ASSIGNABLE:
            matched = self._assigned(released, dice)
        else:
            matched = self._scaled(parts, found.counts.astype(float), dice, progress)[found.place]
        return LinkageAttack(posteriors, densities, linked, float((matched == owners).mean()))

    def steps(self, released: CodedColumns) -> int:
        """How many steps it takes to go through all records once: at most one a pair of a record and a person."""
        found = distinct_rows(list(released.values()))
        records = dict(zip(released, found.columns, strict=True))
        return sum(
            cut_between(some, dict(zip(some, people.columns, strict=True))).steps
            for _, _, some, people in self._told_apart(records)
        )

    def _parts(self, records: CodedColumns) -> Iterator[_Part]:
        for rows, telling, some, people in self._told_apart(records):
            original = dict(zip(some, people.columns, strict=True))
            yield _Part(rows, Likelihoods(telling, some, original), people.place)

    def _told_apart(self, records: CodedColumns) -> Iterator[tuple[Indices, Telling, CodedColumns, DistinctRows]]:
        """Records that tell the same columns, what they tell or is public of them, and people who differ in that."""
        for rows, telling in self._by_telling(records):
            names = [name for name in self.original if name in self._public or name in telling.columns]
            people = distinct_rows([self._classes[name] for name in names])
            yield rows, telling, {name: records[name][rows] for name in names}, people

    def links(self, released: CodedColumns, most_pairs: float = math.inf) -> Links | None:
        """How probable each person's best link is, given all released records; None where that is not cheap to find.

        Messages between people and records go back and forth along at most so many pairs of them, all steps together.
        """
        if len(next(iter(released.values()))) != self.people:
            return None
        if self.people <= ENUMERABLE:
            return Links(exact_posteriors(self.log_likelihoods(released)).max(axis=0), True)
        groups = self.matchings(released)
        if groups is None:
            return None
        best, is_exact = np.empty(len(self._sizes)), True
        for types, matchings in groups:
            found = matchings.links(most_pairs)
            if found is None:
                return None
            best[types], is_exact = found[0], is_exact and found[1]
        return Links(best[self._class_of], is_exact)

    def matchings(self, released: CodedColumns) -> list[tuple[Indices, Matchings]] | None:
        """The types of each public group and the ways to match them with its records.

        None unless likelihoods have two levels, windows are small, and as many are released of a group as are in it.
        """
        classes = distinct_rows(list(released.values()))
        pairs = self._pairs_in_windows(dict(zip(released, classes.columns, strict=True)))
        if pairs is None:
            return None
        person, record, log_level = pairs
        public = [np.append(classes.columns[list(released).index(name)], self._classes[name]) for name in self._public]
        groups = distinct_rows(public or [np.zeros(len(classes) + len(self._sizes), np.int32)])
        of_records, of_people = np.split(groups.place, [len(classes)])
        by_group = (rows_of_each(group, len(groups)) for group in (of_people, of_records, of_people[person]))
        place_of_type, place_of_class = np.empty(len(of_people), np.intp), np.empty(len(of_records), np.intp)
        found = []
        for types, alike, some in zip(*by_group, strict=True):
            place_of_type[types], place_of_class[alike] = np.arange(len(types)), np.arange(len(alike))
            places = place_of_type[person[some]], place_of_class[record[some]]
            one = Matchings(self._sizes[types], classes.counts[alike].astype(float), *places, log_level[some])
            if one.people.sum() != one.records.sum():
                return None
            found.append((types, one))
        return found

    def _pairs_in_windows(self, records: CodedColumns) -> tuple[Indices, Indices, Array] | None:
        """Who and which record lies in their window, and ε; None where there are too many or no windows."""
        person, record, log_level, pairs = [], [], [], 0
        for rows, telling, some, people in self._told_apart(records):
            windows = _windows_of(telling)
            if windows is None or telling.epsilon > _LARGEST_EPSILON:
                return None
            if len(people) * math.prod(window.near for window in windows.values()) > _MOST_PAIRS:
                return None
            cell, place = _in_windows(windows, some, people)
            pairs += int(np.bincount(cell, minlength=len(people))[people.place].sum())
            if pairs > _MOST_PAIRS:
                return None
            who, which = _listed(people.place, rows_of_each(cell, len(people)))
            person.append(who)
            record.append(rows[place[which]])
            log_level.append(np.full(len(who), telling.epsilon))
        return np.concatenate(person), np.concatenate(record), np.concatenate(log_level)

    def _assigned(self, released: CodedColumns, dice: np.random.Generator) -> Indices:
        """The person of every record in the most probable matching, where each has exactly one."""
        from scipy.optimize import linear_sum_assignment

        logs = self.log_likelihoods(released)
        return linear_sum_assignment(logs + 1e-9 * dice.random(logs.shape), maximize=True)[1]

    def _scaled(self, parts: Sequence[_Part], alike: Array, dice: np.random.Generator, progress: Progress) -> Indices:
        """The most probable person of every distinct record once every person has one record as well.

        Sinkhorn scaling: people whom many records claim are weighed down until posteriors add up to one a person.
        """
        weights = np.ones(len(self._sizes))
        for _ in range(_SCALINGS):
            claims = np.zeros(len(self._sizes))
            for part in parts:
                claimed = part.likelihoods.claims(part.weighed(weights * self._sizes), alike[part.rows])
                claims += claimed[part.person_of]
                progress(int(alike[part.rows].sum()))
            weights = np.divide(1, claims, where=claims > 0, out=np.zeros(len(claims)))
            weights /= weights.max()
        luck = dice.random(self.people, np.float32)
        luckiest = np.lexsort((luck, self._class_of))[np.cumsum(self._sizes.astype(np.intp)) - 1]
        weights *= np.exp(_TIE * luck[luckiest])
        matched = np.empty(len(alike), np.intp)
        for part in parts:
            first = np.lexsort((weights, part.person_of))[np.cumsum(np.bincount(part.person_of)) - 1]
            matched[part.rows] = first[part.likelihoods.likeliest(weights[first])]
            progress(int(alike[part.rows].sum()))
        return luckiest[matched]


def _windows_of(telling: Telling) -> Mapping[str, Neighbourhood] | None:
    """What is in the window of a value, column by column, where likelihoods have two levels."""
    if isinstance(telling, Together):
        return telling.neighbourhoods
    mechanisms = {} if telling.by_column is None else telling.by_column
    windows = {name: one.neighbourhood for name, one in mechanisms.items() if isinstance(one, TwoLevel)}
    return windows if len(windows) == len(mechanisms) == 1 else None


def _in_windows(
    windows: Mapping[str, Neighbourhood], records: CodedColumns, people: DistinctRows
) -> tuple[Indices, Indices]:
    """The pairs of a person and a record in the person's window: every code of each window is looked up."""
    shape = [windows[name].near if name in windows else 1 for name in records]
    places = np.indices(shape).reshape(len(shape), -1)
    joined = []
    for (name, released), original, place in zip(records.items(), people.columns, places, strict=True):
        codes = original[:, None].astype(np.int64)
        around = windows[name].around(codes, place[None, :]) if name in windows else codes
        joined.append(np.concatenate([released, np.broadcast_to(around, (len(codes), len(place))).ravel()]))
    values = distinct_rows(joined)
    count = len(next(iter(records.values())))
    record_with = np.full(len(values), -1)
    record_with[values.place[:count]] = np.arange(count)
    found = record_with[values.place[count:]]
    is_there = found >= 0
    person = np.repeat(np.arange(len(people)), places.shape[1])[is_there]
    # `missing` has several outputs of one code
    pairs = distinct_rows([person, found[is_there]])
    return pairs.columns[0], pairs.columns[1]


def _spread(progress: Progress, passes: int) -> Progress:
    """Progress over several passes, told as that of one."""
    done = 0

    def advance(records: int) -> None:
        nonlocal done
        before, done = done, done + records
        progress(done // passes - before // passes)

    return advance


def exact_posteriors(log_likelihoods: Array) -> Array:
    """Pr[released record s belongs to person i] over all assignments, s × i (maths §2).

    The first records take a set of as many people, the others take the rest: sums over sets, and not over orders.
    """
    size = len(log_likelihoods)
    people = np.arange(1 << size)
    layers = rows_of_each(((people[:, None] >> np.arange(size)) & 1).sum(axis=1), size + 1)
    first, rest = np.full((2, 1 << size), -np.inf)
    first[0] = rest[-1] = 0.0
    for record, person, taken in _additions(layers):
        more = taken | (1 << person)
        first[more] = np.logaddexp(first[more], first[taken] + log_likelihoods[record, person])
    posterior = np.empty((size, size))
    for record, person, taken in reversed(_additions(layers)):
        added = rest[taken | (1 << person)] + log_likelihoods[record, person]
        posterior[record, person] = np.logaddexp.reduce(first[taken] + added)
        rest[taken] = np.logaddexp(rest[taken], added)
    return np.exp(posterior - first[-1])


def _additions(layers: Sequence[Indices]) -> list[tuple[int, int, Indices]]:
    """Every record, every person, and the sets of people that the records before may have without that person."""
    size = len(layers) - 1
    return [(record, who, one[(one >> who) & 1 == 0]) for record, one in enumerate(layers[:-1]) for who in range(size)]


@dataclass(frozen=True, eq=False)
class Links:
    """How probable the best link of every person is, given the whole release and the whole true table.

    Attributes
    ----------
    best : Array
        Of each person, the largest Pr[a record is the person's].
    is_exact : bool
        Whether these are exact; else they are Bethe's approximation (`Matchings`).
    """

    best: Array
    is_exact: bool


@dataclass(frozen=True, eq=False)
class Matchings:
    """All ways to give every person one record, each as probable as its product of likelihoods: e^ε or 1 (maths §15).

    People who are alike are one type, records that are alike one class.

    Attributes
    ----------
    people, records : Array
        How many there are of each type and of each class: as many in all.
    person, record : Indices
        The pairs of a type and a class that lies in its window.
    log_level : Array
        ε of each pair.
    """

    people: Array
    records: Array
    person: Indices
    record: Indices
    log_level: Array

    def links(self, most_pairs: float = math.inf) -> tuple[Array, bool] | None:
        """The best link of each type and whether it is exact; None where messages do not settle along so many pairs."""
        if self.people.sum() <= ENUMERABLE:
            return self._links_of_sums(), True
        if self._are_blocks:
            return self._links_of_blocks(), True
        links = self._links_by_messages(most_pairs)
        return None if links is None else (links, False)

    @property
    def _are_blocks(self) -> bool:
        """Whether windows are disjoint, and records of one class in that of one type alone."""
        places = self.person, self.record
        return all(len(np.unique(place)) == len(place) for place in places) and len(np.unique(self.log_level)) <= 1

    def _links_of_sums(self) -> Array:
        logs = np.zeros((len(self.records), len(self.people)))
        logs[self.record, self.person] = self.log_level
        everybody, first = np.repeat(np.arange(len(self.people)), self.people.astype(int)), np.cumsum(self.people) - 1
        every = np.repeat(np.arange(len(self.records)), self.records.astype(int))
        return np.asarray(exact_posteriors(logs[every][:, everybody]).max(axis=0)[first.astype(int)])

    def _links_of_blocks(self) -> Array:
        alike, is_left = np.zeros(len(self.people)), np.ones(len(self.records), bool)
        alike[self.person] = self.records[self.record]
        is_left[self.record] = False
        left = self.records[is_left]
        people, records = np.append(self.people, np.zeros(len(left))), np.append(alike, left)
        epsilon = float(self.log_level[0]) if len(self.log_level) else 0.0
        return links_of_blocks(people, records, epsilon)[: len(self.people)]

    def _links_by_messages(self, most_pairs: float = math.inf) -> Array | None:
        """Bethe's approximation of the permanent, by belief propagation (Huang and Jebara 2009, Vontobel 2013).

        A pair that is linked with probability b has b(1 − b) = e^ε·u·v, u a factor of the person and v of the record,
        such that the b of each person and of each record add up to 1. Where pairs outside windows are too many to be
        looked at, each has a small b, and they enter by sums of powers of u and v: b = uv·C(uv), C the generating
        function of Catalan's numbers.
        """
        person, record, level, others = self._explicit
        people, records = self.people, self.records
        v = np.full(len(records), 1 / people.sum())
        u, to_person, change = np.ones(len(people)), v[record], math.inf
        for _ in range(int(min(_MOST_STEPS, most_pairs / max(len(person), 1)))):
            outside = others * v[record] * _catalan(u[person] * v[record])
            total = others * _messages(records, v, u)
            total = total + np.bincount(person, records[record] * (level * to_person - outside), len(people))
            # Where one pair is nearly all of the total, rounding must not leave a cavity of 0.
            to_record = 1 / np.maximum(total[person] - level * to_person, _CONVERGED * total[person])
            u = 1 / total
            outside = others * u[person] * _catalan(u[person] * v[record])
            total = others * _messages(people, u, v)
            total = total + np.bincount(record, people[person] * (level * to_record - outside), len(records))
            to_person = 1 / np.maximum(total[record] - level * to_record, _CONVERGED * total[record])
            change, v = float(np.abs(v * total - 1).max()), 1 / total
            if change < _CONVERGED:
                break
        far = others * u * v.max()
        if not (change < math.sqrt(_CONVERGED) and far.max() < _LARGEST_OUTSIDE):
            return None
        links = far * _catalan(far)
        np.maximum.at(links, person, level * to_person * u[person])
        return np.minimum(links, 1.0)

    @property
    def _explicit(self) -> tuple[Indices, Indices, Array, float]:
        """Pairs that are looked at one by one, how probable they are, and 1 where there are others besides."""
        level, shape = np.exp(self.log_level), (len(self.people), len(self.records))
        if math.prod(shape) > _COMPLETE:
            return self.person, self.record, level, 1.0
        levels = np.ones(shape)
        levels[self.person, self.record] = level
        person, record = (place.ravel() for place in np.indices(shape))
        return person, record, levels.ravel(), 0.0


def _messages(counts: Array, factors: Array, own: Array) -> Array:
    """What all of the other side send to each, as if all were outside windows."""
    first, second, third, fourth = (float(counts @ factors**power) for power in range(1, 5))
    return first + own * (second + own * (2 * third + own * 5 * fourth))


def _catalan(x: Array) -> Array:
    """The first terms of C(x), the root of C = 1 + xC²."""
    return 1 + x * (1 + x * (2 + x * 5))


def _listed(keys: Indices, lists: Sequence[Indices]) -> tuple[Indices, Indices]:
    """Every element with all of the list that its key names, in order: places in keys, members of lists."""
    lengths = np.array([len(one) for one in lists])
    first = np.append(0, np.cumsum(lengths))[:-1]
    counts = lengths[keys]
    element = np.repeat(np.arange(len(keys)), counts)
    within = np.arange(len(element)) - np.repeat(np.cumsum(counts) - counts, counts)
    return element, np.concatenate(lists)[first[keys][element] + within]


def links_of_blocks(people: Array, records: Array, epsilon: float) -> Array:
    """The best link of the people of each block, exactly, where only records of the same block are in their window.

    The permanent is Σ_h r_h (N−h)! (e^ε−1)^h, r_h the ways to place h rooks on the blocks. (N−h)! = ∫ x^(N−h) e^(−x) dx
    makes it an integral of a product over blocks, smooth in log x: there the trapezoidal rule has all digits.

    Parameters
    ----------
    people, records : Array
        How many each block has; as many in all.
    epsilon : float
        ε.
    """
    n = people.sum()
    blocks = distinct_rows([people.astype(np.int64), records.astype(np.int64)])
    gain = math.log(max(math.expm1(epsilon), 1e-300))
    low, high = -100.0, math.log(n + 10 * math.sqrt(n) + 100)
    while True:
        log_x = np.linspace(low, high, _NODES)
        logs, rooks = (n + 1) * log_x - np.exp(log_x), np.zeros((len(blocks), _NODES))
        for place, (count, alike) in enumerate(zip(*blocks.columns, strict=True)):
            if count and alike:
                log_sum, rooks[place] = _rooks(int(count), int(alike), gain - log_x)
                logs += blocks.counts[place] * log_sum
        weights = np.exp(logs - logs.max())
        kept = np.flatnonzero(weights > _NEGLIGIBLE)
        if len(kept) > _NODES - 8:
            break
        low, high = log_x[max(kept[0] - 1, 0)], log_x[min(kept[-1] + 1, _NODES - 1)]
    weights /= weights.sum()
    count, alike = (np.maximum(column, 1) for column in blocks.columns)
    is_in_window = np.minimum(*blocks.columns) > 0
    inside = math.exp(epsilon - gain) * (rooks @ weights) / (count * alike)
    outside = (1 - rooks / alike[:, None]) @ (weights * np.exp(-log_x))
    return np.where(is_in_window, inside, outside[blocks.columns[1] > 0].max())[blocks.place]


def _rooks(people: int, records: int, log_weight: Array) -> tuple[Array, Array]:
    """log Σ_h r_h w^h of one block at several w, and the mean of h: over the h that are not negligible."""
    fewer, more = min(people, records), max(people, records)
    both = people + records + np.exp(np.minimum(-log_weight, 200.0))
    mode = 2.0 * people * records / (both + np.sqrt(both**2 - 4.0 * people * records))
    width = 12 * math.isqrt(fewer) + 60
    start = np.clip(mode - width // 2, 0, max(fewer - width, 0)).astype(np.int64)
    h = start[:, None] + np.arange(min(width, fewer) + 1)
    ways = gammaln(fewer + 1) + gammaln(more + 1) - gammaln(fewer - h + 1) - gammaln(more - h + 1) - gammaln(h + 1)
    logs = ways + h * log_weight[:, None]
    highest = logs.max(axis=1)
    weights = np.exp(logs - highest[:, None])
    total = weights.sum(axis=1)
    return highest + np.log(total), (weights * h).sum(axis=1) / total
