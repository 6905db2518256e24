"""Answers over time: published ways to divide a budget over a window, smoothing, coverage and alarms."""
