"""Protocols for the mean of Gaussian answers."""
