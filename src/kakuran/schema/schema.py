"""The columns of a table: what each may hold and what is done with it; sources and releases read as they say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kakuran.errors import DataError, SchemaError, is_real
from kakuran.parsing import YES_OR_NO, check_table, naming, parse_document, read_document, tables_of, toml_of
from kakuran.schema.attribute import Attribute, Categorical, Dropped, Numeric, Weight, attribute_of, describe
from kakuran.schema.codes import (
    check_columns_are_unique,
    count_beyond,
    declared_type,
    decode,
    encode,
    encode_columns,
    released_field,
)
from kakuran.schema.frames import to_arrow
from kakuran.schema.infer import draft_of
from kakuran.schema.people import written_people
from kakuran.schema.private import DOMAIN_DELTA, private_draft
from kakuran.schema.sources.base import Part, Source
from kakuran.schema.sources.delimited import UNSPLIT, look_unsplit
from kakuran.typing import Codes
from kakuran.words import Phrase, so_many_rows, which_there_are
from kakuran.writing import write_text


@dataclass(frozen=True)
class Schema:
    """An ordered list of attributes with distinct names, and what a release of them is to be good for.

    Attributes
    ----------
    attributes : Sequence[Attribute]
        The columns.
    tell, about, purpose, certainty : optional
        What `kakuran.calibrate` is to take where nobody tells it otherwise.
    person : str, optional
        The column that says whose a row is, where people, or households, have several. The promise is then about them
        and not about rows. It is never released.
    rows_a_person : int
        How many rows of each person are used, at most; drawn at random where there are more.
    drafted : Sequence[str]
        The columns whose values or bounds were read off the data and that nobody has confirmed yet; nothing is
        calibrated before that.
    private : tuple[float, float], optional
        ε and δ of domains that were found privately; a release that uses them says so.
    remarks : Mapping[str, str]
        Why a draft has a column as it has it; comments of its file.

    Examples
    --------
    >>> import kakuran as kk
    >>> schema = kk.Schema([kk.Categorical("job", ["clerk", "nurse"]), kk.Numeric("age", 0, 120, step=1)])
    >>> schema.names
    ('job', 'age')
    >>> schema["age"].high
    120
    """

    attributes: Sequence[Attribute]
    tell: str | int | Sequence[Sequence[str]] | None = None
    about: str | None = None
    purpose: str | None = None
    certainty: float | None = None
    person: str | None = None
    rows_a_person: int = 1
    drafted: Sequence[str] = ()
    private: Sequence[float] | None = None
    remarks: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.attributes, Attribute):
            raise SchemaError(
                Phrase(
                    "a schema is a list of Categorical, Numeric, Date or Dropped, got {attributes!r} alone",
                    attributes=self.attributes,
                )
            )
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not self.attributes:
            raise SchemaError(Phrase("a schema needs at least one column"))
        declared: set[str] = set()
        for position, attribute in enumerate(self.attributes):
            if not isinstance(attribute, Categorical | Numeric | Dropped):
                raise SchemaError(
                    Phrase(
                        "a schema is a list of Categorical, Numeric, Date or Dropped, got {attribute!r} at "
                        "place {place}",
                        attribute=attribute,
                        place=position + 1,
                    )
                )
            if attribute.name in declared:
                raise SchemaError(Phrase("column {name!r} is declared twice", name=attribute.name))
            declared.add(attribute.name)
        weights = [attribute.name for attribute in self.attributes if isinstance(attribute, Weight)]
        if len(weights) > 1:
            raise SchemaError(
                Phrase(
                    "a record has one weight, and {listed} are declared; drop one",
                    listed=" and ".join(map(repr, weights)),
                )
            )
        self._check_person()
        self._check_private()
        drafted = tuple(one.name for one in self.released if one.name in self.drafted)
        object.__setattr__(self, "drafted", drafted)

    def _check_person(self) -> None:
        """A person column is dropped, whether somebody declares it or not."""
        if type(self.rows_a_person) is not int or self.rows_a_person < 1:
            raise SchemaError(
                Phrase(
                    "rows_a_person must be a whole number from 1 on, got {rows_a_person!r}",
                    rows_a_person=self.rows_a_person,
                )
            )
        if self.person is None:
            if self.rows_a_person > 1:
                raise SchemaError(Phrase("rows_a_person needs person, the column that says whose a row is"))
            return
        if self.person not in self.names:
            object.__setattr__(self, "attributes", (*self.attributes, Dropped(self.person)))
        elif not isinstance(self[self.person], Dropped):
            raise SchemaError(
                Phrase(
                    "column {person!r} says whose a row is and is never released: declare it with role = "
                    '"drop", or not at all',
                    person=self.person,
                )
            )

    def _check_private(self) -> None:
        if self.private is None:
            return
        is_pair = isinstance(self.private, list | tuple) and len(self.private) == 2 and all(map(is_real, self.private))
        if not is_pair or not 0 < self.private[0] < math.inf or not 0 < self.private[1] < 1:
            raise SchemaError(Phrase("private must be [ε, δ], as [0.1, 1e-7]; got {private!r}", private=self.private))
        object.__setattr__(self, "private", tuple(map(float, self.private)))

    @property
    def names(self) -> tuple[str, ...]:
        """All declared columns, dropped ones too."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def released(self) -> tuple[Categorical | Numeric, ...]:
        """The attributes a release holds: perturbed and kept ones."""
        return tuple(attribute for attribute in self.attributes if not isinstance(attribute, Dropped))

    @property
    def perturbed(self) -> tuple[Categorical | Numeric, ...]:
        """The attributes that are perturbed."""
        return tuple(attribute for attribute in self.released if attribute.role == "perturb")

    @property
    def kept(self) -> tuple[Categorical | Numeric, ...]:
        """The attributes released as they are, because they are public anyway."""
        return tuple(attribute for attribute in self.released if attribute.role == "keep")

    @property
    def weight(self) -> Weight | None:
        """The column that says how many people each record stands for, if there is one."""
        return next((attribute for attribute in self.released if isinstance(attribute, Weight)), None)

    def some(self, names: Collection[str]) -> tuple[Categorical | Numeric, ...]:
        """The released attributes among those named, in the order of the table."""
        wanted = set(names)
        return tuple(attribute for attribute in self.released if attribute.name in wanted)

    def without(self, names: Collection[str]) -> Schema:
        """The same with some columns dropped."""
        return replace(self, attributes=[Dropped(one.name) if one.name in names else one for one in self.attributes])

    def confirmed(self) -> Schema:
        """The same, where the steward says that all drafted values and bounds are public knowledge."""
        return replace(self, drafted=())

    def check_confirmed(self) -> None:
        """Raise a `SchemaError` where somebody has still to say that drafted values and bounds are public."""
        if self.drafted:
            raise SchemaError(
                Phrase(
                    "values and bounds of {columns} were read off the data and would be published. Check each; where "
                    "they are public knowledge, take `drafted = true` out of the schema (`kakuran schema confirm` "
                    "takes out all; in Python go on with schema.confirmed())",
                    columns=", ".join(map(repr, self.drafted)),
                )
            )

    def __getitem__(self, name: str) -> Any:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise SchemaError(
            Phrase("no column {name!r} in the schema. {others}", name=name, others=which_there_are(name, self.names))
        )

    def in_release(self, name: str) -> Categorical | Numeric:
        """The attribute of a column that a release holds; a `SchemaError` that lists those where it holds none."""
        names = [attribute.name for attribute in self.released]
        if name in names:
            return self.released[names.index(name)]
        if name in self.names:
            listed = ", ".join(map(repr, names))
            raise SchemaError(
                Phrase(
                    "column {name!r} was dropped: the release does not hold it. There are {listed}.",
                    name=name,
                    listed=listed,
                )
            )
        raise SchemaError(
            Phrase("no column {name!r} in the release. {others}", name=name, others=which_there_are(name, names))
        )

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def encode(self, table: Any) -> dict[str, Codes]:
        """The codes of every released column of a frame; a `DataError` for anything out of its domain."""
        table = table if isinstance(table, pa.RecordBatch) else to_arrow(table)
        check_columns_are_unique(table.schema.names)
        self.check_columns(table.schema.names)
        return encode_columns(self.released, table)

    def validate(self, table: Any) -> None:
        """Raise a `DataError` unless every value of the frame lies in its declared domain."""
        self.encode(table)
        if self.person is not None:
            written_people(table if isinstance(table, pa.RecordBatch) else to_arrow(table), self.person)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise a `DataError` unless the table and the schema speak of the same columns."""
        given, declared = set(names), set(self.names)
        if self.released and not any(attribute.name in given for attribute in self.released):
            raise DataError(
                self.released[0].name,
                Phrase("declared in the schema, but none of its columns is in the table"),
                UNSPLIT if look_unsplit(names) else Phrase("Does the file start with the names of its columns?"),
            )
        absent = [attribute.name for attribute in self.released if attribute.name not in given]
        if absent:
            raise DataError(
                absent[0],
                Phrase("declared in the schema but not in the table{others}", others=_and_so_are(absent[1:])),
                which_there_are(absent[0], names),
            )
        if self.person is not None and self.person not in given:
            problem = Phrase("is to say whose each row is, but is not in the table")
            raise DataError(self.person, problem, which_there_are(self.person, names))
        strange = [name for name in names if name not in declared]
        if strange:
            raise DataError(
                strange[0],
                Phrase("in the table but not in the schema{others}", others=_and_so_are(strange[1:])),
                Phrase('Declare it, with role = "drop" if it is not to be released.'),
            )

    @classmethod
    def infer(
        cls,
        source: Any,
        *,
        epsilon: float | None = None,
        delta: float = DOMAIN_DELTA,
        person: str | None = None,
        progress: Callable[[int], object] = int,
    ) -> Schema:
        """Propose a schema for a frame, a file or any other source (`kakuran.open_source`).

        Without `epsilon` the domains are read off the data, with a loud warning: publishing them tells something about
        who is in it. Edit them until they say what everybody knows anyway, and say so with `confirmed`.

        With `epsilon` the domains are found privately and can be published as they are: they list what enough people
        share, and all other values become "other" or the nearest bound. What is found is
        (ε, δ)-differentially private for replacing one person, all columns together. Names of columns and the number of
        people are taken as public, and so are types where they are declared: not in CSV files, sheets, names of folders
        and columns of objects.

        Parameters
        ----------
        source : Any
            The frame, the file, or what else `kakuran.open_source` opens.
        epsilon : float | None
            ε, as 0.1; spent once more every time.
        delta : float
            δ.
        person : str | None
            With `epsilon`: the column that says whose a row is. One row of each person is then used, drawn at random;
            without it each row counts as a person.
        progress : Callable[[int], object]
            Called with the number of records read.

        Examples
        --------
        >>> import kakuran as kk
        >>> import pandas as pd
        >>> people = pd.DataFrame({"job": ["nurse"] * 3_000 + ["clerk"] * 2_000 + ["astronaut"]})
        >>> kk.Schema.infer(people, epsilon=0.5)["job"].values
        ('clerk', 'nurse', 'other')
        """
        if epsilon is not None:
            return cls(**private_draft(source, epsilon, delta, person, progress))
        if person is not None:
            raise SchemaError(Phrase("person goes with epsilon; without it, name the person in the draft"))
        return cls(**vars(draft_of(source, progress)))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file."""
        with naming(Path(path)):
            way = Phrase("make one with `kakuran schema infer`")
            return cls._of(read_document(Path(path), Phrase("schema file"), way))

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """The inverse of `to_toml`."""
        return cls._of(parse_document(text))

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Schema:
        columns = document.get("columns")
        if not isinstance(columns, dict) or set(document) - {"columns", *_WISHES}:
            found = ", ".join(document) or Phrase("nothing")
            raise SchemaError(
                Phrase(
                    "expected tables named [columns.NAME], {listed} and nothing else, got {found}",
                    listed=", ".join(_WISHES),
                    found=found,
                )
            )
        plain = {name: dict(check_table(Phrase("column {name!r}", name=name), one)) for name, one in columns.items()}
        drafted = [name for name, settings in plain.items() if _is_drafted(name, settings)]
        wishes = {name: document[name] for name in _WISHES if name in document}
        return cls.from_dict(plain, **wishes, drafted=drafted)

    def save(self, path: str | Path) -> None:
        """Write the schema as a TOML file a person can edit."""
        write_text(Path(path), self.to_toml())

    def to_toml(self) -> str:
        """What `save` writes."""
        tables, comments = {}, {}
        for name, settings in self.to_dict().items():
            heading = f"columns.{toml_of(name)}"
            tables[heading] = settings | ({"drafted": True} if name in self.drafted else {})
            if name in self.remarks:
                beside = next(one for one in ("ordered", "values", *settings) if one in settings)
                comments[heading, beside] = self.remarks[name]
        text = tables_of(tables, comments)
        wished = {name: getattr(self, name) for name in _WISHES if getattr(self, name) != getattr(Schema, name)}
        wishes = [
            f"{name} = {toml_of(list(value) if isinstance(value, tuple) else value)}\n"
            for name, value in wished.items()
        ]
        return f"{_HEADER}{''.join(wishes)}\n{text}"

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The schema as plain values, column by column; leaves out what is at its default, and what is drafted."""
        return {attribute.name: describe(attribute) for attribute in self.attributes}

    @classmethod
    def from_dict(cls, columns: Mapping[str, Mapping[str, Any]], **wishes: Any) -> Schema:
        """The inverse of `to_dict`; what is not said of a column, such as `tell` and `person`, is given by name."""
        return cls([attribute_of(name, fields) for name, fields in columns.items()], **wishes)


def _is_drafted(name: str, settings: dict[str, Any]) -> bool:
    """Whether the mark of a draft is among the settings, out of which it is taken."""
    drafted = settings.pop("drafted", False)
    if not YES_OR_NO.fits(drafted):
        raise SchemaError(
            Phrase("column {name!r}: drafted must be true or false, got {drafted!r}", name=name, drafted=drafted)
        )
    return bool(drafted)


def confirm_file(path: Path) -> Schema:
    """Take the marks of a draft out of a schema's file, leave all else in it as it is, and say what was marked."""
    schema = Schema.load(path)
    confirmed = _MARK.sub("", path.read_text(encoding="utf-8"))
    if Schema.from_toml(confirmed) != schema.confirmed():
        raise SchemaError(Phrase("{path}: a mark `drafted = true` shares its line; take it out by hand", path=path))
    write_text(path, confirmed)
    return schema


