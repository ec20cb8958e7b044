"""Square waves with outputs beyond the ends of bands and ordered categories, which have too few values for them."""

from contextlib import contextmanager

import pytest


@contextmanager
def for_few_values():
    """Calibrate few values as if they were many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kakuran.mechanism.square_wave.INTERVALS", 0)
        yield
