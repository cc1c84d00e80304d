"""SASL mechanisms as state machines without I/O: bytes of the broker in, bytes for the broker out."""
