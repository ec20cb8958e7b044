from .local import (
    check_values as check_values,
    count_tables as count_tables,
    read_codes as read_codes,
)
from .spark import (
    Files as Files,
    Originals as Originals,
    SparkRecords as SparkRecords,
    read_originals as read_originals,
    start_session as start_session,
)
