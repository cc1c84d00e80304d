"""Client options in a file: Java's ``.properties`` and librdkafka's ``k=v`` lines. Pure: parses text.

Both are read by one parser: Java's rules (``=``, ``:`` or a blank after the key, ``#`` and ``!`` comments,
``\\`` at the end continues, ``\\uXXXX``) contain librdkafka's. Never expands variables or includes files.
"""

import re
from collections.abc import Iterator

from kcli.core.errors import ConfigError
from kcli.profiles.pairs import Pair, Report, raise_error

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def parse_properties(text: str, origin: str, report: Report = raise_error) -> list[Pair]:
    """The pairs in the order of the file, each with ``origin:line``; ``report`` is called for a line without a key.

    Errors do not contain the line, which may hold a password.
    """
    pairs = []
    for number, line in _logical_lines(text.removeprefix("\ufeff")):
        try:
            pairs.append(_pair(line, f"{origin}:{number}"))
        except ConfigError as error:
            report(error)
    return pairs


def _pair(line: str, where: str) -> Pair:
    end = _key_end(line)
    key = _unescape(line[:end], where)
    if not key:
        raise ConfigError(
            f"{where}: a line without a key", why=f"it begins with {line[:1]}", do="write KEY=VALUE"
        )
    value = line[end:].lstrip(" \t\f")
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(" \t\f")
    return Pair(key, _unescape(value, where).rstrip(), where)


def split_pair(text: str, origin: str) -> Pair:
    """``K=V`` of ``-X``; ConfigError without ``=``, which shows a key at most."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        shown = repr(text) if re.fullmatch(r"[A-Za-z_.]*", text) else "…"
        raise ConfigError(
            f"{origin} {shown} is not KEY=VALUE",
            why="there is no key before the =" if sign else "there is no = in it",
            do="`kcli help options` lists the keys",
        )
    return Pair(key.strip(), value.strip(), origin)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, with continuations joined; the number is that of the first."""
    joined, first = "", 0
    for number, raw in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = raw.lstrip(" \t\f")
        if not joined and (not line or line[0] in "#!"):
            continue
        first = first or number
        if _continues(line):
            joined += line[:-1]
            continue
        yield first, joined + line
        joined, first = "", 0
    if joined:
        yield first, joined


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _key_end(line: str) -> int:
    """The index of the first unescaped ``=``, ``:`` or blank."""
    at = 0
    while at < len(line) and line[at] not in "=: \t\f":
        at += 2 if line[at] == "\\" else 1
    return min(at, len(line))


def _unescape(text: str, where: str) -> str:
    if "\\" not in text:
        return text
    out, at = [], 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign != "\\" or at >= len(text):
            out.append(sign if sign != "\\" else "")
            continue
        escape = text[at]
        at += 1
        if escape == "u":
            out.append(_unicode(text[at : at + 4], where))
            at += 4
        else:
            out.append(_ESCAPES.get(escape, escape))
    return "".join(out)


def _unicode(digits: str, where: str) -> str:
    try:
        if len(digits) != 4:
            raise ValueError
        return chr(int(digits, 16))
    except ValueError:
        raise ConfigError(
            f"{where}: \\u{digits} is not a character",
            why="four hexadecimal digits follow \\u",
            do="correct it",
        ) from None
