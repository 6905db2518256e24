"""Protocols that search quantiles by asking on which side of a threshold an answer lies."""
