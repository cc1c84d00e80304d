"""Finds where text can be cut into regions of whole lines: always after a delimiter, counted from left to right."""


def last_line_end(text: bytes | bytearray, start: int, stop: int, delimiter: bytes) -> int:
    """The position after the last whole delimiter of ``text[start:stop]``; ``start`` if there is none.

    A line begins at ``start``. A delimiter that can overlap itself (``\\n\\n``) must be searched from there: its last
    occurrence may be the end of one delimiter and the beginning of the next line.
    """
    size = len(delimiter)
    if size == 1 or not _overlaps(delimiter):
        at = text.rfind(delimiter, start, stop)
        return start if at < 0 else at + size
    end = start
    while (at := text.find(delimiter, end, stop)) >= 0:
        end = at + size
    return end


def line_length(text: bytes | bytearray, start: int, end: int, delimiter: bytes) -> int:
    """The length of the line that begins at ``start``, without its delimiter."""
    at = text.find(delimiter, start, end)
    return (end if at < 0 else at) - start


def line_count(text: bytes | bytearray, start: int, end: int, delimiter: bytes) -> int:
    """The number of lines in ``text[start:end]``; the last one needs no delimiter."""
    return text.count(delimiter, start, end) + (last_line_end(text, start, end, delimiter) < end)


def _overlaps(delimiter: bytes) -> bool:
    return any(delimiter.startswith(delimiter[at:]) for at in range(1, len(delimiter)))
