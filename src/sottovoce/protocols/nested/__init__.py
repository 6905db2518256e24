"""Protocols that run others: side by side, or one after another."""
