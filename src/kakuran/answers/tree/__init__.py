"""Decision trees from perturbed records.

`columns` what is learned from → `counts` of a node → the best of its `splits` → `growth` level by level → `pruning` by
held-out records → the `decision` tree, which is the answer; `view` puts it in words and draws it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
