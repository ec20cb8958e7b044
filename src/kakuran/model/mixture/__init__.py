"""Mixtures of Gaussians seen through noise (S0)."""
