"""Words that are found without a list of candidates."""
