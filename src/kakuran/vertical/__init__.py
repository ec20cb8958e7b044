"""One regression over columns that several companies hold and none shows the others (S2).

plan + keys → meet → greet → align → guard → gram | residual → fit → report, predict
"""

from kakuran.vertical.alignment import read_ids
from kakuran.vertical.fit import CRITERIA, VerticalFit, all_columns
from kakuran.vertical.meeting import Meeting, meet
from kakuran.vertical.own import OwnColumns, read_own
from kakuran.vertical.party import Party, agree, fit_vertically
from kakuran.vertical.plan import Limits, Terms, VerticalPlan
from kakuran.vertical.prediction import Predictions, predict_together
from kakuran.vertical.regression import Moments, Rules, select
from kakuran.vertical.transport import certificate_in, make_key, own_key

__all__ = [
    "CRITERIA",
    "Limits",
    "Meeting",
    "Moments",
    "OwnColumns",
    "Party",
    "Predictions",
    "Rules",
    "Terms",
    "VerticalFit",
    "VerticalPlan",
    "agree",
    "all_columns",
    "certificate_in",
    "fit_vertically",
    "make_key",
    "meet",
    "own_key",
    "predict_together",
    "read_ids",
    "read_own",
    "select",
]
