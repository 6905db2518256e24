"""Protocols for a variance."""
