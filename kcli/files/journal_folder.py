"""A folder of journals, one for each cluster: a file for each change, on disk before the change is made."""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from kcli.core.errors import KcliError
from kcli.files.atomic import make_private_folder, replace_file
from kcli.files.xdg import state_home

J = TypeVar("J", bound=msgspec.Struct)


class JournalError(KcliError):
    """A journal cannot be read or written."""


class JournalFolder:
    """``$XDG_STATE_HOME/kcli/<name>/<cluster id>/<journal id>.json``; ``root`` is used instead of the part up to name."""

    def __init__(self, name: str, cluster: str, root: Path | None = None) -> None:
        self.cluster = cluster
        self.folder = (root or state_home() / name) / (
            quote(cluster, safe="").replace(".", "%2E") or "unnamed"
        )

    def path(self, journal_id: str) -> Path:
        """The file of a journal."""
        return self.folder / f"{journal_id}.json"

    def put(self, journal_id: str, journal: msgspec.Struct) -> Path:
        """Writes it whole; file and name are on disk on return. Raises OSError, or JournalError for the folder."""
        path = self.path(journal_id)
        make_private_folder(self.folder, JournalError)
        replace_file(str(path), msgspec.json.format(msgspec.json.encode(journal), indent=1) + b"\n")
        return path

    def put_first(self, journal_id: str, journal: msgspec.Struct, nothing: str) -> Path:
        """The same before a change: raises JournalError, whose remedy begins with ``nothing``: what was not done."""
        try:
            return self.put(journal_id, journal)
        except OSError as error:
            raise JournalError(
                f"cannot write the journal {self.path(journal_id)}",
                why=(error.strerror or str(error)).lower(),
                do=f"{nothing}; free space, or set XDG_STATE_HOME to another directory",
            ) from None

    def remove(self, journal_id: str) -> None:
        """For a change that has changed nothing."""
        with contextlib.suppress(OSError):
            self.path(journal_id).unlink()

    def read(self, form: type[J], kind: str) -> tuple[list[J], list[str]]:
        """All journals of a kind, oldest first, and the names of files that are none of this cluster."""
        found: list[Any] = []
        broken = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                journal: Any = msgspec.json.decode(path.read_bytes(), type=form)
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
                broken.append(str(path))
                continue
            if journal.kind == kind and journal.cluster == self.cluster:
                found.append(journal)
            else:
                broken.append(str(path))
        return sorted(found, key=lambda one: (one.at, one.id)), broken


def new_id(now_ms: int) -> str:
    """``20261121-091403-3fa9c1``: UTC, and a suffix that distinguishes changes of the same second."""
    return f"{datetime.fromtimestamp(now_ms // 1000, UTC):%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"
