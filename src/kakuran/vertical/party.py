"""One party's side: the plan it agrees to, a run from the first word to its fit; and several in one process, to try."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kakuran.defaults import DEFAULT_LEVEL, check_level
from kakuran.errors import LeakageWarning, ProtocolError, counted, wrong_type
from kakuran.schema import check_there, open_source, to_arrow
from kakuran.vertical.alignment import align, read_ids
from kakuran.vertical.checkpoints import Checkpoints
from kakuran.vertical.disclosure import check_columns, check_count, check_moments, fewest_people
from kakuran.vertical.earlier import EarlierRuns, Told
from kakuran.vertical.fit import OwnCoefficient, OwnPart, VerticalFit
from kakuran.vertical.gram import DECOY_SUMS, pair_stage, pool_moments
from kakuran.vertical.leakage import exposure_of_moments, most_read_off
from kakuran.vertical.meeting import Greeting, greet
from kakuran.vertical.messages import InterceptPart, Target, numbers
from kakuran.vertical.own import OwnColumns, Standardised, read_own
from kakuran.vertical.plan import Terms, VerticalPlan
from kakuran.vertical.regression import infer, select
from kakuran.vertical.residual import WARNING, Outcome, Residual
from kakuran.vertical.transport import Link, certificate_in, give_up, linked_pair, make_key, own_key, with_each
from kakuran.words import Phrase

_FEW_IDS = 1_000


class Party:
    """One company with its table, ready to fit a plan together with others.

    Parameters
    ----------
    name : str
        Which party of the plan this is.
    frame : Any
        Its table (pandas, polars, arrow): ids, its columns of the plan, and the target if it holds it.
    state : Path | None
        Folder to keep completed stages in, so that a run that was cut off can be resumed.
    memory : Path | None
        File that remembers the records of every ``"gram"`` run, so that one that differs from earlier ones in a few
        people is noticed, and how many ids were tried on ours. The command gives `user_memory`, one for all runs of a
        user; ``NAME.runs`` beside `state` by default. Without either nothing is remembered, and whoever runs twice
        without one customer can tell the others that customer's values.
    despite_earlier_runs : bool
        Run even if few people differ from earlier runs, or if those have told much already.
    level : float
        How often the intervals of our fit should hold the truth; the others may choose another.
    notify : Callable[[str], object]
        Called with one sentence for every stage completed.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import companies
    >>> from kakuran.vertical import Party
    >>> bank, _ = companies(400)
    >>> columns = {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]}
    >>> plan = kk.VerticalPlan.of(columns, target="spending", holder="shop", ids="customer")
    >>> Party("bank", plan, bank).name
    'bank'
    """

    def __init__(
        self,
        name: str,
        plan: VerticalPlan,
        frame: Any,
        *,
        state: Path | None = None,
        memory: Path | None = None,
        despite_earlier_runs: bool = False,
        level: float = DEFAULT_LEVEL,
        notify: Callable[[str], object] = lambda _: None,
    ) -> None:
        plan.check_complete()
        table, terms = to_arrow(frame), plan.terms(name)
        self.name, self.plan, self.level, self.notify = name, plan, check_level(level), notify
        self._ids = read_ids(table, terms.id)
        self._columns = OwnColumns.read(table, plan.held_by(name))
        digest = hashlib.sha256(b"\0".join(self._ids)).hexdigest() + self._columns.digest()
        self._checkpoints = Checkpoints(state, f"{plan.fingerprint} {name} {digest}")
        beside = None if state is None else state.with_name(f"{name}.runs")
        self._earlier, self._despite = EarlierRuns(memory or beside), despite_earlier_runs

    def fit(self, links: Mapping[str, Link]) -> VerticalFit:
        """Run the plan with the parties at the other ends of these links."""
        try:
            fit = self._fit(links)
        except Exception:
            give_up(links)
            raise
        self._checkpoints.forget()
        return fit

    def _fit(self, links: Mapping[str, Link]) -> VerticalFit:
        if self.plan.protocol == "residual":
            warnings.warn(WARNING, LeakageWarning, stacklevel=3)
        greeting = greet(links, self.plan, self.name, "fit", self._checkpoints.tags())
        rows = self._aligned_rows(links, greeting)
        # Whoever chose the records learns from a refusal, too: so what can be told without their values comes first.
        check_count(len(rows), self.plan)
        done = self._done(links, greeting)
        told = self._remembered(rows, is_over=len(done) == len(links)) if self.plan.protocol == "gram" else Told()
        own = self._columns.at(rows)
        standardised = check_columns(own, self.plan, self._sums_told + (0 if self._despite else told.sums))
        if self.plan.protocol == "gram":
            outcome = self._run_gram(links, done, told, own, standardised)
        else:
            outcome = self._run_residual(links, greeting, own, standardised)
        return self._conclude(links, greeting.run, outcome, own, standardised)

    def _aligned_rows(self, links: Mapping[str, Link], greeting: Greeting) -> NDArray[np.int64]:
        if greeting.common("aligned", self.plan.names):
            rows = self._checkpoints.load("aligned")[1]["rows"]
            self.notify(f"going on with {counted(len(rows), 'shared record')} of an earlier run")
            return rows
        rows = align(links, self.plan, self.name, self._ids, self._earlier, self.notify)
        self._checkpoints.start_over()
        self._checkpoints.save("aligned", greeting.run, {}, rows=rows)
        self.notify(f"{len(rows):,} of our {len(self._ids):,} records are shared")
        return rows

    def _resumable(self, greeting: Greeting, stage: str, parties: tuple[str, ...]) -> bool:
        return greeting.common("aligned", self.plan.names) and greeting.common(stage, parties)

    def _done(self, links: Mapping[str, Link], greeting: Greeting) -> frozenset[str]:
        """The pairs whose moments an earlier run that was cut off has left."""
        stages = {pair_stage(self.plan.names, self.name, peer): peer for peer in links}
        return frozenset(stage for stage, peer in stages.items() if self._resumable(greeting, stage, (self.name, peer)))

    def _remembered(self, rows: NDArray[np.int64], *, is_over: bool) -> Told:
        """Write this run down, unless all its sums are told already; refuses it by whose records it is about."""
        ids, columns = [self._ids[row] for row in rows.tolist()], self._columns
        if is_over:
            return self._earlier.look_back(ids)
        told = self._earlier.begin(
            ids,
            sums=self._sums_told,
            fewest=fewest_people(columns, self.plan, self._sums_told),
            records_per_sum=self.plan.limits.records_per_variable,
            own=columns.at(rows),
            known_by=self.plan.terms(self.name).id,
            despite=self._despite,
        )
        if told.runs:
            self.notify(f"{counted(told.runs, 'earlier run')} told sums over the same people")
        return told

    @property
    def _sums_told(self) -> int:
        """Sums of each of our columns: one a column of the others, one for each whose products we make, and decoys."""
        others, peers = len(self.plan.columns) + 1 - len(self._columns.names), len(self.plan.names) - 1
        return others + peers - self.plan.names.index(self.name) + self._decoys_told

    @property
    def _decoys_told(self) -> int:
        """Sums of each of our columns that decoys amount to; nobody sees what they were, so they count in every run."""
        return DECOY_SUMS * (len(self.plan.names) - 1)

    def _run_gram(
        self, links: Mapping[str, Link], done: frozenset[str], told: Told, own: OwnColumns, standardised: Standardised
    ) -> Outcome:
        moments = pool_moments(links, self.plan, self.name, standardised, self._checkpoints, done, self.notify)
        if self.name == self.plan.names[-1]:  # it has read all its sums itself; others are told them by whoever asked
            self._earlier.settle(moments.between(self.plan.held_by(self.name)), self._decoys_told)
        check_moments(moments, standardised, self.plan.limits)
        selection = select(moments, self.plan.rules)
        exposure = exposure_of_moments(moments, self.name, self.plan.holder, own, told, self._sums_told)
        inference = infer(moments, selection.chosen)
        return Outcome(selection, inference, exposure, moments.target_scale, rounds=1)

    def _run_residual(
        self, links: Mapping[str, Link], greeting: Greeting, own: OwnColumns, standardised: Standardised
    ) -> Outcome:
        ((peer, link),) = links.items()
        target = self._shared_target(link, own)
        explained = target.standardised(intercept=self.plan.intercept)
        models = [stage for stage in greeting.stages[self.name] if stage.startswith("model-")]
        resume = max((stage for stage in models if self._resumable(greeting, stage, self.plan.names)), default=None)
        run = Residual(
            link=link,
            plan=self.plan,
            own=standardised.only(self.plan.terms(self.name).columns),
            target=explained.values[:, 0],
            target_scale=float(explained.scales[0]),
            leads=self.plan.names[0] == self.name,
            their_name=peer,
            checkpoints=self._checkpoints,
            notify=self.notify,
        )
        return run.run(resume)

    def _shared_target(self, link: Link, own: OwnColumns) -> OwnColumns:
        """The target in its own units, which S2 has both sides know."""
        if self.plan.holder == self.name:
            target = own.only([self.plan.target])
            link.send(Target(np.ascontiguousarray(target.values[:, 0])))
            return target
        values = link.receive(Target, most=numbers(len(own.values))).values
        if values.shape != (len(own.values),):
            raise ProtocolError(
                Phrase(
                    "{peer} sent {shape} values of the target for {count} records",
                    peer=link.peer,
                    shape=values.shape,
                    count=len(own.values),
                )
            )
        return OwnColumns((self.plan.target,), values.reshape(-1, 1))

    def _conclude(
        self, links: Mapping[str, Link], run: str, outcome: Outcome, held: OwnColumns, standardised: Standardised
    ) -> VerticalFit:
        outcome = replace(outcome, inference=replace(outcome.inference, level=self.level))
        own = self._own_coefficients(outcome, standardised)
        taken_off = sum(each.coefficient * each.mean for each in own.values())
        mean = float(standardised.means[-1]) if self.plan.holder == self.name else None
        part = OwnPart.of(held.only(list(own)), np.array([each.coefficient for each in own.values()]))
        ours = InterceptPart(taken_off - (mean or 0.0), part.spread)
        parts = with_each(
            links, lambda peer: links[peer].swap(ours, speaks_first=self.plan.comes_before(self.name, peer))
        )
        intercept = -ours.value - sum(part.value for part in parts.values()) if self.plan.intercept else None
        owner = dict(zip(self.plan.columns, self.plan.owners, strict=True))
        spreads = {self.name: ours.spread, **{peer: told.spread for peer, told in parts.items()}}
        size = np.abs(outcome.inference.coefficients) * outcome.target_scale
        for party in spreads:  # no part varies by more than all its columns do together, whatever it says
            most = sum(size[at] for at, name in enumerate(outcome.inference.names) if owner[name] == party)
            spreads[party] = min(spreads[party], float(most))
        fit = VerticalFit(
            party=self.name,
            run=run,
            fingerprint=self.plan.fingerprint,
            protocol=self.plan.protocol,
            target=self.plan.target,
            criterion=self.plan.criterion,
            owners={name: owner[name] for name in outcome.inference.names},
            inference=outcome.inference,
            selection=outcome.selection,
            own=own,
            intercept=intercept,
            target_scale=outcome.target_scale,
            target_mean=mean,
            spreads=spreads,
            own_part=part,
            exposure=outcome.exposure,
            rounds=outcome.rounds,
            transcripts=tuple(link.transcript.to_dict() for link in links.values()),
        )
        own_held = held.only(list(own))
        read_off = {peer: most_read_off(fit.in_steps(own_held, peer), own_held) for peer in links}
        return replace(fit, own_part=replace(part, read_off=read_off))

    def _own_coefficients(self, outcome: Outcome, standardised: Standardised) -> dict[str, OwnCoefficient]:
        own, inference = {}, outcome.inference
        for at, name in enumerate(inference.names):
            if name not in standardised.names:
                continue
            column = standardised.names.index(name)
            unit = outcome.target_scale / standardised.scales[column]
            own[name] = OwnCoefficient(
                coefficient=float(inference.coefficients[at] * unit),
                standard_error=float(inference.standard_errors[at] * unit),
                low=float(inference.low[at] * unit),
                high=float(inference.high[at] * unit),
                mean=float(standardised.means[column]),
            )
        return own


def agree(
    path: Path,
    me: str,
    data: Any,
    ids: str,
    columns: Sequence[str] | None = None,
    *,
    target: str | None = None,
    key: Path | None = None,
    memory: Path | None = None,
    **settings: Any,
) -> VerticalPlan:
    """Make a plan, or join the one that is there: add our columns, make our key.

    A plan that has us already, with the columns given and the `key` given, is agreed to as it has become.

    Parameters
    ----------
    path : Path
        The plan file; whoever makes it is the first party.
    me : str
        What we are called in the plan.
    data : frame, path or source
        Our own table.
    ids : str
        The column of ids in it.
    columns : sequence of str
        Those we bring; all but ids and target by default.
    target : str
        The column to explain, which the first party names.
    key : Path
        Our key, which is made unless it is there; beside the plan by default, where it must not be there yet.
    memory : Path
        File that remembers what we agree to, for `recognise`.
    **settings : Any
        What else the first party settles; see `VerticalPlan`.
    """
    draft = VerticalPlan.load(path) if path.exists() else None
    if draft is not None and (settings or target is not None):
        raise ProtocolError(
            Phrase(
                "{path}: is there already; what it says was settled by the first party, {first}; move it away "
                "to make another",
                path=path,
                first=draft.names[0],
            )
        )
    if draft is None and target is None:
        raise ProtocolError(Phrase("{path}: is not there; the first party makes it and names the --target", path=path))
    explained = str(target) if draft is None else draft.target
    source = open_source(data)
    table = read_own(source, ids)
    check_there((ids, *(columns or ())), table.column_names, source.described)
    holds_target = explained in table.column_names
    brought = columns or [name for name in table.column_names if name not in (ids, explained)]
    most_ids = _room_for(len(read_ids(table, ids)))  # what would stop the run is told now
    OwnColumns.read(table, [*brought, *([explained] if holds_target else [])])

    def with_us(certificate: str) -> VerticalPlan:
        terms = Terms(me, tuple(brought), ids, certificate, most_ids)
        if draft is not None and Terms(me, tuple(brought), ids, certificate) in [
            replace(terms, most_ids=0) for terms in draft.parties if certificate
        ]:
            return draft
        if draft is not None:
            return draft.joined_by(terms, holds_target=holds_target)
        return VerticalPlan((terms,), explained, me if holds_target else "", **settings)

    certificate = certificate_in(key) if key is not None and key.exists() else ""
    plan = with_us(certificate)  # what cannot be agreed on is refused before a key is made
    if not certificate:
        plan = with_us(make_key(key or own_key(path, me), me))
    EarlierRuns(memory).agree(plan.terms(me).certificate, plan.terms_of(me))
    plan.save(path)
    return plan


def _room_for(ids: int) -> int:
    """So many ids a party may bring that has these today: twice as many, in two digits, and some for small tables."""
    digits = 10 ** max(0, len(str(2 * ids)) - 2)
    return max(_FEW_IDS, -(-2 * ids // digits) * digits)


T = TypeVar("T")


def fit_vertically(
    frames: Mapping[str, Any], plan: VerticalPlan, *, timeout: float = 60.0, level: float = DEFAULT_LEVEL
) -> dict[str, VerticalFit]:
    """Fit a plan with all parties in this process; the same code as over the network, but for the wire.

    Parameters
    ----------
    frames : Mapping[str, Any]
        Every party's table.
    plan : VerticalPlan
        What they agree on.
    timeout : float
        Seconds a party waits for a message.
    level : float
        How often an interval should hold the truth.

    Returns
    -------
    dict
        Every party's own view of the fit.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import companies
    >>> bank, shop = companies(400)
    >>> plan = kk.VerticalPlan.of(
    ...     {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]},
    ...     target="spending", holder="shop", ids="customer",
    ... )
    >>> fits = kk.fit_vertically({"bank": bank, "shop": shop}, plan)
    >>> fits["bank"].chosen == fits["shop"].chosen
    True
    """
    if not isinstance(frames, Mapping):
        raise wrong_type(frames, Mapping, "one table a party, by its name")
    if not isinstance(plan, VerticalPlan):
        raise wrong_type(plan, VerticalPlan, "VerticalPlan.load reads one, VerticalPlan.of makes one")
    if missing := [name for name in plan.names if name not in frames]:
        raise ProtocolError(Phrase("no table is given for {parties}, which the plan names", parties=", ".join(missing)))
    parties = {name: Party(name, plan, frame, level=level) for name, frame in frames.items()}
    return side_by_side(list(plan.names), lambda name, links: parties[name].fit(links), timeout=timeout)


def side_by_side(names: list[str], run: Callable[[str, dict[str, Link]], T], *, timeout: float = 60.0) -> dict[str, T]:
    """Run every party in a thread, linked to all others; raises the error that came first in what it means."""
    links: dict[str, dict[str, Link]] = {name: {} for name in names}
    for one, other in combinations(names, 2):
        links[one][other], links[other][one] = linked_pair(one, other, timeout)
    with ThreadPoolExecutor(len(names)) as pool:
        runs = {name: pool.submit(run, name, links[name]) for name in names}
        wait(runs.values())
    errors = [error for future in runs.values() if (error := future.exception()) is not None]
    if errors:
        # One party's trouble makes the others stop with a ProtocolError; the trouble itself says more.
        raise next((error for error in errors if not isinstance(error, ProtocolError)), errors[0])
    return {name: future.result() for name, future in runs.items()}
