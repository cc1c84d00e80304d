"""One command line of another tool as a line for kcli, word by word. Pure.

A line is never run: the remedy of an error shows it. What kcli has nothing for is named.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

from kcli.core.classes import NamedTuple

NOTHING = "nothing"
"""Of an option that has no counterpart."""


class Mode(NamedTuple):
    """``needs``: words that choose it, or beginnings of words with ``*``. ``command``: what follows ``kcli``, with
    placeholders in capitals that the line's own arguments replace; empty where kcli has no such thing.

    ``options``: what becomes of an option; its name ends with ``=`` if it has a value, which replaces ``{}``, or each of
    its comma-separated parts ``{,}``, or the part before its first colon ``{:}``; ``{=}`` makes ``--user a`` of
    ``user=a``. ``--name=value`` is one value of it. An empty text: it is not needed.
    """

    needs: tuple[str, ...]
    command: str
    options: Mapping[str, str] = {}


class Translation(NamedTuple):
    """``line``: what to type, empty where kcli has no such thing. ``lacking``: options without a counterpart."""

    line: str
    lacking: tuple[str, ...] = ()


_OPTION = re.compile(r"-(-|[A-Za-z])")  # -1 and -10 are values
_PLACEHOLDER = re.compile(r"\b(TOPIC|GROUP|APP|COPY|NAME|ID|FILE|BROKER|SHELL|REGEX)\b")


def translated(mode: Mode, words: Sequence[str]) -> Translation:
    """The line of a mode, with the arguments and options of these words."""
    arguments: list[str] = []
    options: list[str] = []
    lacking: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, sign, value = word.partition("=")
        if word in mode.options and f"{word}=" not in mode.options:
            text = mode.options[word]
        elif f"{name}=" in mode.options and (sign or (left and not _OPTION.match(left[0]))):
            value = value if sign else left.pop(0)
            key = f"{name}={value}" if f"{name}={value}" in mode.options else f"{name}="
            if value[1:2] == "@" and f"{name}={value[:2]}" in mode.options:
                key, value = f"{name}={value[:2]}", value[2:]  # kcat's s@TIME and e@TIME
            text = _filled(mode.options[key], value)
        elif name in mode.options:
            text = mode.options[name]
        else:
            text = shlex.quote(word) if not word.startswith("-") else NOTHING
        if text == NOTHING:
            lacking.append(name)
        elif text:
            (options if text.startswith("-") else arguments).append(text)
    command = _without(mode.command.split(), {text.split()[0] for text in options})
    for argument in arguments:
        command = _with_argument(command, argument)
    return Translation(" ".join(("kcli", *command, *options)), tuple(dict.fromkeys(lacking)))


def _with_argument(command: list[str], argument: str) -> list[str]:
    """In the place of the first placeholder, wherever it is said; else behind the rest."""
    first = next((found[0] for word in command if (found := _PLACEHOLDER.search(word))), "")
    if not first:
        return [*command, argument]
    return [re.sub(rf"\b{first}\b", argument.replace("\\", r"\\"), word) for word in command]


def _without(command: list[str], given: set[str]) -> list[str]:
    """The mode's own words, less the options that the line has itself (and their values)."""
    kept: list[str] = []
    skip = False
    for word in command:
        if skip and not word.startswith("-"):
            continue
        skip = word in given
        if not skip:
            kept.append(word)
    return kept


def _filled(text: str, value: str) -> str:
    if "{,}" in text:
        parts = re.split(r",(?![^\[]*\])", value)
        return " ".join(text.replace("{,}", shlex.quote(part)) for part in parts)
    if text == "{=}":  # rpk's and kcl's user=NAME, client-id=NAME
        kind, _, name = value.partition("=")
        return f"--{kind} {shlex.quote(name)}"
    if "{:}" in text:
        return text.replace("{:}", shlex.quote(value.partition(":")[0]))
    if "'" in text:
        return text.replace("{}", value.replace("'", ""))
    if text.startswith("^"):
        return shlex.quote(text.replace("{}", value))
    return text.replace("{}", shlex.quote(value))
