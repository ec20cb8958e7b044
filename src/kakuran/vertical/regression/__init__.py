"""Least squares from second moments: choice of variables and inference, without any data or any peer."""
