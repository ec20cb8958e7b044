"""The colours of all pictures; the collector's pages have the same (collect/static/style.css)."""

from __future__ import annotations

INK = "#1f2a44"
"""The truth where it is known, and whatever is neither estimated nor naive."""
ESTIMATE = "#d1603d"
NAIVE = "#c9c4ba"
"""What was counted as it is; also what is there to compare with."""
BRANCH = "#9a958a"
"""Lines that only connect."""
BLUE = "#3b6ea5"
"""One more, to tell from the others."""
