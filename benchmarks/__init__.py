"""Benchmarks: ``python -m benchmarks`` for ours, ``make bench-peers`` beside peers."""
