"""A mirror job: its identity, its state on the target, and who runs it."""
