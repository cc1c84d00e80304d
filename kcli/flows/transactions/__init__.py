"""Open transactions: what holds partitions back, whether its coordinator knows it, and how it is ended."""
