"""The account of a command: what was asked for, what became of each part of it, and the exit code that follows. Pure."""
