"""Published protocols for frequent items and itemsets."""
