"""Studies that are repeated: their file, their schedule, their waves, and one question over time."""
