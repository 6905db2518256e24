"""Shares of boxes over two fields, beside published methods."""
