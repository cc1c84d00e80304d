"""ACLs of the source that the target gets."""
