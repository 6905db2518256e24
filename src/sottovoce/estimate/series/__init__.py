"""Estimates of one question over time: bands, differences, trends and alarms."""
