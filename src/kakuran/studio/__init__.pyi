from .desk import (
    Desk as Desk,
)
from .server import (
    Studio as Studio,
    running as running,
)
