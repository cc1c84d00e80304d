"""Marks of performance tests in Python: sequence numbers in prepared text. ``flows/perf/marks.py`` describes a mark.

The results are the specification for the C twins.
"""

from array import array

_DIGITS = 12


def mark_lines(text: bytearray, starts: bytes, first: int, stop: int, at: int, sequence: int) -> None:
    """Writes the numbers from ``sequence`` on in place, one into each of the lines ``first`` to ``stop`` (exclusive).

    ``starts``: where the lines of ``text`` begin, as packed native int32. A number is 12 hexadecimal digits at byte
    ``at`` of its line. ValueError, before anything is written, for lines or numbers that do not exist or have no room.
    """
    if len(starts) % 4:
        raise ValueError(f"{len(starts)} bytes are no whole int32")
    lines = array("i", starts)
    if not 0 <= first <= stop <= len(lines):
        raise ValueError(f"lines {first} to {stop} of {len(lines)}")
    if sequence < 0 or sequence + stop - first > 16**_DIGITS:
        raise ValueError(f"a sequence number has {_DIGITS} digits")
    most = len(text) - _DIGITS
    for line in range(first, stop):
        if at < 0 or not 0 <= lines[line] <= most - at:
            raise ValueError(f"line {line} has no room for its number")
    for number, start in enumerate(lines[first:stop], sequence):
        text[start + at : start + at + _DIGITS] = b"%012x" % number