def _and_so_are(names: Sequence[str]) -> str:
    listed = ", ".join(map(repr, names))
    if len(names) == 1:
        return Phrase(", and so is {listed}", listed=listed)
    return Phrase(", and so are {listed}", listed=listed) if names else ""


_WISHES = ("tell", "about", "purpose", "certainty", "person", "rows_a_person", "private")
_MARK = re.compile(r"^[ \t]*drafted[ \t]*=[ \t]*true[ \t]*(#.*)?\n?", re.MULTILINE)
_HEADER = """\
# What each column may hold and what is done with it.
#   role     "perturb" (default), "keep" (public anyway, released as it is), "drop" (never released),
#            "weight" (how many people a record stands for: classes = [0, 100, 500] are released, and weigh estimates;
#            values = [70, 240] says what stands for each, total = 1_000_000 how many people all stand for, if public)
#   missing  "error" (default) or "category" (missing is a value of its own); missing_codes = [999] stand for missing
#   bands    of a number: [0, 18, 65, 120] tells 0–17, 18–64 or 65–120; clip = true puts what lies beyond on the bounds
#   ordered  of categories: true where their order means something
#   step     of a date: "day", "week", "month", "quarter" or "year"; order = "d/m/y" or "m/d/y" says what 3/4/2020 is
#   other    of categories: the value that stands for all that is not listed
#   drafted  true where values or bounds were read off the data: nothing is calibrated before these lines are gone
# Bounds and values should be public knowledge, not read off the data.
# private = [ε, δ] above all columns says that domains were found privately: these may be published as they are.
# Where people have several rows, person = "COLUMN" above all columns names the one that says whose a row is.
"""


