"""The night itself: a job is ended for good, and what was written since is copied back."""
