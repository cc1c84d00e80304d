"""What a file of another tool says about one cluster, as kcli's options. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcli.core.classes import NamedTuple

Pairs = list[tuple[str, str]]


class Found(NamedTuple):
    """``dropped``: (key in that file, why it cannot be carried over). ``current``: the tool uses this cluster.
    ``reading`` says by which rules the file was read, where there is a choice; ``warnings`` where others would differ.
    """

    name: str
    pairs: Pairs
    dropped: list[tuple[str, str]]
    current: bool = False
    reading: str = ""
    warnings: Sequence[str] = ()


def of_each(
    document: Mapping[str, Any], documents: str, current: str, found: Callable[[dict[str, Any]], Found]
) -> list[Found]:
    """What each document of a list says. ``documents`` and ``current``: the keys of the list, and of the name in use."""
    used = str(document.get(current))
    each = [found(one) for one in document.get(documents) or [] if isinstance(one, dict)]
    return [one._replace(current=one.name == used) for one in each]


class Fields:
    """The keys of a document, each taken once: what is left over at the end was not understood."""

    def __init__(self, document: Mapping[str, Any], *, ignore_case: bool = False) -> None:
        self._values: dict[str, Any] = {}
        self._spelled: dict[str, str] = {}
        self._ignore_case = ignore_case
        self._flatten(document, "")

    def take(self, key: str) -> Any:
        """The value, None without it."""
        return self._values.pop(self._folded(key), None)

    def text(self, key: str) -> str:
        """The value as text, empty without it."""
        value = self.take(key)
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    def texts(self, key: str) -> list[str]:
        """A list, or the parts of a text between commas."""
        value = self.take(key)
        if isinstance(value, list):
            return [str(one).strip() for one in value if one is not None]
        return [part.strip() for part in str(value).split(",") if part.strip()] if value is not None else []

    def flag(self, key: str) -> bool:
        """Whether it is true."""
        return self.text(key).lower() in ("true", "1", "yes")

    def has(self, prefix: str) -> bool:
        """Whether there is the key, or a key below it."""
        folded = self._folded(prefix)
        return any(key == folded or key.startswith(folded + ".") for key in self._values)

    def left(self, reasons: Mapping[str, str]) -> list[tuple[str, str]]:
        """The keys with a value that nobody has taken, each with the reason of the first prefix that fits."""
        found = []
        for key, value in self._values.items():
            if value in (None, "", [], {}) or value is False:
                continue
            why = next((why for prefix, why in reasons.items() if key.startswith(self._folded(prefix))), "")
            found.append((self._spelled[key], why or "kcli has no such option"))
        return found

    def _flatten(self, inner: Mapping[str, Any], path: str) -> None:
        for key, value in inner.items():
            spelled = f"{path}{key}"
            if isinstance(value, Mapping) and value:
                self._flatten(value, spelled + ".")
            else:
                self._values[self._folded(spelled)] = value
                self._spelled[self._folded(spelled)] = spelled

    def _folded(self, key: str) -> str:
        return key.lower() if self._ignore_case else key


def protocol(*, tls: bool, sasl: bool) -> str:
    """``security.protocol``."""
    return ("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT")
