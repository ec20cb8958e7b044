from .client import (
    SurveyClient as SurveyClient,
)
from .databases import (
    back_up as back_up,
)
from .databases import (
    open_store as open_store,
)
from .databases import (
    restore as restore,
)
from .limits import (
    RequestLimits as RequestLimits,
)
from .messages import (
    new_secret as new_secret,
)
from .messages import (
    secret_hash as secret_hash,
)
from .records import (
    export_survey as export_survey,
)
from .records import (
    hidden_among as hidden_among,
)
from .records import (
    standing as standing,
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
    fingerprints as fingerprints,
)
from .store import (
    Store as Store,
)
from .survey import (
    Question as Question,
)
from .survey import (
    Survey as Survey,
)
