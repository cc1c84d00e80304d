"""Queries and changes of the cluster itself: topics, offsets, configurations."""
