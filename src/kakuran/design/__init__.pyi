from .calibration import (
    CountsItself as CountsItself,
    calibrate as calibrate,
    count_columns as count_columns,
    mechanisms_within as mechanisms_within,
    smallest_group as smallest_group,
)
from .crowd import (
    Crowd as Crowd,
)
from .plan import (
    MOST_PEOPLE as MOST_PEOPLE,
    Calibration as Calibration,
    Plan as Plan,
    Tell as Tell,
)
from .preview import (
    TableError as TableError,
    preview as preview,
)
from .tells import (
    TellChoice as TellChoice,
)
