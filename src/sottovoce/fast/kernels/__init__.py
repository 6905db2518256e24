"""Vectorised samplers and tally kernels: the folders are those of `core/channel`, a module for each of its own."""
