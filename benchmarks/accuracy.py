"""How near the truth a histogram comes at the same k, and so the same ε: ours beside the peers' own estimators.

Everybody perturbs the same answers, person by person, ε-locally differentially private for the ε that `calibrate` finds
for k; everybody estimates the counts. The error is the L1 distance from the true counts over n.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims import Claim, at_most_times, no_peer
from benchmarks.joints import zipf
from benchmarks.pictures import Picture, lines
from kakuran import Categorical, Schema, calibrate
from kakuran.mechanism import RetentionReplacement
from kakuran.model import Operator, reconstruct
from kakuran.randomness import Randomness

Counts: TypeAlias = NDArray[np.float64]
Way: TypeAlias = Callable[[NDArray[np.int64], RetentionReplacement], Counts]

NOTE = (
    "Errors are means over several draws. GRR, DE and randomised response are retention-replacement by other names; "
    "OUE, shown for information, releases a bit for every value and so no table: it is nearer where noise is heavy."
)
PACKAGES = ("multi-freq-ldpy", "opendp", "pure-ldp")

VALUES = 32
KS = (2, 10, 30, 100, 300, 1000)
BAR_AT = 100


def measure(*, quick: bool) -> Iterator[Claim | Picture]:
    """Every way at every k; quick runs are to see that all works, their numbers mean little."""
    records, draws, ks = (1_000, 1, (10, BAR_AT)) if quick else (5_000, 8, KS)
    found: dict[str, dict[float, float | str]] = {name: {} for name in WAYS}
    for k in ks:
        for name, way in WAYS.items():
            found[name][k] = _error(way, k, records, draws)
    for name in WAYS:
        if name != OURS:
            yield _beside(name, found, records)
    yield Picture("accuracy", "Error of a histogram against k, ours and the peers'", lambda: _drawn(found))


def _beside(name: str, found: Mapping[str, Mapping[float, float | str]], records: int) -> Claim:
    ours, theirs = found[OURS][BAR_AT], found[name][BAR_AT]
    text = f"error of a histogram of {VALUES} values, {records:,} records, k = {BAR_AT}"
    assert isinstance(ours, float)
    if isinstance(theirs, str):
        return no_peer(text, f"{100 * ours:.2f} % of n", f"{name}: {theirs}", "≤ 1.05×")
    bar = None if name == UNARY else 1.05
    return at_most_times(text, 100 * ours, 100 * theirs, "% of n", name, bar)


def _error(way: Way, k: float, records: int, draws: int) -> float | str:
    try:
        return float(np.mean([_one_error(way, k, records, seed) for seed in range(draws)]))
    except Exception as error:
        return f"does not run: {type(error).__name__}: {error}".splitlines()[0]


def _one_error(way: Way, k: float, records: int, seed: int) -> float:
    dice = np.random.default_rng(seed)
    answers = dice.choice(VALUES, records, p=zipf([VALUES]))
    plan = calibrate(Schema([Categorical("answer", [f"{value:02}" for value in range(VALUES)])]), n=records, k=k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = way(answers, plan["answer"])
    return float(np.abs(estimate - np.bincount(answers, minlength=VALUES)).sum() / records)


def _ours(answers: NDArray[np.int64], mechanism: RetentionReplacement) -> Counts:
    seen = mechanism.sample(answers.astype(np.int32), Randomness.secure())
    counts = np.bincount(seen, minlength=VALUES).astype(float)
    return reconstruct(counts, Operator([mechanism.transition()])).counts


def _multi_freq_grr(answers: NDArray[np.int64], mechanism: RetentionReplacement) -> Counts:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    reports = [GRR_Client(answer, VALUES, mechanism.epsilon) for answer in answers.tolist()]
    return len(answers) * np.asarray(GRR_Aggregator_MI(reports, VALUES, mechanism.epsilon))


def _multi_freq_ibu(answers: NDArray[np.int64], mechanism: RetentionReplacement) -> Counts:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_IBU, GRR_Client

    reports = [GRR_Client(answer, VALUES, mechanism.epsilon) for answer in answers.tolist()]
    return len(answers) * np.asarray(GRR_Aggregator_IBU(reports, VALUES, mechanism.epsilon))


def _multi_freq_oue(answers: NDArray[np.int64], mechanism: RetentionReplacement) -> Counts:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    reports = [UE_Client(answer, VALUES, mechanism.epsilon) for answer in answers.tolist()]
    return len(answers) * np.asarray(UE_Aggregator_MI(reports, mechanism.epsilon))


def _pure_ldp(answers: NDArray[np.int64], mechanism: RetentionReplacement) -> Counts:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer

    client, server = (
        make(mechanism.epsilon, VALUES, index_mapper=lambda value: value) for make in (DEClient, DEServer)
    )
    for answer in answers.tolist():
        server.aggregate(client.privatise(answer))
    return np.array(server.estimate_all(range(VALUES)), float)


def _opendp(answers: NDArray[np.int64], mechanism: RetentionReplacement) -> Counts:
    """OpenDP perturbs; it has no estimator for this, so its matrix is inverted."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    kept = np.exp(mechanism.epsilon) / (np.exp(mechanism.epsilon) + VALUES - 1)
    respond = dp.m.make_randomized_response(list(range(VALUES)), float(kept))
    seen = np.bincount([respond(answer) for answer in answers.tolist()], minlength=VALUES)
    other = (1 - kept) / (VALUES - 1)
    return (seen - len(answers) * other) / (kept - other)


OURS = "kakuran, auto"
UNARY = "multi-freq-ldpy, OUE"
WAYS: Mapping[str, Way] = {
    OURS: _ours,
    "multi-freq-ldpy, GRR + inversion": _multi_freq_grr,
    "multi-freq-ldpy, GRR + IBU": _multi_freq_ibu,
    UNARY: _multi_freq_oue,
    "pure-ldp, DE": _pure_ldp,
    "OpenDP, randomised response + inversion": _opendp,
}


def _drawn(found: Mapping[str, Mapping[float, float | str]]) -> object:
    series = {}
    for name, errors in found.items():
        points = [(k, 100 * error) for k, error in errors.items() if isinstance(error, float)]
        if points:
            series[name] = tuple(zip(*points, strict=True))
    return lines([("error (% of n)", series, {"yscale": "log"})], "k: nobody is linked above 1/k")
