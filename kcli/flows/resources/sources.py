"""The files whose documents are read: those that are named, and those of folders, in the order of their names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from kcli.core.classes import NamedTuple
from kcli.files.user_file import read_bounded
from kcli.flows.resources.faults import Fault
from kcli.flows.resources.resource import Place

ENDINGS = (".yaml", ".yml", ".json")
STDIN = "-"
LARGEST = 32 << 20
"""Bytes of a file."""
_MOST_FILES = 20_000


class Source(NamedTuple):
    """``name`` is the file's in messages."""

    name: str
    text: str


def read_sources(paths: Iterable[str]) -> Iterator[Source | Fault]:
    """Files as they are named, folders with all that is below them but hidden files; ``-`` is stdin. Each file once."""
    seen: set[str] = set()
    for path in paths:
        for name in _files(path):
            if isinstance(name, Fault):
                yield name
                continue
            real = name if name == STDIN else os.path.realpath(name)
            if real not in seen:
                seen.add(real)
                yield read_text(name)


def _files(path: str) -> Iterator[str | Fault]:
    if path == STDIN or not os.path.isdir(path):
        yield path
        return
    found: list[str] = []
    faults: list[Fault] = []

    def unread(error: OSError) -> None:
        faults.append(_fault(os.fsdecode(error.filename), error))

    for folder, folders, names in os.walk(path, onerror=unread):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [
            os.path.join(folder, name)
            for name in sorted(names)
            if name.endswith(ENDINGS) and not name.startswith(".")
        ]
        if len(found) > _MOST_FILES:
            yield Fault(
                Place(path), f"it has more than {_MOST_FILES:,} files", do="name the folders that are meant"
            )
            return
    yield from faults
    yield from found
    if not found and not faults:
        yield Fault(
            Place(path), f"no file of it ends with {', '.join(ENDINGS)}", do="name another folder, or files"
        )


def read_text(path: str) -> Source | Fault:
    """The text of a file, or why there is none."""
    name = "stdin" if path == STDIN else path
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(LARGEST + 1)
            if len(data) > LARGEST:
                return Fault(Place(name), f"it is larger than {LARGEST >> 20} MiB")
        else:
            data, _ = read_bounded(path, LARGEST)
    except OSError as error:
        return _fault(name, error)
    try:
        return Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        return Fault(Place(name, line, column), "it is not UTF-8", do="save it as UTF-8")


def _fault(name: str, error: OSError) -> Fault:
    why = error.strerror.lower() if error.strerror else str(error)
    return Fault(Place(name), "it cannot be read", why)
