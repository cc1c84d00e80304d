"""The names that completion offers, and a cache of a cluster's names for a minute, so that the next TAB needs no request.
One file per cluster and kind. A tab and a note may follow a name; shells show it: ``orders⇥3 partitions``.

Below ``$XDG_CACHE_HOME/kcli``, for its owner only, replaced atomically; it contains only names and notes. An invalid file
is ignored. ``offered`` selects the names that match what was typed.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kcli.core import classes
from kcli.core.classes import NamedTuple
from kcli.core.options import ClientOptions
from kcli.files.atomic import replace_file

if TYPE_CHECKING:
    from kcli.serde.registry.options import RegistryOptions

FRESH = 60.0
"""Seconds for which names are used without a request."""

PAUSE = 5.0
"""Seconds without requests to a cluster that did not respond: shells call several times for one TAB."""

MOST = 2_000
"""More names than a user reads; a shell accepts them without a noticeable delay."""

LONGEST = 1_000

_HEADER = "kcli names 2"
_LARGEST = 16 << 20


class Kept(NamedTuple):
    """The cached names; ``fresh``: no request is needed."""

    names: list[str]
    fresh: bool


def names_path(
    folder: Path, kind: str, options: "ClientOptions | RegistryOptions", of: Iterable[str] = ()
) -> str:
    """The file for the ``kind`` (``groups``, ``topics``, ``fields`` of these topics, ``subjects``) of what ``options``
    connect to.
    """
    # Text options identify cluster and user, numbers do not. Secrets are excluded: the digest could reveal them.
    texts = [
        f"{field.name}={value}"
        for field in classes.fields(options)
        if isinstance(value := getattr(options, field.name), str) and not field.metadata["secret"]
    ]
    digest = hashlib.sha256("\0".join((*texts, *of)).encode("utf-8", "surrogateescape")).hexdigest()
    return str(folder / "completion" / f"{kind}-{digest[:32]}")


def read_names(path: str, now: float) -> Kept:
    """The cached names at ``now`` (seconds since the epoch); no names and not fresh if there is no usable file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_size > _LARGEST:
                return Kept([], fresh=False)
            header, *names = file.read(_LARGEST).decode().split("\n")
    except (OSError, UnicodeError):
        return Kept([], fresh=False)
    if header != _HEADER:
        return Kept([], fresh=False)
    return Kept(names, fresh=0 <= now - found.st_mtime < FRESH)


def write_names(path: str, names: Collection[str], now: float, *, answered: bool = True) -> None:
    """Caches ``names``; those of a cluster that has not ``answered`` are fresh for ``PAUSE`` only. Ignores errors."""
    data = "\n".join((_HEADER, *filter(is_offerable, names))).encode("utf-8", "replace")
    if len(data) > _LARGEST:
        return
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace_file(path, data, sync=False)
        if not answered:
            os.utime(path, (now, now - FRESH + PAUSE))


def is_offerable(row: str) -> bool:
    """Whether a shell may be given this: text without control characters, which would act on its terminal."""
    name, _, note = row.partition("\t")
    return 0 < len(name) <= LONGEST and name.isprintable() and note.isprintable()


def offered(names: Iterable[str], prefix: str, *, hide: str | tuple[str, ...] = "") -> list[str]:
    """The names that begin with ``prefix``, with their notes, sorted, at most ``MOST``. Of one name the first counts.

    Names that begin with ``hide``, or with one of several, are shown only once its first character was typed, or its
    first word up to a dash.
    Names that begin with a dash, which a command would treat as options, are shown only once something was typed.
    """
    starts = tuple(filter(None, (hide,) if isinstance(hide, str) else hide))
    if not prefix:
        hidden: tuple[str, ...] = ("-", *starts)
    else:
        hidden = tuple(one for one in starts if not prefix.startswith(one[: max(1, one.find("-") + 1)]))
    rows: dict[str, str] = {}
    for row in names:
        name = row.partition("\t")[0]
        if name.startswith(prefix) and not name.startswith(hidden) and is_offerable(row):
            rows.setdefault(name, row)
    found = [row for _name, row in sorted(rows.items())]
    if len(found) > MOST:
        # Shells insert the common prefix of all candidates: keeping the last name keeps that prefix.
        found[MOST - 1 :] = found[-1:]
    return found
