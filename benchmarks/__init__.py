"""How fast kakuran is, and how much memory it takes, beside its peers: `python -m benchmarks`."""

import os

# Threads of the linear algebra that wait for work spin, which counts as processor time, ours and the peers' alike.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
