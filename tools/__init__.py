"""What the developers run: `python -m tools.house` counts the house and draws its packages from the code."""
