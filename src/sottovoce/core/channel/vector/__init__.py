"""Nodes for vectors."""
