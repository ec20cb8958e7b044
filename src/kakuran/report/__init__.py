"""Reports: one standalone page, from a release alone or beside its originals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
