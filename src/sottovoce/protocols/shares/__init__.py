"""Protocols for shares."""
