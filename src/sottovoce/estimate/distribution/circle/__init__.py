"""Directions on a circle."""
