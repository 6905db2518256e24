"""Shares of public half-sets."""
