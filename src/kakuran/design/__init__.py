"""From the promise to the noise, and what the noise will cost."""

from kakuran.design.budget import calibrate, crowd_of, mechanisms_within
from kakuran.design.crowd import Crowd, SparseCrowd
from kakuran.design.plan import MOST_PEOPLE, Calibration, Plan
from kakuran.design.preview import TableError, preview

__all__ = [
    "MOST_PEOPLE",
    "Calibration",
    "Crowd",
    "Plan",
    "SparseCrowd",
    "TableError",
    "calibrate",
    "crowd_of",
    "mechanisms_within",
    "preview",
]
