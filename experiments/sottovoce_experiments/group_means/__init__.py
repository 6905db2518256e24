"""Group means as they were published, computed again."""
