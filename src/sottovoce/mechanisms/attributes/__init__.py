"""Mechanisms for several attributes in one report."""
