"""Files that kcli keeps for itself: where they are, how they are written and locked. Imports only core.errors."""
