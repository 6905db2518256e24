"""Means by private group."""
