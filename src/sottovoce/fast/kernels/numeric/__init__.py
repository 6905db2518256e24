"""Kernels of nodes for numbers."""
