"""What people read: displays, plurals, spellings of names."""
