"""Every performance claim of kakuran, measured beside its peers in the same run."""

import os

# Threads of the linear algebra that wait for work spin, which counts as processor time, ours and the peers' alike.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
