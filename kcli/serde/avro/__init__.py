"""Avro: binary data of a known schema ↔ JSON values. fastavro reads the schemas, ``reader`` the data."""
