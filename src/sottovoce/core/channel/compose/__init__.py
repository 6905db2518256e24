"""Nodes that are made of other nodes."""
