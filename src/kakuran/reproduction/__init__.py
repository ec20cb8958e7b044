"""The papers' experiments, run again: one module a paper."""
