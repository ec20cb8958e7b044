from .findings import (
    overview as overview,
)
