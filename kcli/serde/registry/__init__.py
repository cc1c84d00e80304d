"""A client for schema registries with Confluent's REST API. Runs in the thread that decodes or encodes."""
