"""Command lines that do what the screen shows, ready to be pasted into a shell. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from kcli.output.sanitise import visible_line
from kcli.tui.actions import Wish


def command(
    verbs: Sequence[str], names: Sequence[str] = (), flags: Sequence[str] = (), options: Sequence[str] = ()
) -> str:
    """``kcli VERBS NAMES FLAGS OPTIONS``; names that look like options come last, behind ``--``."""
    guarded = ("--", *names) if any(name.startswith("-") for name in names) else ()
    words = (*verbs, *(() if guarded else names), *flags, *options, *guarded)
    return " ".join(["kcli", *map(word, words)])


def rewind_command(wish: Wish, options: Sequence[str] = ()) -> str:
    """``kcli groups rewind`` of this wish."""
    return command(("groups", "rewind"), (wish.group,), wish.flags(), options)


def word(text: str) -> str:
    """One word for bash and zsh. What a terminal could take for a key is written as an escape: ``$'a\\x1bb'``."""
    if visible_line(text) == text:
        return quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if visible_line(char) == char:
        return char
    code = ord(char)
    if 0xD800 <= code < 0xE000:  # a byte that is not UTF-8
        return f"\\x{code & 0xFF:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
