"""A client of schema registries that speak Confluent's REST API. One thread: whoever decodes or encodes."""
