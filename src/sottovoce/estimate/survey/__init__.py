"""Estimates for survey designs: weights, strata, clusters and calibration."""
