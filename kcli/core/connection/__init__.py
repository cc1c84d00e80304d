"""One conversation with one broker, without a socket: frames, requests in flight, handshake, state."""
