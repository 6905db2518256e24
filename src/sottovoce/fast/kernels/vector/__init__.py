"""Kernels of nodes for vectors."""
