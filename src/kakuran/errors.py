"""Everything kakuran raises or warns about on purpose.

    KakuranError
    ├── SchemaError        a declaration that cannot be meant (also a ValueError)
    ├── DataError          a table that does not fit its schema (also a ValueError)
    │   └── ArgumentError  an argument of a function that cannot be meant
    ├── CalibrationError   a promise that cannot be kept with these parameters (also a ValueError)
    ├── ReleaseError       a file that cannot be written, a release that cannot be read or trusted
    ├── ProtocolError      parties that cannot go on together: peer, plan, key, frame, time
    ├── GuardError         a run stopped because it would reveal too much
    ├── CollectError       a survey that cannot be collected: its database, its server, its state
    ├── RandomnessError    a stream of random numbers about to be used twice
    └── MissingExtraError  an optional part that is not installed (also an ImportError)

    InferredDomainWarning   a domain was read off private data
    LeakageWarning          a protocol reveals more than the result
    MissingLettersWarning   labels of a picture have letters that no installed font has
    NotForPublicationWarning  a release was drawn from a seed somebody knows
    ScatteredNumbersWarning  little is left of a number that may be missing, as its order is not kept
    StrongerThanAskedWarning  a ceiling takes more noise than what was asked for beside it
    UnclearCellsWarning     some estimates cannot be told from noise

Messages say what was wrong, the value received and the way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from numbers import Real
from urllib.parse import unquote, unquote_plus

LONGEST_MESSAGE = 2000
"""Letters of a message; of a longer one, which quotes something endless, the start and the end are shown."""
_ADDRESS = re.compile(r"(?<![\w+.-])([a-zA-Z][\w+.-]++:/{1,2})([^\s'\"<>]++)")
"""An address in a text; with one slash where it was taken for a path, and never the C:/ of Windows."""
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]+:/{1,2}")
_SETTING = re.compile(r"[\w.%-]+=")
_PORT = re.compile(r"\d{1,5}[/?#]")
_SECRET_SETTING = re.compile(
    r"password|passwd|passphrase|^pass$|^pwd$|secret|token$|^sig$|signature|credential$|^key$|^code$|^auth"
    r"|^jwt$|(access|account|api|shared|private)[_-]?key",
    re.IGNORECASE,
)
"""What settings behind the ? of an address are called whose values nobody else should see."""
_SECRET_WORD = re.compile(
    r"((?:password|passwd|passphrase|pwd|(?:account|access|shared|api|secret)[_-]?key|sharedaccesssignature|secret)"
    r"\s*+=(?!=)\s*+)('(?:[^'\\]|\\.)*+'?|[^\s;]+(?<!['\"]))",
    re.IGNORECASE,
)
"""A secret in a connection string of libpq, ODBC or Azure, and what it is called there."""
_TELLING = 3
"""Letters from which a piece of a password is left out wherever it stands; shorter ones are in many words."""
_DATABASES = ("postgresql", "postgres", "mysql", "mariadb")
"""In addresses of these whatever stands between the first colon and the last @ is a password, digits and / too."""
_KEYS_ALONE = ("s3", "s3a")
"""Before the bucket of these stands a pair of keys, and no name that the address needs."""


class KakuranError(Exception):
    """Base of every error kakuran raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(readable(message))
        self.said = message
        """As it was given: a phrase can be said in another language."""


def without_secrets(text: str, *addresses: str) -> str:
    """A text without the passwords and keys of addresses and connection strings, to be shown, logged and written.

    What is left of an address leads there as soon as its secret comes from elsewhere, such as ``PGPASSWORD``.

    Parameters
    ----------
    text : str
        The text, which may be an address.
    *addresses : str
        Addresses known to be in it, however odd their passwords, which may stand there by themselves, too: servers
        repeat what they were told.
    """
    for address in sorted(addresses, key=len, reverse=True):
        told, secrets = _parted(address)
        text = text.replace(address, told)
        for secret in sorted({form for one in secrets for form in _forms(one)}, key=len, reverse=True):
            text = text.replace(secret, "…")
    return _SECRET_WORD.sub(r"\1…", _ADDRESS.sub(lambda found: _parted(found[0])[0], text))


def _forms(secret: str) -> Iterator[str]:
    """How a secret may be repeated: as it is, read, or the pieces that somebody took for the host or the port."""
    yield from filter(None, (secret, unquote(secret), unquote_plus(secret)))
    yield from (piece for piece in re.split("[/?#@:]", secret) if len(piece) >= _TELLING)


