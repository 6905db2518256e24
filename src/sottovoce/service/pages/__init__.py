"""Pages for people: the participant's page, the dashboard and the planner. Nothing on them comes from elsewhere."""
