"""Avro: converts binary data of a known schema to JSON values and back. fastavro parses the schemas, ``reader`` the
data.
"""
