"""Batches: the same reports as the scalar samplers give, millions per second. NumPy and Numba."""
