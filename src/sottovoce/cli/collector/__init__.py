"""The commands of the collector and the shuffler."""
