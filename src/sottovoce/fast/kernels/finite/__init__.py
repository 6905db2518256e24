"""Kernels of nodes with finite alphabets."""
