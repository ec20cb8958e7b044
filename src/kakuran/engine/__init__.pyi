from .local import (
    check_values as check_values,
)
from .local import (
    count_tables as count_tables,
)
from .local import (
    perturb_batches as perturb_batches,
)
from .local import (
    read_codes as read_codes,
)
from .spark import (
    Files as Files,
)
from .spark import (
    Originals as Originals,
)
from .spark import (
    SparkRecords as SparkRecords,
)
from .spark import (
    read_originals as read_originals,
)
from .spark import (
    start_session as start_session,
)
