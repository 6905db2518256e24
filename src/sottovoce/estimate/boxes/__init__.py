"""Shares of boxes over several ordered fields."""
