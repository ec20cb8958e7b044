"""The papers' experiments, run again: their numbers beside ours."""

from kakuran.reproduction.findings import overview

__all__ = ["overview"]
