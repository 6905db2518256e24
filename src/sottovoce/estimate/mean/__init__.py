"""The mean of a number."""
