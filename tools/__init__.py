"""What the developers run: `python -m tools.packages` draws the packages from the code."""
