"""Tests and comparisons: two estimates from different people, goodness of fit, equality of shares, independence."""
