"""The screens: each shows a snapshot, and says what it wants to know."""
