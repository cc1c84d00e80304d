"""Compression of record batches: which codecs there are, and the way in and out of each under a cap."""
