"""Tables of a lake that exports append to: Delta Lake and Apache Iceberg."""
