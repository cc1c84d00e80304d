"""The progress line of a reading or a writing: in a notebook, or on a terminal. Nothing is shown before 0.2 s."""

import sys
from collections.abc import Callable, Generator
from typing import TypeVar

from kcli.output.progress import Progress
from kcli.output.talk import Talk
from kcli.output.terminal import is_terminal

T = TypeVar("T")


def progress_line(title: str, wanted: bool | None, total: int | None = None) -> Progress:
    """``wanted`` None: in IPython, or if stderr is a terminal."""
    terminal = is_terminal(sys.stderr)
    shows = terminal or _in_ipython() if wanted is None else wanted
    talk = Talk(sys.stderr, isatty=shows)
    return Progress(talk, title, style="bar" if shows else "none", total=total, erases=terminal)


def counted_by(items: Generator[T], bar: Progress, sizes: Callable[[T], tuple[int, int]]) -> Generator[T]:
    """The same items; ``sizes``: how many records and bytes one has."""
    records = size = 0
    try:
        for item in items:
            more, larger = sizes(item)
            records, size = records + more, size + larger
            bar.update(records, size)
            yield item
    finally:
        items.close()
        bar.close()


def _in_ipython() -> bool:
    found = sys.modules.get("IPython")
    return found is not None and getattr(found, "get_ipython", bool)() not in (None, False)
