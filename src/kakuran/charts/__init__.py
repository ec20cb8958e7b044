"""All that is drawn: one kind of figure, one set of colours, one function a kind of chart."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
