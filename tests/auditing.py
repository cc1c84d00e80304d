"""What this process does while a test watches: audit events of the interpreter (PEP 578). Not a test."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

Arguments = tuple[object, ...]

_watchers: list[tuple[str, list[Arguments]]] = []
_hooked: list[bool] = []


def _hook(event: str, arguments: Arguments) -> None:
    for wanted, seen in _watchers:
        if event == wanted:
            seen.append(arguments)


@contextmanager
def audited(event: str) -> Iterator[list[Arguments]]:
    """The arguments of each ``event`` in the block, as ``open`` or ``subprocess.Popen``."""
    if not _hooked:
        sys.addaudithook(_hook)  # it can never be removed
        _hooked.append(True)
    seen: list[Arguments] = []
    _watchers.append((event, seen))
    try:
        yield seen
    finally:
        _watchers.remove((event, seen))
