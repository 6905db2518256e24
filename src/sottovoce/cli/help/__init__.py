"""Help and errors of the command line: commands by task, and options in the words of a shell."""
