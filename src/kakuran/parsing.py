"""One thread at a time has Python parse a text.

In Python 3.11 all threads share the depth that the parser counts, and two that parse at once may both fail with
"AST constructor recursion depth mismatch".
"""

from __future__ import annotations

from threading import RLock

ALONE = RLock()
"""Held while Python parses; by a thread that has it already, too, as what it lets go may parse in its turn."""
