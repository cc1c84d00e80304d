"""The consumer: positions, prefetching, and whole batches returned without conversion."""
