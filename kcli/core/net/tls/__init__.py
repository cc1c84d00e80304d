"""TLS: contexts from client options, key and trust stores, and the errors of a failed handshake."""
