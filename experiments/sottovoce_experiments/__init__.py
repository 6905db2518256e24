"""Reproductions of published tables, coverage studies, and published but wrong variants, on one runner."""
