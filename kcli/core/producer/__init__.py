"""The producer: batches per partition, a sender thread, idempotence."""
