"""The peers' own samplers, called the fastest way their interfaces allow.

A peer handles one value in microseconds, so it is timed on fewer values than we are. One that cannot be installed,
imported or run is reported by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import Contestant
from kakuran.mechanism import BoundedLaplace, RetentionReplacement

Codes: TypeAlias = NDArray[np.int32]
Entry: TypeAlias = Callable[[], Contestant]


def admit(entries: Iterable[Entry]) -> tuple[list[Contestant], dict[str, str]]:
    """The peers that run, and why each of the others does not."""
    admitted, refused = [], {}
    for entry in entries:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                contestant = entry()
                contestant.run()
            admitted.append(contestant)
        except Exception as error:
            refused[entry.__name__] = f"{type(error).__name__}: {error}".splitlines()[0]
    return admitted, refused


def versions(packages: Iterable[str]) -> str:
    """What is installed of the peers."""
    return ", ".join(f"{package} {_version(package)}" for package in packages)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def retention_peers(mechanism: RetentionReplacement, codes: Codes) -> list[Entry]:
    """Generalised randomised response with our ε, which is retention-replacement by another name."""
    values, size, epsilon = codes.tolist(), mechanism.size, mechanism.epsilon

    def multi_freq_ldpy() -> Contestant:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

        return Contestant(
            "multi-freq-ldpy GRR", lambda: [GRR_Client(value, size, epsilon) for value in values], len(values)
        )

    def pure_ldp() -> Contestant:
        from pure_ldp.frequency_oracles.direct_encoding import DEClient

        client = DEClient(epsilon, size, index_mapper=lambda value: value)
        return Contestant("pure-ldp DE", lambda: [client.privatise(value) for value in values], len(values))

    return [multi_freq_ldpy, pure_ldp]


def compiled_retention_peers(mechanism: RetentionReplacement, codes: Codes) -> list[Entry]:
    """multi-freq-ldpy compiles its client, so a loop around it can be compiled too, though it offers none."""
    size, epsilon = mechanism.size, mechanism.epsilon

    def multi_freq_ldpy() -> Contestant:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
        from numba import njit

        @njit
        def perturb(codes: Codes, size: int, epsilon: float) -> Codes:
            out = np.empty_like(codes)
            for place in range(len(codes)):
                out[place] = GRR_Client(codes[place], size, epsilon)
            return out

        return Contestant("multi-freq-ldpy GRR, compiled loop", lambda: perturb(codes, size, epsilon), len(codes))

    return [multi_freq_ldpy]


def bounded_laplace_peers(mechanism: BoundedLaplace, codes: Codes) -> list[Entry]:
    """diffprivlib's bounded Laplace, with our scale."""
    values = codes.astype(float).tolist()

    def diffprivlib() -> Contestant:
        from diffprivlib.mechanisms import LaplaceBoundedDomain

        span = mechanism.span
        noise = LaplaceBoundedDomain(epsilon=span / mechanism.scale, sensitivity=span, lower=0.0, upper=span)
        return Contestant("diffprivlib", lambda: [noise.randomise(value) for value in values], len(values))

    return [diffprivlib]


def laplace_peers(mechanism: BoundedLaplace, codes: Codes) -> list[Entry]:
    """OpenDP's Laplace of the same scale; it has no bounded one."""
    whole, real = codes.tolist(), codes.astype(float).tolist()

    def opendp_ints() -> Contestant:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        noise = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), mechanism.scale)
        return Contestant("OpenDP on ints", lambda: noise(whole), len(whole))

    def opendp_floats() -> Contestant:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
        noise = dp.m.make_laplace(domain, dp.l1_distance(T=float), mechanism.scale)
        return Contestant("OpenDP on floats", lambda: noise(real), len(real))

    return [opendp_ints, opendp_floats]
