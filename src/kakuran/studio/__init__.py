"""The studio: a steward's work, from file to release, and an analyst's, on a page of the own machine."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
