"""Protocols for the shares of boxes over several fields."""
