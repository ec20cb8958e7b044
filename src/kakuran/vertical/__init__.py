"""One regression over columns that several companies hold and none shows the others (S2).

plan + keys → meet → greet → align → guard → gram | residual → fit → report, predict
"""

from kakuran.vertical.fit import VerticalFit
from kakuran.vertical.meeting import Meeting, meet
from kakuran.vertical.party import Party
from kakuran.vertical.plan import Limits, Terms, VerticalPlan
from kakuran.vertical.prediction import Predictions, predict_together
from kakuran.vertical.together import fit_vertically

__all__ = [
    "Limits",
    "Meeting",
    "Party",
    "Predictions",
    "Terms",
    "VerticalFit",
    "VerticalPlan",
    "fit_vertically",
    "meet",
    "predict_together",
]
