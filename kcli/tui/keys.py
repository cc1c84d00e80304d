"""The keys as the help and the palette list them: read from the bindings of kcli's own classes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from textual.binding import Binding

from kcli.core.classes import NamedTuple

_SYMBOLS = {
    "slash": "/", "question_mark": "?", "plus": "+", "minus": "-", "less_than_sign": "<", "greater_than_sign": ">",
    "enter": "↵", "escape": "esc", "up": "↑", "down": "↓", "left": "←", "right": "→", "pageup": "pgup",
    "pagedown": "pgdn",
}  # fmt: skip


class KeyRow(NamedTuple):
    """A binding: its keys as a person writes them, and what they do."""

    keys: str
    what: str
    action: str


def own_bindings(cls: type[Any]) -> Iterator[Binding]:
    """The bindings that kcli declares in this very class."""
    for one in cls.__dict__.get("BINDINGS", ()):
        yield one if isinstance(one, Binding) else Binding(*one)


def key_rows(cls: type[Any]) -> list[KeyRow]:
    """The bindings of this very class."""
    return [
        KeyRow(" ".join(map(shown, one.key.split(","))), one.description, one.action)
        for one in own_bindings(cls)
    ]


def shown(key: str) -> str:
    """``ctrl+p`` → ``^p``, ``slash`` → ``/``."""
    *modifiers, last = key.strip().split("+")
    last = _SYMBOLS.get(last, last)
    if modifiers == ["ctrl"]:
        return f"^{last}"
    return "+".join((*modifiers, last))
