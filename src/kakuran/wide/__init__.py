"""Wide tables of people × items: factorised, perturbed or aggregated, and multiplied out again."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
