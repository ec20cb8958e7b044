from .client import (
    SurveyClient as SurveyClient,
)
from .databases import (
    back_up as back_up,
    open_store as open_store,
    restore as restore,
)
from .limits import (
    RequestLimits as RequestLimits,
)
from .messages import (
    new_secret as new_secret,
)
from .questions import (
    Question as Question,
    Several as Several,
)
from .records import (
    export_survey as export_survey,
    hidden_among as hidden_among,
    other_versions as other_versions,
    spent_by as spent_by,
    standing as standing,
    status_of as status_of,
)
from .routes import (
    load_token as load_token,
)
from .server import (
    create_app as create_app,
)
from .serving import (
    Serving as Serving,
)
from .site import (
    POLICY as POLICY,
    fingerprints as fingerprints,
    served as served,
)
from .store import (
    Store as Store,
    invite as invite,
)
from .survey import (
    Survey as Survey,
)
