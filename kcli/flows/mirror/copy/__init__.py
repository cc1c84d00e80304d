"""The copy of records between two clusters, in one process: each partition, its state, and the loop over all."""
