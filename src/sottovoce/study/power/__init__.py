"""Power of tests that are more than one difference."""
