"""Record batches as bytes and values: parsing, building, compressing, checksums. No socket, no thread.

Import what is used from its file (``batch``, ``builder``, ``kernels``, ...): this package imports nothing itself.
"""
