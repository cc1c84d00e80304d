"""What becomes due at a time: sessions, rebalances, delays. It reads no clock; ``run`` is given the time."""

from collections.abc import Callable

Key = tuple[str, ...]
"""Kind, group id and what else names it; setting a key again moves its deadline."""


class Deadlines:
    """One action a key, run once when its time has come."""

    def __init__(self) -> None:
        self._due: dict[Key, tuple[float, Callable[[], None]]] = {}

    def set(self, key: Key, at: float, action: Callable[[], None]) -> None:
        self._due[key] = (at, action)

    def cancel(self, *key: str) -> None:
        self._due.pop(key, None)

    def cancel_group(self, group_id: str) -> None:
        """Everything that was due in a group that is no more."""
        for key in [key for key in self._due if key[1] == group_id]:
            del self._due[key]

    def run(self, now: float) -> None:
        """Runs what is due, oldest first. What an action sets anew waits for the next run."""
        due = sorted((at, key) for key, (at, _) in self._due.items() if at <= now)
        for at, key in due:
            entry = self._due.get(key)
            if entry and entry[0] == at:
                del self._due[key]
                entry[1]()
