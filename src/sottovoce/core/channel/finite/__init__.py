"""Nodes with finite alphabets and short closed forms."""
