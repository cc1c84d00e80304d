"""Schemas that a registry does not have, remembered for a while: records that name one must not cost a request each."""

from collections.abc import Callable, Hashable

from kcli.serde.errors import SchemaNotFoundError
from kcli.serde.lru import Lru

MISSING_FOR = 30.0
"""Seconds before a missing schema is requested again."""


class MissingSchemas:
    """By a key of the caller's. Not thread-safe."""

    def __init__(self, capacity: int, now: Callable[[], float]) -> None:
        self._now = now
        self._known: Lru[Hashable, tuple[float, SchemaNotFoundError]] = Lru(capacity)

    def note(self, key: Hashable, error: SchemaNotFoundError) -> None:
        """The registry has said so now."""
        self._known.put(key, (self._now() + MISSING_FOR, error))

    def refuse(self, key: Hashable) -> None:
        """Raises the same error, as long as it counts."""
        found = self._known.get(key)
        if found is None:
            return
        until, error = found
        if self._now() < until:
            raise SchemaNotFoundError(error.what, why=error.why, status=error.status, code=error.code)
        self._known.drop(key)
