from .comparison import (
    Advice as Advice,
    advise as advise,
)
from .methods import (
    Errors as Errors,
    Outlook as Outlook,
)
