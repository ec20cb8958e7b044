"""Engines read and count tables of any size: this machine's cores, or Spark, which perturbs them, too."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
