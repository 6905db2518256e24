"""Shares of each code."""
