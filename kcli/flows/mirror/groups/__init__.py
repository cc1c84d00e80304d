"""Offsets of consumer groups, translated and committed on the target."""
