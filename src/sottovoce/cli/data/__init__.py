"""Files that commands read and write: answers, reports, tallies."""
