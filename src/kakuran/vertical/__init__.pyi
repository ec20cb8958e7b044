from .alignment import (
    read_ids as read_ids,
)
from .earlier import (
    user_memory as user_memory,
)
from .fit import (
    CRITERIA as CRITERIA,
    VerticalFit as VerticalFit,
    all_columns as all_columns,
)
from .meeting import (
    Meeting as Meeting,
    meet as meet,
    recognise as recognise,
)
from .own import (
    OwnColumns as OwnColumns,
    read_own as read_own,
)
from .party import (
    Party as Party,
    agree as agree,
    fit_vertically as fit_vertically,
)
from .plan import (
    Limits as Limits,
    Terms as Terms,
    VerticalPlan as VerticalPlan,
)
from .prediction import (
    Predictions as Predictions,
    predict_together as predict_together,
)
from .regression import (
    Moments as Moments,
    Rules as Rules,
    select as select,
)
from .transport import (
    certificate_in as certificate_in,
    make_key as make_key,
    own_key as own_key,
)
