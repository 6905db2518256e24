"""Nodes for numbers: rounding to a grid, windows and noise on it."""
