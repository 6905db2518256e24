"""Shares of keys and means of their numbers."""
