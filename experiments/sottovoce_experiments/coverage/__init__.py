"""How often intervals cover."""
