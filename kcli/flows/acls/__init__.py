"""ACLs: which are selected, and the changes of them, each for the command of its name."""
