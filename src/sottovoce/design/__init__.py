"""Linear programs that build optimal channels."""
