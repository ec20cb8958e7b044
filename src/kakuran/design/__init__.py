"""From the promise to the noise, and what the noise will cost."""

from kakuran.design.budget import CountsItself, calibrate, count_columns, mechanisms_within, smallest_group
from kakuran.design.crowd import Crowd
from kakuran.design.plan import MOST_PEOPLE, Calibration, Plan
from kakuran.design.preview import TableError, preview

__all__ = [
    "MOST_PEOPLE",
    "Calibration",
    "CountsItself",
    "Crowd",
    "Plan",
    "TableError",
    "calibrate",
    "count_columns",
    "mechanisms_within",
    "preview",
    "smallest_group",
]
