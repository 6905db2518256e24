"""Batches of linear queries."""
