"""Numbers as people write them, as 1.234,5 for 1234.5: read as somebody says they are written, never by a guess.

1,234 may be 1234 or 1.234, and a column of such numbers does not tell; so a sign that is not named is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kakuran.errors import DataError, SchemaError
from kakuran.words import Phrase

DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'")
"""What may stand between groups of three digits; a space and ' stand for those of print shops, too."""

_ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019"}
_KINDS = (pa.null(), pa.int64(), pa.float64(), pa.string())
"""What a column may turn out to hold, each kind with room for those before it."""
_LONGEST_WHOLE = 18
_EITHER = "1,234"
_IN_PYTHON = Phrase("(in Python decimal=…, thousands=…)")
_TELLING = 1_000
_NOTHING = pa.array(pa.csv.ConvertOptions().null_values)


@dataclass(frozen=True)
class NumberFormat:
    """The signs in numbers.

    Attributes
    ----------
    decimal : str
        What stands before decimals.
    thousands : str | None
        What may stand between groups of three digits, if anything.
    """

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise SchemaError(Phrase('--decimal (decimal=…) is "." or ",", got {decimal!r}', decimal=self.decimal))
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise SchemaError(
                Phrase(
                    '--thousands (thousands=…) is ",", ".", " " or "\'", got {thousands!r}', thousands=self.thousands
                )
            )
        if self.thousands == self.decimal:
            other = next(sign for sign in DECIMALS if sign != self.decimal)
            raise SchemaError(
                Phrase(
                    '"{decimal}" cannot stand both between thousands and before decimals; name the other sign '
                    'too: --decimal "{other}" (decimal="{other}")',
                    decimal=self.decimal,
                    other=other,
                )
            )

    def __str__(self) -> str:
        between = "" if self.thousands is None else f' and "{self.thousands}" between groups of three digits'
        return f'numbers with "{self.decimal}" before decimals{between}'

    @property
    def options(self) -> str:
        """What to type so that numbers are read like this."""
        told = [f'--decimal "{self.decimal}"'] * (self.decimal != ".")
        return " ".join(told + [f'--thousands "{self.thousands}"'] * (self.thousands is not None))

    @cached_property
    def _separator(self) -> str:
        return f"[{_ALIKE.get(self.thousands, self.thousands)}]" if self.thousands is not None else ""

    @cached_property
    def _whole(self) -> str:
        grouped = rf"\d{{1,3}}(?:{self._separator}\d{{3}})+|" if self.thousands is not None else ""
        return rf"[+-]?(?:{grouped}\d+)"

    @cached_property
    def _number(self) -> str:
        decimal = re.escape(self.decimal)
        return rf"(?:{self._whole}(?:{decimal}\d*)?|[+-]?{decimal}\d+)(?:[eE][+-]?\d+)?"

    def fits(self, word: str) -> bool:
        """Whether a word is such a number."""
        return re.fullmatch(self._number, word.strip()) is not None

    def value_of(self, word: str) -> float:
        """The number that such a word is."""
        return float(re.sub(self._separator, "", word.strip()).replace(self.decimal, "."))

    def kind_of(self, texts: pa.Array) -> pa.DataType:
        """What texts hold: nothing, whole numbers, numbers or something else."""
        texts = _trimmed(texts).drop_null()
        if not len(texts):
            return pa.null()
        return next(
            (kind for kind in (pa.int64(), pa.float64()) if pc.all(self._are(kind, texts)).as_py()), pa.string()
        )

    def read(self, name: str, texts: pa.Array, kind: pa.DataType) -> pa.Array:
        """A column of texts as numbers of some type, or a `DataError` that names it and one that is none."""
        texts = _trimmed(texts)
        strangers = texts.filter(pc.invert(self._are(kind, texts)))  # which leaves out what is missing
        if len(strangers):
            raise not_such_a_number(
                name, Phrase("at least one row is not one of {numbers}", numbers=str(self)), strangers[0].as_py()
            )
        return self._plain(texts).cast(kind)

    def _are(self, kind: pa.DataType, texts: pa.Array) -> pa.Array:
        """Which texts are numbers of a type."""
        if not pa.types.is_integer(kind):
            return _match(texts, self._number)
        is_short = pc.less_equal(pc.utf8_length(self._plain(texts)), _LONGEST_WHOLE)
        return pc.and_(_match(texts, self._whole), is_short)

    def _plain(self, texts: pa.Array) -> pa.Array:
        """Numbers as programs write them."""
        bare = pc.replace_substring_regex(texts, rf"^\+{'|' + self._separator if self._separator else ''}", "")
        return pc.replace_substring(bare, self.decimal, ".")


def widest(kinds: Iterable[pa.DataType]) -> pa.DataType:
    """The kind that has room for all of them."""
    return max(kinds, key=_KINDS.index)


def explaining(words: Iterable[str]) -> list[NumberFormat]:
    """The formats in which all words are numbers; where fewer signs will do, none with more."""
    listed = list(words)
    fitting = [one for one in _every_format() if all(map(one.fits, listed))]
    return [one for one in fitting if not any(_is_part(other, one) for other in fitting)]


def what_to_type(words: Iterable[str]) -> str:
    """The options with which words are read as numbers; where two would do, what 1,234 is with each.

    Only a comma can be meant in two ways, and no word is shown: they are private.
    """
    formats = explaining(words)
    if len(formats) < 2:
        return "".join(one.options for one in formats)
    ways = (
        Phrase("{options} if {word} is {number:g}", options=one.options, word=_EITHER, number=one.value_of(_EITHER))
        for one in formats
    )
    return reduce(lambda first, second: Phrase("{first} or {second}", first=first, second=second), ways)


def way_to_read(column: pa.Array | pa.ChunkedArray) -> str:
    """The options with which a column of text is one of numbers, as far as its first rows tell."""
    if not pa.types.is_string(column.type):
        return ""
    return what_to_type(word for word in pc.unique(column.slice(0, _TELLING)).drop_null().to_pylist() if word)


def not_such_a_number(column: str, problem: str, word: str, place: str | None = None) -> DataError:
    """The error for a word that is no number, with the options that would make it one."""
    asked = what_to_type([word])
    remedy = (
        Phrase("Say how numbers are written: {asked} {in_python}.", asked=asked, in_python=_IN_PYTHON)
        if asked
        else Phrase("Correct the data or its type in the schema.")
    )
    return DataError(column, problem, remedy, example=word, place=place)


def say_how(asked: str) -> str:
    """The way out for a column of text that such options would make numbers of, wherever it comes from."""
    return Phrase(
        "If they are numbers, say how they are written in a CSV file: {asked} {in_python}; "
        "anywhere else make it a column of numbers.",
        asked=asked,
        in_python=_IN_PYTHON,
    )


def _every_format() -> Iterator[NumberFormat]:
    for thousands in (None, *THOUSANDS):
        for decimal in DECIMALS:
            if decimal != thousands:
                yield NumberFormat(decimal, thousands)


def _is_part(one: NumberFormat, other: NumberFormat) -> bool:
    """Whether one format names fewer signs than the other, and none besides."""
    return one != other and one.decimal in (".", other.decimal) and one.thousands in (None, other.thousands)


def _trimmed(texts: pa.Array) -> pa.Array:
    """Without spaces at the ends, and with what arrow takes for missing as such."""
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.is_in(texts, value_set=_NOTHING), pa.scalar(None, pa.string()), texts)


def _match(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(texts, f"^(?:{pattern})$")