def read_parts(
    source: Source, schema: Schema, columns: Sequence[str] | None = None, *, is_released: bool = False
) -> Iterator[Part]:
    """The columns of originals and whose each row is, or of a release, or some, part by part; others are not read."""
    names = source.names
    check_columns_are_unique(names)
    schema.check_columns(names)
    return source.parts(_wanted(schema, columns, is_released=is_released))


def _wanted(
    schema: Schema, columns: Sequence[str] | None = None, *, is_released: bool = False
) -> dict[str, pa.DataType]:
    some = schema.released if columns is None else schema.some(columns)
    people = [schema.person] if schema.person is not None and (columns is None or schema.person in columns) else []
    return {one.name: declared_type(one, is_released=is_released) for one in some} | dict.fromkeys(people, pa.string())


def problems_of(source: Source, schema: Schema) -> Iterator[DataError]:
    """The first thing wrong with each column; they are read one by one, so that none hides another."""
    schema.check_columns(source.names)
    for attribute in schema.released:
        try:
            for part in read_parts(source, schema, [attribute.name]):
                part.through(partial(encode_columns, [attribute]))
        except DataError as problem:
            yield problem
    if schema.person is not None:
        try:
            for part in read_parts(source, schema, [schema.person]):
                part.through(partial(written_people, person=schema.person))
        except DataError as problem:
            yield problem


