"""From tallies to estimates with intervals."""
