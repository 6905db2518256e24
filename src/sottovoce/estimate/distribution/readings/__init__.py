"""Readings of reports as shares of buckets, by the law of the channel."""
