"""How answers are distributed over an ordered domain."""
