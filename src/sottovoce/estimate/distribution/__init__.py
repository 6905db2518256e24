"""Distributions over buckets of a domain."""