def clipped_of(source: Source, schema: Schema) -> list[Phrase]:
    """How many values of each column `clip` puts on the bounds, in words; for the steward, as it tells of originals."""
    clipped = {one.name: one for one in schema.released if isinstance(one, Numeric) and one.clip}
    beyond = dict.fromkeys(clipped, 0)
    for part in read_parts(source, schema, [*clipped]) if clipped else ():
        for name, attribute in clipped.items():
            beyond[name] += count_beyond(attribute, part.records.column(name))
    return [
        Phrase(
            "column {name!r}: {rows} beyond {low} … {high} are put on these bounds (clip); how many is for your eyes "
            "alone",
            name=name,
            rows=so_many_rows(count),
            low=clipped[name].written(clipped[name].low),
            high=clipped[name].written(clipped[name].high),
        )
        for name, count in beyond.items()
        if count
    ]


def read_table(source: Source, schema: Schema) -> pa.Table:
    """The released columns of a source, and whose each row is, all in memory."""
    return _together(read_parts(source, schema), _wanted(schema))


def read_all(source: Source, texts: Sequence[str] = ()) -> pa.Table:
    """All columns of a source, all in memory: as they are, but for those that are to be read as text, such as 007."""
    names = source.names
    check_columns_are_unique(names)
    table = _together(source.parts(), dict.fromkeys(names, pa.null()))
    for place, name in enumerate(names):
        if name in texts:
            column = _together(source.parts({name: pa.string()}), {name: pa.string()}).column(name)
            table = table.set_column(place, name, _plain(column))
    return table


