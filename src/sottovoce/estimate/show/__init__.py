"""How estimates and comparisons are shown: tables, sentences, pictures."""
