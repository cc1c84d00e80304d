"""Brokers as commands show them, and take them out of a cluster."""
