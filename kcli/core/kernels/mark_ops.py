"""Result of ``mark_runs``: which numbered records a batch has. Tested in ``tests/parity/test_mark_runs.py``."""

MARK_DIGITS = 12
"""Hexadecimal digits (lower case) of a sequence number in a mark; a blank follows them."""

MarkRun = tuple[bytes, int, int]
"""The head of the marks, the first sequence number, and how many records follow each other with numbers one apart."""

MarkedRecords = tuple[int, int, list[MarkRun]]
"""Records, marked or not; bytes of their keys and values; the runs of the marked ones, in the order of the records."""
