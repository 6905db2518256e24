"""Fuzzers of the collector, for `make fuzz`."""
