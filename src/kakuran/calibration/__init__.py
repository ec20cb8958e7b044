"""From the promise to the noise, and what the noise will cost."""

from kakuran.calibration.budget import calibrate, crowd_of, mechanisms_within
from kakuran.calibration.crowd import Crowd
from kakuran.calibration.plan import Plan
from kakuran.calibration.preview import TableError, preview

__all__ = ["Crowd", "Plan", "TableError", "calibrate", "crowd_of", "mechanisms_within", "preview"]
