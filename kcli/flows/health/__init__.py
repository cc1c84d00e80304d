"""Whether a cluster is well, and what the stop of some of its nodes would do to it."""
