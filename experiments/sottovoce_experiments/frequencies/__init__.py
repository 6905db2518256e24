"""Experiments with shares: figures of the survey of descriptive statistics, and decoders beside each other."""
