"""Sockets, TLS, timers and the loop that turns them."""
