"""Means of a private number by private group."""
