"""Mergeable integer statistics of reports."""
