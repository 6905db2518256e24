"""Audits, accounting, explanations."""
