"""The commands of a study on paper."""
