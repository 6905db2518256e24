"""Vectorised samplers and tally kernels: in the folders of `core/channel`, one module for each of its modules."""
