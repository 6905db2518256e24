"""Words without a list of candidates."""
