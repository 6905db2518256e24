"""Experiments on means in rounds: adaptive designs, several numbers, unknown ranges, small counts."""
