"""Shares of items of which a person may hold several."""
