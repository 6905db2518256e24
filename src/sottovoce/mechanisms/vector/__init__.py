"""Means of the numbers of a vector."""
