"""The variance of a number."""
