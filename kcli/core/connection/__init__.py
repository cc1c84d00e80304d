"""The protocol side of one connection to a broker, without a socket: frames, requests in flight, handshake, state."""
