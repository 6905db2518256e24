"""Intervals of quantiles."""
