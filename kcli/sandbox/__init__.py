"""A real Apache Kafka on this machine's loopback, from its published jars, run in the background.

Not a fake and not for production: one user's brokers for trying things out and for tests. Everything here
runs in the caller's thread; the brokers are processes of their own that outlive it. Importing this package
imports nothing: ``discovery`` is what start-up may load, the rest is loaded to start a cluster.
"""
