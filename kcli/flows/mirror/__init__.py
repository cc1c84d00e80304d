"""Copies topics from one cluster to another: routes, preflight checks, the copy itself, its state, and the proof."""
