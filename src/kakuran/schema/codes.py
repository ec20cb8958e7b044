"""Between the columns of a table and their codes, with every value checked on the way in; and what columns are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kakuran.errors import DataError
from kakuran.parsing import is_writable
from kakuran.schema.attribute import Categorical, Numeric, Value, Weight
from kakuran.schema.dates import Date, day_of, orders_of
from kakuran.typing import Array, Codes, Reach
from kakuran.words import Phrase, so_many_rows

ValueFamily: TypeAlias = Literal["text", "true/false", "numbers", "dates", "nothing", "other"]


def family_of(kind: pa.DataType) -> ValueFamily:
    """What values of a type are."""
    if is_text(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "true/false"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "dates"
    return "nothing" if pa.types.is_null(kind) else "other"


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are text, however long it may be."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def check_columns_are_unique(names: Sequence[str]) -> None:
    """Refuse a table in which a column name stands twice, or is no text that can be written."""
    for name in names:
        if not is_writable(name):
            raise half_characters(name, name)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        remedy = Phrase(
            "Rename one of them; where a CSV file does not start with names, say them with --names (names=…)."
        )
        raise DataError(repeated[0], Phrase("the table has more than one column of this name"), remedy)


def half_characters(name: str, text: str) -> DataError:
    """What is wrong with a column whose text cannot be written."""
    return DataError(name, Phrase("holds text with half a character"), Phrase("Correct the text."), example=text)


LABELS, MISSING = b"kakuran.labels", b"kakuran.missing"
"""Where a column of arrow tells what numbers stand for, and which mean missing."""


def notes(labels: Mapping[float, str], missing: Iterable[tuple[float, float]] = ()) -> dict[bytes, bytes]:
    """What a column of arrow has beside it: what its numbers stand for, and from where to where they mean missing."""
    told = {LABELS: [*labels.items()], MISSING: [*missing]}
    return {key: json.dumps(one, ensure_ascii=False).encode() for key, one in told.items() if one}


def encode(
    attribute: Categorical | Numeric,
    column: pa.Array | pa.ChunkedArray,
    reach: int = 0,
    *,
    is_released: bool = False,
) -> Codes:
    """The codes of a column, or a `DataError` naming the column, how many rows and one value.

    Released values may lie up to `reach` codes beyond the bounds; the code of missing comes after them. Only in
    originals may codes stand for missing, and only there is clipped what lies beyond.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(attribute, Weight):
        return _encode_classes(attribute, column)
    if attribute.missing_codes and not is_released:
        column = _without_missing_codes(attribute, column)
    names = attribute.names_of(reach)
    if isinstance(attribute, Numeric) and (names is None or not _holds_text(column)):
        return _encode_numbers(attribute, column, reach, is_clipped=attribute.clip and not is_released)
    other = attribute.other if isinstance(attribute, Categorical) and not is_released else None
    return _encode_names(attribute, names or (), column, reach, other)


def _holds_text(column: pa.Array) -> bool:
    return is_text(column.type.value_type if pa.types.is_dictionary(column.type) else column.type)


