"""Remedies with what the refused line already names: ``--topic orders`` in place of ``--topic TOPIC``. Pure."""

import re
import shlex
from collections.abc import Mapping, Sequence

_FLAGS: Mapping[str, Sequence[str]] = {
    "TOPIC": ("--topic", "-t"),
    "GROUP": ("--group", "-g", "-G", "--consumer-group"),
    "User:NAME": ("--principal", "--allow-principal", "--deny-principal"),
    "HOST:PORT": ("--bootstrap-server", "-b", "--brokers"),
}
"""Which options name what stands for a placeholder."""
_ARGUMENT = {"kcli topics": "TOPIC", "kcli consume": "TOPIC", "kcli produce": "TOPIC", "kcli groups": "GROUP"}
"""What the first word without an option is, where it follows a verb at once."""
_PLAIN = re.compile(r"[\w.:][\w.:-]*")


def filled(text: str, path: str, words: Sequence[str]) -> str:
    """The remedy with placeholders in its command lines replaced; ``words`` follow the command ``path`` in the line.

    A placeholder of which the line names nothing, or several things, stays.
    """
    known = {
        placeholder: found
        for placeholder, flags in _FLAGS.items()
        if (found := _named(words, flags) or _argument(placeholder, path, words))
    }
    return re.sub("`[^`]+`", lambda line: _replaced(line[0], known), text) if known else text


def _named(words: Sequence[str], flags: Sequence[str]) -> str:
    found = set()
    for at, word in enumerate(words):
        flag, sign, value = word.partition("=")
        if flag in flags and (sign or at + 1 < len(words)):
            found.add(value if sign else words[at + 1])
    return _usable(found.pop()) if len(found) == 1 else ""


def _argument(placeholder: str, path: str, words: Sequence[str]) -> str:
    noun = " ".join(path.split()[:2])
    return _usable(words[0]) if words and _ARGUMENT.get(noun) == placeholder else ""


def _usable(word: str) -> str:
    """What is neither an option nor a pattern, quoted for a shell."""
    return shlex.quote(word) if _PLAIN.fullmatch(word) else ""


def _replaced(line: str, known: Mapping[str, str]) -> str:
    for placeholder, name in known.items():
        found = list(re.finditer(rf"(?<![\w:-]){placeholder}(?![\w:])", line))
        if len(found) == 1:  # two are two things, such as the source and the target of a copy
            line = line[: found[0].start()] + name + line[found[0].end() :]
    return line
