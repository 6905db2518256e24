"""How often intervals and bands of distributions cover."""
