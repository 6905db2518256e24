"""Shares and means of several attributes."""
