"""The names that a shell completes: groups and topics, asked of the cluster within a limit, kept for a minute."""
