"""Pages for people: participant page, dashboard and planner. They load nothing from other servers."""