def _without_missing_codes(attribute: Categorical | Numeric, column: pa.Array) -> pa.Array:
    """The column with nothing in place of what stands for missing."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        is_code = pc.is_in(pc.utf8_trim_whitespace(column), pa.array(map(str, attribute.missing_codes), column.type))
    elif family_of(column.type) == "numbers":
        numbers = [float(code) for code in attribute.missing_codes if isinstance(code, int | float)]
        is_code = pc.is_in(column.cast(pa.float64(), safe=False), pa.array(numbers, pa.float64()))
    elif family_of(column.type) == "dates":
        days = [day_of(str(code)) for code in attribute.missing_codes]
        is_code = pc.is_in(days_of(column), pa.array(days, pa.int32()))
    else:
        return column
    return pc.if_else(pc.fill_null(is_code, False), pa.scalar(None, column.type), column)


def no_reach(_: str) -> int:
    """Of columns that keep to their domains: how far they lie beyond."""
    return 0


def encode_columns(
    attributes: Iterable[Categorical | Numeric],
    table: pa.Table | pa.RecordBatch,
    reach: Reach = no_reach,
    *,
    is_released: bool = False,
) -> dict[str, Codes]:
    """The codes of some columns of a table, each of which may have a reach of its own."""
    return {
        one.name: encode(one, table.column(one.name), reach(one.name), is_released=is_released) for one in attributes
    }


def decode_columns(
    attributes: Iterable[Categorical | Numeric], codes: Mapping[str, Codes], reach: Reach = no_reach
) -> pa.RecordBatch:
    """The batch whose columns have these codes, each with a reach of its own."""
    return pa.record_batch({one.name: decode(one, codes[one.name], reach(one.name)) for one in attributes})


def decode(attribute: Categorical | Numeric, codes: NDArray[np.integer], reach: int = 0) -> pa.Array:
    """The column that has these codes, the inverse of `encode`."""
    is_missing = codes == attribute.size - 1 + reach if attribute.missing == "category" else None
    names = attribute.names_of(reach)
    if isinstance(attribute, Categorical) or names is not None:
        indices = pa.array((codes + reach).astype(narrowest_integer(len(names or ()))), mask=is_missing)
        return pa.DictionaryArray.from_arrays(indices, pa.array(names), ordered=is_ordered(attribute))
    if isinstance(attribute, Date):
        return pa.array(attribute.ends_of(codes)[0].astype(np.int32), mask=is_missing).cast(pa.date32())
    return pa.array(attribute.numbers_of(codes), mask=is_missing)


def is_ordered(attribute: Categorical | Numeric) -> bool:
    """Whether its values have an order."""
    return attribute.ordered if isinstance(attribute, Categorical) else True


def released_type(attribute: Categorical | Numeric, reach: int = 0) -> pa.DataType:
    """The arrow type `decode` gives."""
    return decode(attribute, np.empty(0, np.int32), reach).type


def released_field(attribute: Categorical | Numeric, reach: int = 0) -> pa.Field:
    """The arrow field of a released column, with what numbers stand for in files of SPSS and Stata, or mean missing."""
    coded = attribute.coded if isinstance(attribute, Categorical) else None
    labels = dict(zip(coded, map(str, attribute.values), strict=True)) if coded else {}  # type: ignore[union-attr]
    return pa.field(
        attribute.name, released_type(attribute, reach), metadata=notes(labels, _declarable(attribute, reach))
    )


_MOST_DECLARED = 3
"""Numbers that SPSS can declare missing in a column."""


def _declarable(attribute: Categorical | Numeric, reach: int) -> list[tuple[float, float]]:
    """Numbers that stood for missing in the data and that no released value can be, each as a range of its own."""
    codes = [float(code) for code in attribute.missing_codes if isinstance(code, int | float)]
    if isinstance(attribute, Categorical):
        codes = [code for code in codes if code not in (attribute.coded or ())]
    elif attribute.is_even:
        low, high = attribute.numbers_of(np.array([-reach, attribute.points - 1 + reach]))
        codes = [code for code in codes if not low <= code <= high]
    return [(code, code) for code in codes[:_MOST_DECLARED]]


def declared_type(attribute: Categorical | Numeric, *, is_released: bool = False) -> pa.DataType:
    """The arrow type an original or released column is read as where its source leaves that open."""
    if isinstance(attribute, Date) or (is_released and isinstance(attribute, Numeric) and not attribute.is_even):
        return pa.string()
    return pa.array(attribute.values).type if isinstance(attribute, Categorical) else pa.float64()


def narrowest_integer(largest: int) -> type[np.signedinteger[Any]]:
    """The narrowest integer type that holds numbers up to `largest`, and as many below zero."""
    return next(kind for kind in (np.int8, np.int16, np.int32) if largest <= np.iinfo(kind).max)


def _encode_names(
    attribute: Categorical | Numeric, names: Sequence[Value], column: pa.Array, reach: int, other: Value | None
) -> Codes:
    """Look values up; in a dictionary, the few entries once and then the many indices."""
    if not pa.types.is_dictionary(column.type):
        column, value_set = _comparable(attribute, names, column)
        found = pc.index_in(column, value_set=value_set)
        if other is not None:
            found = _with_other(attribute, found, column, names.index(other))
        return _with_missing(attribute, _known(attribute, found, column), reach)
    words, value_set = _comparable(attribute, names, column.dictionary)
    found = pc.index_in(words, value_set=value_set)
    codes = pc.take(found, column.indices)
    if other is not None:
        codes = _with_other(attribute, codes, pc.take(words, column.indices), names.index(other))
    if codes.null_count > column.indices.null_count:
        _known(attribute, codes, pc.take(words, column.indices))
    return _with_missing(attribute, codes, reach)


def _encode_classes(attribute: Weight, column: pa.Array) -> Codes:
    """The class that each number lies in; the end of the last one belongs to it."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if family_of(column.type) not in ("numbers", "nothing"):
        raise DataError(
            attribute.name,
            Phrase("is a weight, but holds {found}", found=in_words(family_of(column.type))),
            Phrase("Make it numbers, or drop it."),
        )
    numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    low, high = attribute.classes[0], attribute.classes[-1]
    is_outside = ~((numbers >= low) & (numbers <= high))
    if is_outside.any():
        problem = Phrase(
            "{rows} without a weight from {low:g} to {high:g}",
            rows=so_many_rows(int(is_outside.sum())),
            low=low,
            high=high,
        )
        way = Phrase("Correct the data, or declare classes that hold all weights.")
        raise DataError(attribute.name, problem, way, example=float(numbers[is_outside][0]))
    codes = np.searchsorted(attribute.classes, numbers, side="right") - 1
    return np.minimum(codes, attribute.size - 1).astype(np.int32)


