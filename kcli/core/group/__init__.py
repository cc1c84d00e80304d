"""Group membership: the protocols between members and coordinator, and the assignment of partitions."""
