"""Means of a bounded number."""
