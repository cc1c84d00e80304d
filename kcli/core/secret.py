"""A password, key or token that no message, log line, traceback or document can contain by accident."""

from typing import NoReturn


class Secret:
    """Holds text that only ``reveal`` returns; shown, formatted or logged it is ``(hidden)``, and it does not pickle.

    Not a ``str``: joining, JSON and f-strings with a format either fail or show the replacement.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one place that sends or derives from it."""
        return self._text

    def __str__(self) -> str:
        return "(hidden)" if self._text else ""

    __repr__ = __str__

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")
