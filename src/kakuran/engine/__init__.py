"""Engines run kernels over tables of any size."""
