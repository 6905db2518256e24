"""What several answers reveal together, and what a crowd hides: composition, shuffling, sampling."""
