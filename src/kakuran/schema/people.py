"""Several rows a person: whose each row is, and which of them, at most `rows_a_person`, are used.

The promise is about people, so the rows of one person must not count as several. A number stands for each person: a
keyed hash of what is written in the person column, whose key is drawn anew every time and never leaves memory, so that
neither a temporary file nor a release has anything of it. Two people have the same number once in 2⁶⁴; they would then
be counted as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kakuran.errors import DataError
from kakuran.randomness import Randomness
from kakuran.typing import Codes, Indices
from kakuran.words import Phrase, so_many_people, so_many_rows

People = NDArray[np.uint64]
"""A number for the person of each row."""


class Pseudonyms:
    """Numbers that stand for people, the same for the same person as long as this object lives."""

    def __init__(self, randomness: Randomness) -> None:
        self._key = randomness.words(8).tobytes()

    def of(self, table: pa.Table | pa.RecordBatch, person: str) -> People:
        """The person of each row, by a column that must not be empty anywhere."""
        names = written_people(table, person)
        found = [blake2b(name.encode(), key=self._key, digest_size=8).digest() for name in names.dictionary.to_pylist()]
        return np.frombuffer(b"".join(found), np.uint64)[names.indices.to_numpy()]


def written_people(table: pa.Table | pa.RecordBatch, person: str) -> pa.DictionaryArray:
    """Who each row is of, as text; a `DataError` where that is not said."""
    column = table.column(person)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        text = column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        problem = Phrase("holds {kind}, by which people cannot be told apart", kind=str(column.type))
        raise DataError(person, problem, Phrase("Make it text or whole numbers.")) from None
    nobody = pc.or_kleene(pc.is_null(column, nan_is_null=True), pc.equal(text, ""))
    if missing := pc.sum(nobody).as_py():
        way = Phrase(
            "Fill in whose they are, or leave them out, as --sql 'select … where …' does: every row is somebody's."
        )
        raise DataError(person, Phrase("{rows} without a person", rows=so_many_rows(missing)), way)
    # One name is one person, whichever of Unicode's ways its accents were typed in.
    return pc.utf8_normalize(text, form="NFC").dictionary_encode()


def draw_rows(people: People, most: int, randomness: Randomness) -> Indices:
    """The places of at most so many rows of each person, every one of them as likely, in the order of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from kakuran.randomness import Randomness
    >>> from kakuran.schema import draw_rows
    >>> people = np.array([7, 8, 7, 7], np.uint64)
    >>> drawn = draw_rows(people, 1, Randomness.secure())
    >>> len(drawn), 1 in drawn
    (2, True)
    """
    order = randomness.permutation(len(people))
    together = order[np.argsort(people[order], kind="stable")]
    whose = people[together]
    first = np.flatnonzero(np.diff(whose, prepend=~whose[:1]))
    turn = np.arange(len(whose)) - np.repeat(first, np.diff(first, append=len(whose)))
    return np.sort(together[turn < most])


def check_same_for_a_person(people: People, columns: Mapping[str, Codes]) -> None:
    """Refuse kept columns that differ between rows of a person: which group they were in would be up to the draw."""
    _, first, whose = np.unique(people, return_index=True, return_inverse=True)
    for name, codes in columns.items():
        if differing := len(set(whose[codes != codes[first][whose]].tolist())):
            raise DataError(
                name,
                Phrase(
                    "is kept, but not the same in all rows of {people}",
                    people=so_many_people(differing),
                ),
                Phrase(
                    "What is kept says in which group a person hides: perturb the column, drop it, or make it "
                    "one value a person."
                ),
            )
