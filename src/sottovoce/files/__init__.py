"""Files of answers, reports and tallies: which kind they are, how they are read and written, where they lie."""
