"""Compression codecs of record batches; decompression is bounded by a size limit."""
