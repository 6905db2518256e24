"""Questions, plans, studies."""
