"""A ``config.toml``: ``current``, ``[defaults]`` and ``[profiles.NAME]``, with the line of each value. Pure.

    current = "prod"

    [defaults]
    client.id = "me"

    [profiles.prod]
    bootstrap.servers = "kafka1:9093,kafka2:9093"
    security.protocol = "SASL_SSL"
    sasl.password_command = "pass show kafka/prod"
    protected = true

Imported only where such a file exists: ``tomllib`` costs time. Never expands variables or includes files. A relative path
is relative to the folder of the file.
"""

import os
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.core.version import __version__
from kcli.profiles.profile import COLORS, MARKS, RECORD_FORMATS, Pair, Profile, Report
from kcli.profiles.secret_keys import COMMAND, absolute, source_key

_KeyPath = tuple[str, ...]

_KEY = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_.\t -])+?)\s*=\s*(.*)""")
_LONGEST = 500
"""Lines of one value. The lines after a longer one are not known."""

_TOP = ("current", "defaults", "profiles")
_BOOLEANS = ("read_only", "protected")


class ConfigFile:
    """The content of one file; ``report`` is called with each error of its structure.

    The keys of a profile are read when it is chosen: those of the other profiles do not disturb.
    """

    def __init__(self, path: str, text: str, report: Report) -> None:
        self.path = path
        self._tables: dict[str, Any] = {}
        self._lines: dict[tuple[str, ...], int] = {}
        self._text = text
        try:
            self._tables = tomllib.loads(text.removeprefix("\ufeff"))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            why = "its tables are nested too deeply" if isinstance(error, RecursionError) else str(error)
            report(ConfigError(f"{path} is not valid TOML", why=why, do="correct the file"))
        self._check_structure(report)

    @property
    def current(self) -> str:
        """The profile that is used unless another one is chosen."""
        found = self._tables.get("current", "")
        return found if isinstance(found, str) else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The profiles, in the order of the file."""
        return tuple(self._profiles())

    def origin(self, *path: str) -> str:
        """``file:line`` of a key or table."""
        if not self._lines and self._text:
            self._lines = key_lines(self._text.removeprefix("\ufeff"))
        line = self._lines.get(path)
        return self.path if line is None else f"{self.path}:{line}"

    def defaults(self, report: Report) -> list[Pair]:
        """The pairs of ``[defaults]``."""
        table = self._tables.get("defaults", {})
        if not isinstance(table, Mapping):
            return []
        for mark in MARKS:
            if mark in table:
                report(
                    ConfigError(
                        f"{mark} is in [defaults] ({self.origin('defaults', mark)})",
                        why="it is a mark of one cluster, so it belongs to a profile",
                        do="move it into [profiles.NAME]",
                    )
                )
        return [pair for pair in self._pairs(table, ("defaults",), report) if pair.key not in MARKS]

    def profile(self, name: str, report: Report) -> Profile:
        """The profile of that name, which exists."""
        table = self._profiles()[name]
        pairs = self._pairs(table, ("profiles", name), report)
        marks = {pair.key: pair for pair in pairs if pair.key in MARKS}
        check_marks(marks.values(), report)
        color = marks.get("color")
        return Profile(
            name,
            self.origin("profiles", name),
            tuple(pair for pair in pairs if pair.key not in MARKS),
            color=color.text if color is not None else "",
            # What is neither true nor false was reported; a run that went on would be the careful one.
            read_only="read_only" in marks and marks["read_only"].text != "false",
            protected="protected" in marks and marks["protected"].text != "false",
            record_format=marks["record_format"].text if "record_format" in marks else "",
            description=marks["description"].text if "description" in marks else "",
            mark_origins={key: pair.origin for key, pair in marks.items()},
        )

    def pairs(self) -> list[Pair]:
        """The pairs of the whole file, of every profile; what is wrong with them is not reported."""
        profiles = [pair for name in self.names for pair in self.profile(name, _ignore).pairs]
        return self.defaults(_ignore) + profiles

    def _profiles(self) -> Mapping[str, Mapping[str, Any]]:
        found = self._tables.get("profiles", {})
        if not isinstance(found, Mapping):
            return {}
        return {name: table for name, table in found.items() if isinstance(table, Mapping)}

    def _check_structure(self, report: Report) -> None:
        for key, value in self._tables.items():
            if key not in _TOP:
                near = near_names(key, _TOP)
                report(
                    ConfigError(
                        f"unknown key {key!r} in {self.origin(key)}",
                        why=f"with kcli {__version__} the file has current, [defaults] and [profiles.NAME]",
                        do=f"did you mean {near[0]!r}?"
                        if near
                        else "options belong to [defaults] or [profiles.NAME]",
                    )
                )
            elif isinstance(value, str) != (key == "current") or not isinstance(value, str | Mapping):
                wanted = 'current = "NAME"' if key == "current" else f"[{key}{'.NAME' * (key == 'profiles')}]"
                report(
                    ConfigError(
                        f"{key} is not what it should be in {self.origin(key)}",
                        why=f"it is {_type(value)}",
                        do=f"write {wanted}",
                    )
                )
        profiles = self._tables.get("profiles", {})
        for name, table in profiles.items() if isinstance(profiles, Mapping) else ():
            if not isinstance(table, Mapping):
                report(
                    ConfigError(
                        f"profiles.{name} is no profile in {self.origin('profiles', name)}",
                        why=f"it is {_type(table)}; a profile is a table",
                        do=f"write [profiles.{name}], and its options below it",
                    )
                )

    def _pairs(self, table: Mapping[str, Any], where: tuple[str, ...], report: Report) -> list[Pair]:
        found = []
        for path, value in _leaves(table, ()):
            key, origin = ".".join(path), self.origin(*where, *path)
            if key == "cluster_id":
                key = "cluster.id"
            try:
                text = absolute(key, _text(key, value), os.path.dirname(self.path))
                found.append(Pair(key, text, origin))
            except ValueError as error:
                report(
                    ConfigError(f"{key} has no usable value ({origin})", why=str(error), do="write a text")
                )
        return found


