"""Counting in other engines: `count(reports) -> rows` and `fold(rows) -> Tally`. Tallies are integers and add up, so
the engine does the distribution, and the integers are those of `Mechanism.tally`, whatever the partitions."""
