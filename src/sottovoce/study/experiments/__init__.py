"""Experiments in studies: arms, what they can see, and their comparison."""
