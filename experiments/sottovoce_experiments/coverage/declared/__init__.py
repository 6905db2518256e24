"""The studies of coverage, declared."""
