"""Mechanisms for keys with numbers."""
