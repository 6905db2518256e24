"""Plans, one module per question."""
