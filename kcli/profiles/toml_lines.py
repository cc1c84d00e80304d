"""The line of each key in a TOML text, which ``tomllib`` does not report. Pure."""

import re
import tomllib

Path = tuple[str, ...]

_KEY = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_.\t -])+?)\s*=\s*(.*)""")
_LONGEST = 500
"""Lines of one value. The lines after a longer one are not known."""


def key_lines(text: str) -> dict[Path, int]:
    """The line of each table (its header) and of each key, in a text that ``tomllib`` accepts."""
    lines = text.splitlines()
    found: dict[Path, int] = {}
    table: Path = ()
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


def _path(statement: str) -> Path:
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
