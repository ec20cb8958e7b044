"""The only door to entropy: secret and seeded streams, and what is drawn from them, such as random orders.

Every random number of kakuran comes from an AES-256-CTR keystream. By default the key comes from the
operating system and is never shown; an explicit seed gives a reproducible stream, and whatever is drawn
from it is marked as not for publication.

A stream belongs to one worker. Processes, threads and partitions each `spawn` their own: a forked or
unpickled copy of a secret stream keys itself anew, a copy of a seeded one refuses to run.
"""

from __future__ import annotations

import hmac
import os
from operator import index
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from kakuran.errors import RandomnessError

_ZEROS = memoryview(bytes(1 << 17))


class Randomness:
    """A stream of random words; make one with `Randomness.secure()` or `Randomness.seeded(seed)`.

    Examples
    --------
    >>> from kakuran.randomness import Randomness
    >>> Randomness.seeded(7).below(10, 5).tolist() == Randomness.seeded(7).below(10, 5).tolist()
    True
    """

    def __init__(self, key: bytes, *, is_seeded: bool) -> None:
        self._key = key
        self._keystream = _keystream(key)
        self._process = os.getpid()
        self.is_seeded = is_seeded

    @classmethod
    def secure(cls) -> Randomness:
        """A stream keyed by the operating system."""
        return cls(os.urandom(32), is_seeded=False)

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """A reproducible stream; whoever knows the seed knows every draw."""
        try:
            number = index(seed)
        except TypeError:
            raise TypeError(f"a seed is a whole number, got {seed!r}") from None
        return cls(hmac.digest(b"kakuran seed", str(number).encode(), "sha256"), is_seeded=True)

    @classmethod
    def from_seed(cls, seed: int | None) -> Randomness:
        """`secure()` without a seed, `seeded(seed)` with one."""
        return cls.secure() if seed is None else cls.seeded(seed)

    @classmethod
    def derived(cls, content: bytes) -> Randomness:
        """A stream that is a function of some data: for estimates that give the same answer to the same question."""
        return cls(hmac.digest(b"kakuran content", content, "sha256"), is_seeded=True)

    def spawn(self, index: int) -> Randomness:
        """A stream for worker or batch `index`: fresh when secret, a function of (seed, index) when seeded."""
        if not self.is_seeded:
            return Randomness.secure()
        return Randomness(hmac.digest(self._key, b"stream %d" % index, "sha256"), is_seeded=True)

    def fill(self, out: NDArray[Any]) -> None:
        """Overwrite a contiguous array with random bytes."""
        if self._process != os.getpid():
            self._start_anew_after_fork()
        target = memoryview(out.data).cast("B")
        for start in range(0, len(target), len(_ZEROS)):
            chunk = target[start : start + len(_ZEROS)]
            self._keystream.update_into(_ZEROS[: len(chunk)], chunk)

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` uniform 64-bit words."""
        out = np.empty(count, np.uint64)
        if count:
            self.fill(out)
        return out

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """`count` integers uniform on 0 … bound−1, exactly (multiply, shift, reject)."""
        if not 1 <= bound <= 1 << 32:
            raise RandomnessError(f"integers can be drawn below 1 … 2**32, not below {bound}")
        half_words = np.empty(count, np.uint32)
        if count:
            self.fill(half_words)
        products = half_words * np.uint64(bound)
        halves = products.view(np.uint32).reshape(-1, 2)
        unfair = np.flatnonzero(halves[:, 0] < (1 << 32) % bound)
        drawn = halves[:, 1].astype(np.int64)
        if len(unfair):
            drawn[unfair] = self.below(bound, len(unfair))
        return drawn

    def permutation(self, count: int) -> NDArray[np.intp]:
        """A uniformly random order of `count` things: that of independent random keys, drawn anew if two are equal.

        Numbers are sorted several times as fast as places are, so the lower bits of each key make room for its place,
        and only keys that agree in all other bits are compared whole.
        """
        room = np.uint64(max(count - 1, 1).bit_length())
        while True:
            keys = self.words(count)
            tagged = keys >> room << room | np.arange(count, dtype=np.uint64)
            tagged.sort()
            order = (tagged & ((np.uint64(1) << room) - np.uint64(1))).astype(np.intp)
            tagged >>= room
            close = np.flatnonzero(tagged[1:] == tagged[:-1])
            together = np.union1d(close, close + 1)
            order[together] = order[together][np.argsort(keys[order[together]])]
            if not (keys[order[close]] == keys[order[close + 1]]).any():
                return order

    def generator(self) -> np.random.Generator:
        """A numpy generator for simulations; never for a release."""
        return np.random.Generator(np.random.PCG64(self.words(4).tolist()))

    def _start_anew_after_fork(self) -> None:
        if self.is_seeded:
            raise RandomnessError(
                "a seeded stream was copied into another process and would repeat its numbers there; "
                "give each process its own with spawn(index)"
            )
        self.__init__(os.urandom(32), is_seeded=False)  # type: ignore[misc]

    def __reduce__(self) -> tuple[Any, ...]:
        if self.is_seeded:
            raise RandomnessError(
                "a seeded stream cannot be sent to another process, where it would repeat its numbers; "
                "send the seed and call Randomness.seeded(seed).spawn(index) there"
            )
        return Randomness.secure, ()


def _keystream(key: bytes) -> CipherContext:
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
