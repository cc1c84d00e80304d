"""Writes the tables of messages from the definitions that Kafka publishes (``make protocol``). Not shipped."""
