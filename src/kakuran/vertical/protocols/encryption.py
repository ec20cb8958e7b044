"""Sums of products under encryption (BFV through SEAL, as tenseal ships it), without rotations.

The owner of the key sends encrypted columns. The other multiplies them slot by slot with its own, and hides in its
reply everything but the sums:

- a mask, uniform modulo t, whose slots add up to zero, leaves only the sum of each block of slots;
- a fresh encryption of zero makes the ciphertext a new one. Without it the key's owner could divide the returned
  polynomial by the one it sent, and read the other's column off the quotient;
- switching to a modulus 120 bits smaller scales the noise of the product, which would tell the same to somebody who
  remembers the noise of what he sent, far below the rounding that the switch itself adds.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kakuran.errors import ProtocolError, needing
from kakuran.randomness import Randomness

SLOTS = 8192
_SENT_PRIMES, _RETURNED_PRIMES = (37, 37, 60, 60), 2
_SPARE_PRIME = 24
"""SEAL sets its last prime aside for rotations, which we do not use. All together have the 218 bits that 8192 slots
allow at 128 bits of security."""
_PLAIN_BITS = 57


def precision(records: int) -> int:
    """Binary digits a standardised column can be rounded to so that no sum of products passes t/2."""
    half = plain_modulus() // 2
    bits = _PLAIN_BITS // 2
    while records * (2**bits + 1) ** 2 >= half:  # Cauchy–Schwarz: no sum is above the columns' own sums of squares
        bits -= 1
    return bits


def plain_modulus() -> int:
    """t, the prime modulo which the slots are counted."""
    return int(_scheme().modulus)


@dataclass(frozen=True)
class _Scheme:
    seal: Any
    context: Any
    encoder: Any
    evaluator: Any
    modulus: int

    def plaintext(self, slots: NDArray[Any]) -> Any:
        plain = self.seal.Plaintext()
        self.encoder.encode(slots.tolist(), plain)
        return plain


@cache
def _scheme() -> _Scheme:
    with needing("the gram protocol", "vertical"):
        import tenseal.sealapi as seal
    settings = seal.EncryptionParameters(seal.SCHEME_TYPE.BFV)
    settings.set_poly_modulus_degree(SLOTS)
    settings.set_coeff_modulus(seal.CoeffModulus.Create(SLOTS, [*_SENT_PRIMES, _SPARE_PRIME]))
    settings.set_plain_modulus(seal.PlainModulus.Batching(SLOTS, _PLAIN_BITS))
    context = seal.SEALContext(settings, True, seal.SEC_LEVEL_TYPE.TC128)
    modulus = settings.plain_modulus().value()
    return _Scheme(seal, context, seal.BatchEncoder(context), seal.Evaluator(context), modulus)


def pack(thing: Any) -> bytes:
    """A ciphertext or public key as bytes; SEAL itself can only write to files."""
    with tempfile.TemporaryDirectory(prefix="kakuran-") as folder:
        file = Path(folder) / "object"
        thing.save(str(file))
        return file.read_bytes()


def unpack(kind: Any, content: bytes) -> Any:
    """The inverse of `pack`; SEAL checks that the content is valid for our scheme."""
    with tempfile.TemporaryDirectory(prefix="kakuran-") as folder:
        file = Path(folder) / "object"
        file.write_bytes(content)
        thing = kind()
        try:
            thing.load(_scheme().context, str(file))
        except (RuntimeError, ValueError) as error:
            raise ProtocolError("the peer sent something that is not a ciphertext or key of our scheme") from error
    return thing


class KeyOwner:
    """The side that encrypts its columns and reads the sums."""

    def __init__(self) -> None:
        scheme = _scheme()
        generator = scheme.seal.KeyGenerator(scheme.context)
        self._public = scheme.seal.PublicKey()
        generator.create_public_key(self._public)
        secret = generator.secret_key()
        self._encryptor = scheme.seal.Encryptor(scheme.context, self._public, secret)
        self._decryptor = scheme.seal.Decryptor(scheme.context, secret)

    def public_key(self) -> bytes:
        """What the other side needs to make its replies."""
        return pack(self._public)

    def encrypt(self, slots: NDArray[np.int64]) -> bytes:
        """Slots as a ciphertext; half of it is the seed of its random part, which makes it small."""
        return pack(self._encryptor.encrypt_symmetric(_scheme().plaintext(slots)))

    def decrypt(self, ciphertext: bytes) -> NDArray[np.uint64]:
        """The slots of a reply, modulo t."""
        scheme = _scheme()
        loaded, plain = unpack(scheme.seal.Ciphertext, ciphertext), scheme.seal.Plaintext()
        self._decryptor.decrypt(loaded, plain)
        return np.array(scheme.encoder.decode_uint64(plain), np.uint64)


class Multiplier:
    """The side that multiplies what it cannot read."""

    def __init__(self, public_key: bytes) -> None:
        scheme = _scheme()
        key = unpack(scheme.seal.PublicKey, public_key)
        self._encryptor = scheme.seal.Encryptor(scheme.context, key)

    def load(self, ciphertext: bytes) -> Any:
        """A ciphertext of the other side, ready to be multiplied."""
        scheme = _scheme()
        loaded = unpack(scheme.seal.Ciphertext, ciphertext)
        if loaded.size() != 2 or list(loaded.parms_id()) != list(scheme.context.first_parms_id()):
            raise ProtocolError("the peer sent a ciphertext of another shape than agreed")
        scheme.evaluator.transform_to_ntt_inplace(loaded)
        return loaded

    def prepare(self, slots: NDArray[np.int64]) -> Any | None:
        """Own slots, ready to multiply with; None if all are zero, which adds nothing."""
        if not slots.any():
            return None
        scheme = _scheme()
        plain = scheme.plaintext(slots)
        scheme.evaluator.transform_to_ntt_inplace(plain, scheme.context.first_parms_id())
        return plain

    def add_product(self, total: Any | None, ciphertext: Any, prepared: Any | None) -> Any | None:
        """`total` plus the product; None stands for zero."""
        if prepared is None:
            return total
        scheme = _scheme()
        product = scheme.seal.Ciphertext()
        scheme.evaluator.multiply_plain(ciphertext, prepared, product)
        if total is not None:
            scheme.evaluator.add_inplace(product, total)
        return product

    def seal(self, total: Any | None, blocks: int, length: int) -> bytes:
        """The reply: masked so that only the sum of each of `blocks` blocks of `length` slots can be read."""
        scheme = _scheme()
        reply = scheme.seal.Ciphertext()
        self._encryptor.encrypt_zero(reply)
        if total is not None:
            scheme.evaluator.transform_from_ntt_inplace(total)
            scheme.evaluator.add_inplace(reply, total)
        scheme.evaluator.add_plain_inplace(reply, scheme.plaintext(zero_sum_mask(blocks, length)))
        for _ in range(len(_SENT_PRIMES) - _RETURNED_PRIMES):
            scheme.evaluator.mod_switch_to_next_inplace(reply)
        return pack(reply)


def zero_sum_mask(blocks: int, length: int) -> NDArray[np.uint64]:
    """Slots uniform modulo t, but for the last of each block, which makes the block add up to zero."""
    modulus = plain_modulus()
    mask = _uniform(modulus, SLOTS)
    for block in range(blocks):
        end = (block + 1) * length - 1
        mask[end] = -block_sum(mask[block * length : end]) % modulus
    return mask


def block_sum(slots: NDArray[np.uint64]) -> int:
    """The sum of many 57-bit numbers, which 64 bits could not hold."""
    low, high = slots & np.uint64(0xFFFFFFFF), slots >> np.uint64(32)
    return (int(high.sum()) << 32) + int(low.sum())


def centred(value: int) -> int:
    """A number modulo t as the one nearest to zero."""
    modulus = plain_modulus()
    value %= modulus
    return value - modulus if value > modulus // 2 else value


def _uniform(modulus: int, count: int) -> NDArray[np.uint64]:
    randomness, shift = Randomness.secure(), np.uint64(64 - modulus.bit_length())
    drawn = randomness.words(count) >> shift
    while (wrong := np.flatnonzero(drawn >= modulus)).size:
        drawn[wrong] = randomness.words(wrong.size) >> shift
    return drawn
