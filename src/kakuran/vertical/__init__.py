"""One regression over columns that several companies hold and none shows the others (S2).

plan + keys → meet → greet → align → guard → gram | residual → fit → report, predict
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
