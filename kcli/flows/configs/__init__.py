"""Configurations of topics, brokers and groups: what they are, and their changes."""
