"""Client options in a file: Java's ``.properties`` and librdkafka's ``key=value`` lines. Pure: parses text.

Both look alike, but Java's rules (``=``, ``:`` or a blank after the key, ``#`` and ``!`` comments, ``\\`` at the end
continues, ``\\n`` and ``\\uXXXX`` are characters, ``\\`` before any other one is dropped) would change what librdkafka's
clients read, which know no escapes: a password with a backslash. The content says whose a file is (``_whose``). What
cannot be told is read by Java's rules, with a warning for each value that would differ. Never expands variables or
includes files.
"""

import re
from collections.abc import Iterator

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.profiles.profile import Pair, Report, raise_error

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_JAVA, _LIBRDKAFKA = "Java's .properties", "librdkafka's key=value lines"
_KEY = re.compile(r"[^\s:!]+")


class PropertiesFile(NamedTuple):
    """``pairs`` in the order of the file; ``reading`` says as what it was read, and why."""

    pairs: list[Pair]
    reading: str
    warnings: list[str]


def parse_properties(text: str, origin: str, report: Report = raise_error) -> PropertiesFile:
    """The pairs, each with ``origin:line``; ``report`` is called for a line without a key.

    Errors and warnings do not contain values, which may be passwords.
    """
    text = text.removeprefix("\ufeff")
    whose, because = _whose(text)
    reading = f"{origin}: read as {whose or _JAVA}, since {because}"
    if whose == _LIBRDKAFKA:
        return PropertiesFile(_parse_librdkafka(text, origin), reading, [])
    pairs = parse_java(text, origin, report)
    warnings = []
    if not whose and "\\" in text:
        others = set(_parse_librdkafka(text, origin))
        warnings = [
            f"{pair.origin}: a backslash in {pair.key} is read as an escape, as in Java's .properties; librdkafka would "
            f"keep it, and {because}"
            for pair in pairs
            if pair not in others
        ]
    return PropertiesFile(pairs, reading, warnings)


def _whose(text: str) -> tuple[str, str]:
    """The form of the file, empty where that cannot be told, and what says so: a line that librdkafka's clients refuse,
    else a key that only one of the clients knows.
    """
    # Only where there is such a file.
    from kcli.core.foreign_options import only_in_java, only_in_librdkafka

    lines = list(librdkafka_lines(text))
    for number, key, _value in lines:
        if not _KEY.fullmatch(key):
            return _JAVA, f"line {number} is not key=value"
    java, other = (
        [f"{key} (line {number})" for number, key, _value in lines if is_one(key)]
        for is_one in (only_in_java, only_in_librdkafka)
    )
    if java and other:
        return "", f"{java[0]} is Java's, {other[0]} librdkafka's"
    if java or other:
        return (_JAVA, f"{java[0]} is Java's") if java else (_LIBRDKAFKA, f"{other[0]} is librdkafka's")
    return "", "no key says whose the file is"


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1)


# --- librdkafka ----------------------------------------------------------------------------------


def librdkafka_lines(text: str) -> Iterator[tuple[int, str, str]]:
    r"""Number, key and value of each line but comments, as kcat reads them: no escapes but ``\:`` and ``\=``, and a blank
    after the ``=`` belongs to the value. ``key = value``, which kcat refuses, is read too. The key is empty where a line
    is not key=value.
    """
    for number, raw in _lines(text):
        line = raw.strip().replace("\\:", ":").replace("\\=", "=")
        if line and not line.startswith("#"):
            key, sign, value = line.partition("=")
            yield number, key.rstrip() if sign else "", value if key == key.rstrip() else value.lstrip()


def _parse_librdkafka(text: str, origin: str) -> list[Pair]:
    return [Pair(key, value, f"{origin}:{number}") for number, key, value in librdkafka_lines(text)]


# --- Java ----------------------------------------------------------------------------------------


def parse_java(text: str, origin: str, report: Report = raise_error) -> list[Pair]:
    """The pairs of a file that can only be Java's, each with ``origin:line``."""
    pairs = []
    for number, line in _logical_lines(text):
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


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, with continuations joined; the number is that of the first."""
    joined, first = "", 0
    for number, raw in _lines(text):
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
            do="write \\\\u for a backslash and a u",
        ) from None


# --- the command line ------------------------------------------------------------------------


def split_pair(text: str, origin: str) -> Pair:
    """``KEY=VALUE`` of ``-X``; ConfigError without ``=``, which shows a key at most."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        shown = repr(text) if re.fullmatch(r"[A-Za-z_.]*", text) else "…"
        raise ConfigError(
            f"{origin} {shown} is not KEY=VALUE",
            why="there is no key before the =" if sign else "there is no = in it",
            do="`kcli help options` lists the keys",
        )
    return Pair(key.strip(), value.strip(), origin)
