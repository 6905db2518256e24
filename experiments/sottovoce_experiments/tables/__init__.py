"""Cross tables of several attributes: fits beside independence, and the coverage of intervals, on public records."""
