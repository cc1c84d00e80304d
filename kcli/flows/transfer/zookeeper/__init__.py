"""Offsets that consumers before Kafka 0.9 store in ZooKeeper. Its client, kazoo, is an optional dependency."""
