"""A password, key or token that no message, log line, traceback or document can contain by accident; and the environment
of kcli's children, without the variables that may hold one.
"""

from collections.abc import Mapping
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


_OPTIONS = ("KCLI_X_", "KAFKA_SASL_", "KAFKA_SSL_")
"""Prefixes of variables that are client options, see ``kcli/profiles/environment.py``."""


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` without client options."""
    return {name: text for name, text in environ.items() if not name.startswith(_OPTIONS)}
