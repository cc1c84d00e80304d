"""The size of a terminal."""

import os
from typing import IO, Any

_UNKNOWN = os.terminal_size((80, 24))


def terminal_size(stream: IO[Any] | int) -> os.terminal_size:
    """Columns and lines of the terminal at the stream or descriptor; 80 and 24 where they are not known.

    A terminal that was given no size, as by ``docker exec -t`` or ``script`` without a terminal, reports 0.
    """
    try:
        size = os.get_terminal_size(stream if isinstance(stream, int) else stream.fileno())
    except (OSError, ValueError, AttributeError):
        return _UNKNOWN
    return os.terminal_size((size.columns or _UNKNOWN.columns, size.lines or _UNKNOWN.lines))
