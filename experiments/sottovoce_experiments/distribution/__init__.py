"""Distributions under local differential privacy."""
