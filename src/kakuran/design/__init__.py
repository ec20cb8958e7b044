"""From the promise to the noise, and what the noise will cost."""

from kakuran.design.budget import calibrate, count_everybody, mechanisms_within
from kakuran.design.crowd import Crowd
from kakuran.design.plan import MOST_PEOPLE, Calibration, Plan
from kakuran.design.preview import TableError, preview

__all__ = [
    "MOST_PEOPLE",
    "Calibration",
    "Crowd",
    "Plan",
    "TableError",
    "calibrate",
    "count_everybody",
    "mechanisms_within",
    "preview",
]
