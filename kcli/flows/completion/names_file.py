"""Names that a cluster has told, kept for a minute so that the next TAB costs no question. One file a cluster and kind.

Below ``$XDG_CACHE_HOME/kcli``, for its owner only, replaced whole; it holds names and nothing else. Whatever is wrong
with it, it is as if it were not there.
"""

import contextlib
import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from kcli.core.options import ClientOptions
from kcli.flows.atomic_file import replace_file
from kcli.flows.completion.offered import is_offerable

FRESH = 60.0
"""Seconds for which names are taken without asking."""

PAUSE = 5.0
"""Seconds for which a cluster that did not answer is not asked again: shells ask several times for one TAB."""

_HEADER = "kcli names 1"
_LARGEST = 16 << 20


class Kept(NamedTuple):
    """What there is; ``fresh``: the cluster need not be asked."""

    names: list[str]
    fresh: bool


def names_path(folder: Path, kind: str, options: ClientOptions) -> str:
    """The file for the ``kind`` (``groups``, ``topics``) in the cluster that a client with ``options`` talks to."""
    import dataclasses
    import hashlib

    # Texts say where and as whom, numbers only how. No secret goes into the digest: it could be guessed from it.
    texts = [
        f"{field.name}={value}"
        for field in dataclasses.fields(options)
        if isinstance(value := getattr(options, field.name), str) and not field.metadata["secret"]
    ]
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogateescape")).hexdigest()
    return str(folder / "completion" / f"{kind}-{digest[:32]}")


def read_names(path: str, now: float) -> Kept:
    """What is kept at ``now`` (seconds since the epoch); no names and not fresh where nothing can be used."""
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
    """Keeps ``names``; those of a cluster that has not ``answered`` are fresh for ``PAUSE`` only. Fails in silence."""
    data = "\n".join((_HEADER, *filter(is_offerable, names))).encode("utf-8", "replace")
    if len(data) > _LARGEST:
        return
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace_file(path, data, sync=False)
        if not answered:
            os.utime(path, (now, now - FRESH + PAUSE))
