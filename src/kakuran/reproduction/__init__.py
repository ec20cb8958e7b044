"""The papers' experiments, run again: their numbers beside ours."""
