"""Protocols for a mean."""
