"""Contingency tables of several attributes, from reports about some of them each."""
