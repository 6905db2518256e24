"""Cohorts, Bloom filters and memos: the RAPPOR family and its forms for open domains."""