def _with_other(attribute: Categorical | Numeric, found: pa.Array, column: pa.Array, place: int) -> pa.Array:
    """The codes found, and that of all others where a value is not listed, or is missing and that is no category."""
    is_other = pc.is_null(found)
    if attribute.missing == "category":
        is_other = pc.and_(is_other, pc.is_valid(column))
    return pc.if_else(is_other, pa.scalar(place, found.type), found)


def _known(attribute: Categorical | Numeric, found: pa.Array, column: pa.Array) -> pa.Array:
    """The codes found, unless a value that is there was not."""
    is_unknown = pc.and_(pc.is_null(found), pc.is_valid(column))
    if pc.any(is_unknown).as_py():
        raise _not_declared(attribute, column.filter(is_unknown))
    return found


def _not_declared(attribute: Categorical | Numeric, strangers: pa.Array) -> DataError:
    return DataError(
        attribute.name,
        Phrase(
            "{rows} not among the {count:,} declared values", rows=so_many_rows(len(strangers)), count=attribute.points
        ),
        Phrase("Add the value to the schema, or correct the data."),
        example=_plain(strangers[0].as_py()),
    )


def _plain(value: Any) -> Any:
    """A value as it was given: numbers of 64 bits are compared as decimals."""
    return int(value) if isinstance(value, Decimal) and value == int(value) else value


def _comparable(
    attribute: Categorical | Numeric, names: Sequence[Value], column: pa.Array
) -> tuple[pa.Array, pa.Array]:
    """The column and the declared values as one type; NaN, and empty text that is not declared, are missing."""
    value_set = pa.array(names)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if column.null_count == len(column):
        return pa.nulls(len(column), value_set.type), value_set
    if family_of(column.type) != family_of(value_set.type):
        raise DataError(
            attribute.name,
            Phrase(
                "the schema lists {listed} but the column holds {found}",
                listed=_told(value_set.type),
                found=_told(column.type),
            ),
            Phrase("Convert the column, or list its values in the schema as they are."),
        )
    if is_text(column.type):
        column = column.cast(pa.string())
        if "" not in names:
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    if family_of(column.type) == "numbers":
        shared = _shared_type(column.type, value_set.type)
        column, value_set = column.cast(shared, safe=False), value_set.cast(shared, safe=False)
        if len(value_set.unique()) < len(value_set):
            raise DataError(
                attribute.name,
                Phrase(
                    "the schema lists whole numbers so large that the column, whose type is for fractions, may "
                    "mix them up"
                ),
                Phrase("Give it a type for whole numbers, such as int64."),
            )
    return column, value_set


def _shared_type(given: pa.DataType, declared: pa.DataType) -> pa.DataType:
    """A type of numbers in which those of two types can be compared."""
    if not (pa.types.is_integer(given) and pa.types.is_integer(declared)):
        return pa.float64()
    return pa.decimal128(20) if pa.types.is_uint64(given) else pa.int64()


def _told(kind: pa.DataType) -> str:
    """What a column holds; arrow's name of it where there is no plainer word."""
    return in_words(family_of(kind), str(kind))


def in_words(family: ValueFamily, otherwise: str | None = None) -> str:
    """What such values are called; something else, or by itself, where there is no plainer word."""
    return _FAMILIES.get(family, otherwise or family)


_FAMILIES: Mapping[str, Phrase] = {
    "text": Phrase("text"),
    "true/false": Phrase("true/false"),
    "numbers": Phrase("numbers"),
    "dates": Phrase("dates"),
    "nothing": Phrase("nothing"),
}


def _with_missing(attribute: Categorical | Numeric, found: pa.Array, reach: int) -> Codes:
    """Codes of the places found among the names of a release; missing comes after them."""
    if found.null_count:
        _allow_missing(attribute, found.null_count)
        found = found.fill_null(attribute.size - 1 + 2 * reach)
    codes: Codes = found.to_numpy(zero_copy_only=False)
    return codes.astype(np.int32, copy=False) - np.int32(reach) if reach else codes.astype(np.int32, copy=False)


