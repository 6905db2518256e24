"""The mean of each coordinate of a vector."""
