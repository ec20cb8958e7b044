from .attribute import (
    ONE_VALUE as ONE_VALUE,
    Attribute as Attribute,
    Categorical as Categorical,
    Dropped as Dropped,
    Numeric as Numeric,
    Value as Value,
    Weight as Weight,
    attribute_of as attribute_of,
)
from .codes import (
    check_columns_are_unique as check_columns_are_unique,
    declared_type as declared_type,
    decode as decode,
    decode_columns as decode_columns,
    encode as encode,
    encode_columns as encode_columns,
    is_ordered as is_ordered,
    narrowest_integer as narrowest_integer,
    no_reach as no_reach,
    released_field as released_field,
    released_type as released_type,
)
from .dates import (
    Date as Date,
)
from .frames import (
    check_there as check_there,
    columns_of as columns_of,
    distinct_of as distinct_of,
    framed as framed,
    is_numeric as is_numeric,
    like as like,
    numbers_of as numbers_of,
    to_arrow as to_arrow,
    told_by_values as told_by_values,
)
from .people import (
    People as People,
    Pseudonyms as Pseudonyms,
    check_same_for_a_person as check_same_for_a_person,
    draw_rows as draw_rows,
)
from .private import (
    DOMAIN_DELTA as DOMAIN_DELTA,
    CountNoise as CountNoise,
    counted_columns as counted_columns,
)
from .schema import (
    Layout as Layout,
    Schema as Schema,
    clipped_of as clipped_of,
    confirm_file as confirm_file,
    problems_of as problems_of,
    read_all as read_all,
    read_parts as read_parts,
    read_table as read_table,
)
from .sources.arrow import (
    ParquetSource as ParquetSource,
)
from .sources.base import (
    ABOUT as ABOUT,
    CSV as CSV,
    DELIMITED as DELIMITED,
    DUCKDB as DUCKDB,
    PARQUET as PARQUET,
    UNREADABLE as UNREADABLE,
    Part as Part,
    Source as Source,
    in_order as in_order,
    reading as reading,
)
from .sources.delimited import (
    CsvFormat as CsvFormat,
    CsvSource as CsvSource,
    UnevenRowsError as UnevenRowsError,
    found_format as found_format,
    most_frequent as most_frequent,
    one_character as one_character,
    open_text as open_text,
)
from .sources.opening import (
    FORMATS as FORMATS,
    WRITERS as WRITERS,
    open_source as open_source,
    writer_for as writer_for,
)
from .tree import (
    Tree as Tree,
)
from .written_numbers import (
    say_how as say_how,
    way_to_read as way_to_read,
)