def _allow_missing(attribute: Categorical | Numeric, count: int) -> None:
    if attribute.missing != "category":
        raise DataError(
            attribute.name,
            Phrase("{rows} missing", rows=so_many_rows(count)),
            Phrase('Fill them in, or declare missing = "category" to make missing a value of its own.'),
        )


def _encode_numbers(attribute: Numeric, column: pa.Array, reach: int, *, is_clipped: bool) -> Codes:
    numbers = _plain_numbers(attribute, column)
    if is_clipped:
        numbers = np.clip(numbers, attribute.low, attribute.high)  # which leaves out what is missing
    codes = attribute.codes_of(numbers)
    is_inside = (codes >= -reach) & (codes < attribute.points + reach)
    if not is_inside.all():
        is_missing = np.isnan(numbers)
        is_outside = ~is_inside & ~is_missing
        if is_outside.any():
            low, high = attribute.written(attribute.low), attribute.written(attribute.high)
            outside = numbers[is_outside][0].item()
            raise DataError(
                attribute.name,
                Phrase("{rows} outside {low} … {high}", rows=so_many_rows(int(is_outside.sum())), low=low, high=high),
                Phrase(
                    "Correct the data, or widen the bounds in the schema (from public knowledge, not from the data); "
                    "missing_codes = [999] says that 999 means missing, clip = true puts what lies beyond on the "
                    "bounds."
                ),
                example=attribute.written(outside) if isinstance(attribute, Date) else outside,
            )
        _allow_missing(attribute, int(is_missing.sum()))
        codes[is_missing] = attribute.size - 1 + reach
    return codes.astype(np.int32)


def count_beyond(attribute: Numeric, column: pa.Array) -> int:
    """How many values of an original lie beyond the bounds, where `clip` puts them."""
    if attribute.missing_codes:
        column = _without_missing_codes(attribute, column)
    if not isinstance(attribute, Date) and _holds_text(column):
        return 0  # these are names of bands, all of which lie within
    numbers = _plain_numbers(attribute, column)
    return int(((numbers < attribute.low) | (numbers > attribute.high)).sum())


def _plain_numbers(attribute: Numeric, column: pa.Array) -> Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return _dates(attribute, column) if isinstance(attribute, Date) else _numbers(attribute, column)


def _numbers(attribute: Numeric, column: pa.Array) -> Array:
    if family_of(column.type) not in ("numbers", "nothing"):
        raise DataError(
            attribute.name,
            Phrase("the schema says numbers but the column holds {found}", found=_told(column.type)),
            Phrase("Convert the column to numbers, or declare it as a category."),
        )
    numbers: Array = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _dates(attribute: Date, column: pa.Array) -> Array:
    """Days since 1970-01-01, as floats; NaN where there is none."""
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string())  # as 20200403
    if is_text(column.type):
        column = _days_in_text(attribute, column)
    elif family_of(column.type) == "dates":
        column = days_of(column)
    elif family_of(column.type) != "nothing":
        raise DataError(
            attribute.name,
            Phrase("the schema says dates but the column holds {found}", found=_told(column.type)),
            Phrase("Convert the column to dates, or to text such as 2020-04-03."),
        )
    days: Array = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return days


def days_of(column: pa.Array) -> pa.Array:
    """The days of dates and of moments, where those were."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = pc.local_timestamp(column)
    return column.cast(pa.date32(), safe=False).cast(pa.int32())


def _days_in_text(attribute: Date, column: pa.Array) -> pa.Array:
    """Every word that stands there is read once."""
    encoded = column.cast(pa.string()).dictionary_encode()
    words = [word or "" for word in encoded.dictionary.to_pylist()]
    days = [day_of(word, attribute.order) for word in words]
    strange = [word for word, day in zip(words, days, strict=True) if day is None and word.strip()]
    if strange:
        orders = orders_of(strange)
        raise DataError(
            attribute.name,
            Phrase(
                "{texts} that is no date that can be read",
                texts=Phrase("1 different text")
                if len(strange) == 1
                else Phrase("{count:,} different texts", count=len(strange)),
            ),
            Phrase(
                "Say in the schema how it is meant: order = {orders}.", orders=" or order = ".join(map(repr, orders))
            )
            if orders and attribute.order is None
            else Phrase("Write dates as 2020-04-03."),
            example=strange[0],
        )
    return pc.take(pa.array(days, pa.int32()), encoded.indices)
