"""Exact intervals for shares, by inverting the law of the counts."""
