"""The names that a shell completes: groups and topics, requested within a time limit, cached for a minute."""
