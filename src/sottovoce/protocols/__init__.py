"""Protocols of rounds and arms."""
