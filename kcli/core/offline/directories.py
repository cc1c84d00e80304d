"""The log directories that a cluster is made of: their topics and partitions, opened on first use.

Belongs to the server's thread, but for the constructor, which only lists folders.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Directories:
    """``paths``: log directories, folders of partitions, or single ``.log`` files."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        self._made: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """How the cluster is named to people."""
        first, *others = self.paths
        return f"log directory {first}" + (f" and {len(others)} more" if others else "")

    def once(self, make: Callable[["Directories"], T]) -> T:
        """``make(self)``, made at the first call: what several answers are made of, as the state of the controllers."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])

    def close(self) -> None:
        """Closes the files."""
        self._made.clear()
