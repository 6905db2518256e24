"""Experiments on quantiles that are searched in rounds."""
