"""Frequent words, found without a list of candidates."""
