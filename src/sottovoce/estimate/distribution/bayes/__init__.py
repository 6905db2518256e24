"""The decoder `bayes`: priors, a likelihood of moderate size, and the modes of the posteriors."""
