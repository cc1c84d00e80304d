"""Performance tests: load, reading and latency of a cluster, measured from the intended times of sending."""
