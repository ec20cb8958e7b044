"""The collector: answers perturbed in the respondent's browser, statistics at the server (S4's model)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
