"""Moves replicas to other brokers: a balanced assignment, the file, the throttle, the journal, the progress."""
