"""How long a test waits for a thing that always comes: a machine under load is slow, and no test measures time."""

PATIENCE = 300  # seconds; long enough that only a fault exceeds it
