"""Committed offsets on their way out of a cluster and into one: what files hold, and what becomes of it."""
