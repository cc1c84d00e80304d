"""Assigns partitions to members: Kafka's four assignors, and the interface for an application's own (``assignor.py``)."""
