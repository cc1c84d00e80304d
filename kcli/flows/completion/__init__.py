"""What a shell completes: names of groups and topics, fields of records; requested within a time limit and cached."""
