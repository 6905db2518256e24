"""Tables 1 to 4 of a survey, computed from the registry."""
