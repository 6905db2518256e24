"""The mean of Gaussian answers."""