def _parted(address: str) -> tuple[str, list[str]]:
    """An address without its secrets, and these."""
    found = _SCHEME.match(address)
    if found is None:
        return _SECRET_WORD.sub(r"\1…", address), [found[2].strip("'") for found in _SECRET_WORD.finditer(address)]
    scheme, rest = found[0], address[found.end() :]
    kind = scheme.lower().partition(":")[0].partition("+")[0]
    secrets = []
    # A password may hold what should have been written as %40 or %2F: better too much is left out than too little.
    place, mark, settings = rest.partition("?")
    if "@" not in place or not _SETTING.match(settings):
        place, mark, settings = rest, "", ""
    user, colon, password = place.rpartition("@")[0].partition(":")
    if colon and not _leads_on(kind, user, password):
        secrets.append(password)
        is_needed = user and kind not in _KEYS_ALONE
        rest = f"{user}@" * bool(is_needed) + place.rpartition("@")[2] + mark + settings
    place, mark, settings = re.fullmatch("(?s)([^?#]*)([?#]?)(.*)", rest).groups()  # type: ignore[union-attr]
    kept = []
    for setting in settings.split("&") if mark else ():
        parts = setting.split("#")
        at = next((at for at, part in enumerate(parts) if _SECRET_SETTING.search(_name_of(part))), len(parts))
        secrets += ["#".join(parts[at:]).partition("=")[2]] * (at < len(parts))
        kept += ["#".join(parts[:at])] * (at > 0)
    return scheme + place + mark * bool(kept) + "&".join(kept), secrets


def _leads_on(kind: str, user: str, password: str) -> bool:
    """Whether what stands before an @ is no name and password, but a host with its port, or a folder."""
    if kind in _DATABASES:
        return bool(_PORT.match(password) and _SETTING.match(password.partition("?")[2]))
    is_port = kind not in _KEYS_ALONE and _PORT.match(password)
    return bool(is_port) or not {"/", "?", "#"}.isdisjoint(user)


def _name_of(setting: str) -> str:
    return unquote(setting.partition("=")[0]) if "=" in setting else ""


def readable(message: str) -> str:
    """A message that can be printed whatever it quotes: no password, not endless, and without half characters."""
    message = without_secrets(message)
    if len(message) > LONGEST_MESSAGE:
        half = LONGEST_MESSAGE // 2
        message = f"{message[:half]} … {message[-half:]}"
    return message.encode(errors="backslashreplace").decode()


class SchemaError(KakuranError, ValueError):
    """A schema, attribute or tree that cannot be meant."""


class DataError(KakuranError, ValueError):
    """A column that does not fit its declared domain.

    The message shows one offending value: it is meant for the steward's own terminal.
    """

    _named, _shown = "column {!r}:", ", for example {!r}"

    def __init__(
        self, column: str, problem: str, remedy: str, *, example: object = None, place: str | None = None
    ) -> None:
        self.column = column
        self.problem = problem
        self.remedy = remedy
        self.example = example
        self.place = place
        shown = "" if example is None else self._shown.format(example)
        where = "" if place is None else f", in {place}"
        super().__init__(f"{self._named.format(column)} {problem}{shown}{where}. {remedy}")

    def at(self, place: str) -> DataError:
        """The same, and where in the data."""
        return type(self)(self.column, self.problem, self.remedy, example=self.example, place=place)

    def __reduce__(self) -> tuple[object, ...]:
        made = partial(type(self), self.column, self.problem, self.remedy, example=self.example, place=self.place)
        return made, ()


class ArgumentError(DataError):
    """An argument of a function that cannot be meant, named in place of a column."""

    _named, _shown = "{}", ", got {!r}"


class CalibrationError(KakuranError, ValueError):
    """A k, n or set of weights for which no noise keeps the promise."""


class ReleaseError(KakuranError):
    """A file that cannot be written, or a release that cannot be read or trusted."""


class ProtocolError(KakuranError):
    """Parties that cannot go on together: the peer, the plan, a key, a frame or the time is wrong."""


class GuardError(KakuranError):
    """A run stopped because it would reveal more than the plan allows."""


class CollectError(KakuranError):
    """A survey that cannot be collected: its database, its server or its state is in the way."""


class RandomnessError(KakuranError, RuntimeError):
    """A seeded stream that would hand out the same numbers twice."""


class MissingExtraError(KakuranError, ImportError):
    """An optional part of kakuran that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        super().__init__(
            f"{what} needs an optional part: pip install 'kakuran[{extra}]', or '.[{extra}]' in the repository"
        )


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Say which extra to install if an import inside fails."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(what, extra) from None


def wrong_type(value: object, kind: type, way: str) -> TypeError:
    """What to raise of a value of another type: what it is, and the way to one of the right type."""
    return TypeError(f"expected a {kind.__name__} ({way}), got {type(value).__name__}")


def is_real(value: object) -> bool:
    """Whether a value is a number, Python's or numpy's, that a float can hold."""
    if not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def counted(count: int, one: str, many: str | None = None) -> str:
    """How many of something, in words that fit one, too: 1 record, 2 records, 3 axes."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


class InferredDomainWarning(UserWarning):
    """A domain was read off private data; publishing it may reveal who is in the table."""


class NotForPublicationWarning(UserWarning):
    """A release was drawn from a known seed, so whoever knows the seed can undo it."""


class ScatteredNumbersWarning(UserWarning):
    """A number that may be missing is perturbed like a category: little is left of it."""


class StrongerThanAskedWarning(UserWarning):
    """A ceiling takes more noise than the guarantee that was asked for beside it."""


class UnclearCellsWarning(UserWarning):
    """Some estimated counts cannot be told from noise: zero, or what independent columns would give, is as likely."""


class MissingLettersWarning(UserWarning):
    """Labels of a picture have letters that no installed font has."""


class LeakageWarning(UserWarning):
    """A protocol reveals more of the data than the result it computes."""
