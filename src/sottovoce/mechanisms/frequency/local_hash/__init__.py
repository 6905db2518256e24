"""Local hashing."""
