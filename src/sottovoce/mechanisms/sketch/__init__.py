"""Sketches: a public row of hash functions for each report, and a noisy vector, sign or entry of it."""
