"""Record batches: parsing, building, slices, isolation. No socket, no thread.

Import directly from the modules (``batch``, ``builder``, ``view``, ...): this package imports nothing itself.
"""
