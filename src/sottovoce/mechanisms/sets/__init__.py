"""Mechanisms for sets of items."""
