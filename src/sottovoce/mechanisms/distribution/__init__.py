"""Mechanisms for distributions."""
