"""For stand-ins of clients: what can be begun before it is waited for is done at once. Not a test."""

from collections.abc import Callable
from typing import Any


class AtOnce:
    list_offsets: Callable[..., Any]
    describe_topic_configs: Callable[..., Any]

    def foresee(self, *_names: Any, **_what: Any) -> None:
        """There is no first contact."""

    def begin_fetch_offsets(self, _groups: Any) -> None:
        """They are fetched when they are wanted."""

    def begin_list_offsets(self, *wanted: Any, **how: Any) -> Callable[[], Any]:
        found = self.list_offsets(*wanted, **how)
        return lambda: found

    def begin_topic_configs(self, names: Any, **_keys: Any) -> Callable[[], Any]:
        found = self.describe_topic_configs(names)
        return lambda: found

    def together(self, *reads: Callable[[], Any]) -> list[Any]:
        """One after the other."""
        return [read() for read in reads]