def check_marks(marks: Iterable[Pair], report: Report) -> None:
    """Reports the marks that have a wrong value."""
    for mark in marks:
        if mark.key == "color" and mark.text not in COLORS:
            report(_wrong(mark, f"it must be one of {', '.join(COLORS)}"))
        if mark.key == "record_format" and mark.text not in RECORD_FORMATS:
            report(_wrong(mark, f"it must be one of {', '.join(RECORD_FORMATS)}"))
        if mark.key in _BOOLEANS and mark.text not in ("true", "false"):
            report(_wrong(mark, "it must be true or false"))


def _ignore(_error: ConfigError) -> None:
    pass


def _leaves(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of nested tables: ``bootstrap.servers = …`` is a table for TOML."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _text(key: str, value: Any) -> str:
    """The value as the text of a file of options; ValueError for what cannot be one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        named = source_key(key)
        return shlex.join(value) if named is not None and named[1] == COMMAND else ",".join(value)
    raise ValueError(
        f"it is {_type(value)}; an option is a text, a number, true or false, or a list of texts"
    )


def _type(value: Any) -> str:
    for kind, name in ((bool, "true or false"), (str, "a text"), (int | float, "a number"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "a table" if isinstance(value, Mapping) else "a date or time"


def _wrong(pair: Pair, why: str) -> ConfigError:
    return ConfigError(f"{pair.key}={pair.text!r} is not a valid value (from {pair.origin})", why=why, do="")


def key_lines(text: str) -> dict[_KeyPath, int]:
    """The line of each table (its header) and of each key, in a text that ``tomllib`` accepts."""
    lines = text.splitlines()
    found: dict[_KeyPath, int] = {}
    table: _KeyPath = ()
    at = 0
    while at < len(lines):
        line = lines[at].lstrip()
        if line.startswith("["):
            table = _path(line)
            found.setdefault(table, at + 1)
        elif line and line[0] != "#":
            key = _KEY.match(line)
            if key is None:
                return found
            path = table + _path(f"{key[1]} = 0")
            for end in range(1, len(path) + 1):
                found.setdefault(path[:end], at + 1)
            size = _size(lines[at : at + _LONGEST], key[2])
            if not size:
                return found
            at += size - 1
        at += 1
    return found


def _size(lines: list[str], value: str) -> int:
    """How many lines the statement has that begins with the first; 0 if it is too long to tell."""
    if not value.startswith(("[", "{", '"""', "'''")):
        return 1
    for count in range(1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        return count
    return 0


def _path(statement: str) -> _KeyPath:
    """The keys of a header or of ``a.b = 0``."""
    inner: object = tomllib.loads(statement)
    path: list[str] = []
    while isinstance(inner, dict | list) and inner:
        if isinstance(inner, list):
            inner = inner[0]
            continue
        key, inner = next(iter(inner.items()))
        path.append(key)
    return tuple(path)
