"""Fuzzers of channels, specifications and the collector, for `make fuzz`, and the brute force that tests share."""
