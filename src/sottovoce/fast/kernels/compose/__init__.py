"""Kernels of nodes that are made of other nodes."""
