"""Mechanisms: one small file each, one line in the registry. Standard library only."""
