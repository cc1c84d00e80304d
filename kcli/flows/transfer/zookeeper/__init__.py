"""Offsets that consumers before Kafka 0.9 keep in ZooKeeper. Its client, kazoo, is an optional dependency."""
