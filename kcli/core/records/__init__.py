"""Record batches as bytes and values: parsing, building, slices, isolation. No socket, no thread.

Import what is used from its file (``batch``, ``builder``, ``view``, ...): this package imports nothing itself.
"""
