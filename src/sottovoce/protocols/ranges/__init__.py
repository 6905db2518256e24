"""Protocols that search a range first."""
