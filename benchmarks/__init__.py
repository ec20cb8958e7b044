"""How fast kakuran is, and how much memory it takes, beside its peers: `python -m benchmarks`."""