def _together(parts: Iterator[Part], types: Mapping[str, pa.DataType]) -> pa.Table:
    """One table of all parts; the types tell what it looks like if there are none."""
    tables = [pa.Table.from_batches([part.records]) for part in parts]
    if not tables:
        return pa.schema(types.items()).empty_table()
    return pa.concat_tables(tables, promote_options="permissive")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


@dataclass(frozen=True)
class Layout:
    """The columns of a release and what their codes may be.

    Where records tell only some of their columns, the first column says which, and those that a record does not tell
    are empty. Their code is one below all that may be released.

    Attributes
    ----------
    schema : Schema
        The columns as they are released.
    reaches : Mapping[str, int]
        How many codes beyond its domain a released value of each column may lie; none where a column is not named.
    told : tuple[frozenset[str], ...]
        The columns of every tell, in the order of the values of the first column; nothing where all tell everything.
    is_released : bool
        Whether records were released; originals may have codes for missing, and what is clipped.
    """

    schema: Schema
    reaches: Mapping[str, int] = field(default_factory=dict)
    told: tuple[frozenset[str], ...] = ()
    is_released: bool = True

    @property
    def attributes(self) -> tuple[Categorical | Numeric, ...]:
        """Of all columns."""
        return self.schema.released

    @property
    def telling(self) -> tuple[str, ...]:
        """The column that says what a record tells, if there is one."""
        return (self.attributes[0].name,) if self.told else ()

    def reach(self, column: str) -> int:
        """How many codes beyond its domain a released value of a column may lie."""
        return self.reaches.get(column, 0)

    def untold(self, column: str) -> int:
        """The code of a column that a record does not tell."""
        return -1 - self.reach(column)

    def settled(self, column: str, codes: Codes) -> Codes:
        """Released codes as original ones: numbers beyond the bounds at the bounds, missing where originals have it."""
        attribute, reach = self.schema[column], self.reach(column)
        if not reach:
            return codes
        numbers = np.clip(codes, 0, attribute.points - 1)
        if attribute.missing == "error":
            return numbers
        return np.where(codes == attribute.points + reach, np.int32(attribute.points), numbers)

    @cached_property
    def arrow(self) -> pa.Schema:
        """The arrow schema."""
        return pa.schema([released_field(one, self.reach(one.name)) for one in self.attributes])

    def decode(self, codes: Mapping[str, Codes]) -> pa.RecordBatch:
        """The batch that has these codes."""
        return pa.record_batch({one.name: self._decoded(one, codes[one.name]) for one in self.attributes})

    def _decoded(self, attribute: Categorical | Numeric, codes: Codes) -> pa.Array:
        if not self.told or attribute.role == "keep":
            return decode(attribute, codes, self.reach(attribute.name))
        is_told = codes != self.untold(attribute.name)
        values = decode(attribute, codes[is_told], self.reach(attribute.name))
        places = np.cumsum(is_told, dtype=np.int64) - 1
        return values.take(pa.array(places, mask=~is_told))

    def encode(self, table: pa.Table | pa.RecordBatch, columns: Collection[str]) -> dict[str, Codes]:
        """The codes of some columns of a release, or a `DataError` where it is not as the layout says."""
        attributes = self.schema.some(columns)
        if not self.told:
            return encode_columns(attributes, table, self.reach, is_released=self.is_released)
        (telling,) = encode_columns(self.attributes[:1], table, is_released=True).values()
        return {
            one.name: encode(one, table.column(one.name), is_released=True)
            if one.role == "keep"
            else self._encode_told(one, table.column(one.name), telling)
            for one in attributes
        }

    def _encode_told(
        self, attribute: Categorical | Numeric, column: pa.Array | pa.ChunkedArray, telling: Codes
    ) -> Codes:
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        is_told: NDArray[np.bool_] = np.array([attribute.name in columns for columns in self.told])[telling]
        unasked = len(column) - column.filter(pa.array(~is_told)).null_count - int(is_told.sum())
        if unasked:
            raise DataError(
                attribute.name,
                Phrase(
                    "{rows} with a value that {telling!r} says is not told",
                    rows=so_many_rows(unasked),
                    telling=self.telling[0],
                ),
                Phrase("Read the release as it was written."),
            )
        codes = np.full(len(column), self.untold(attribute.name), np.int32)
        told = column.filter(pa.array(is_told))
        codes[is_told] = encode(attribute, told, self.reach(attribute.name), is_released=True)
        return codes
