"""Exact arithmetic: finite fields, hashes, integer probabilities."""
