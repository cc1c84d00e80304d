"""Sockets, TLS, timers and the loop that runs them."""
