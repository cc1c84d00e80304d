"""The consumer: positions, fetching ahead, batches handed out as they are."""
