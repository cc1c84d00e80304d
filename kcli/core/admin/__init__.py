"""Questions and orders about the cluster itself: topics, offsets, configurations."""
