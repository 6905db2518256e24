"""Published protocols for frequent words, in rounds."""
