"""Client quotas, and the change of them for the command of its name."""
