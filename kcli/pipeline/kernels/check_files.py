"""Compares a file of an export with its manifest: size and SHA-256."""

from collections.abc import Sequence
from typing import Any

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.pipeline.job import TaskContext
from kcli.pipeline.manifest import ExportedFile, merged_since
from kcli.pipeline.store.new_file import digest_of
from kcli.pipeline.store.store import Store, sizes
from kcli.pipeline.store.urls import open_store

MISSING = "run the export again, or restore the file from a copy"
CHANGED = "remove the file and run the export again, or restore it from a copy"


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """``folder``: see ``canonical``; the same where the tasks run."""

    folder: str


def run(settings: CheckSettings, task: ExportedFile, context: TaskContext) -> dict[str, Any]:
    """ConfigError for a file that is missing or differs."""
    store = open_store(settings.folder)
    try:
        check_digest(store, task)
    except FileNotFoundError:
        merged = merged_since(store, task)
        if merged is None:
            check_sizes(store, [task])
        check_digest(store, merged or task)
    context.progress(task.records, task.bytes)
    return {"records": task.records, "bytes": task.bytes}


def check_digest(store: Store, file: ExportedFile) -> None:
    """ConfigError for a file with other bytes; FileNotFoundError for one that is missing."""
    with store.open(file.path) as found:
        digest = digest_of(found)
    if digest.sha256 != file.sha256:
        raise ConfigError(
            f"{store.name(file.path)} was changed",
            why=f"its SHA-256 is {digest.sha256}, not {file.sha256}",
            do=CHANGED,
        )


def check_sizes(store: Store, files: Sequence[ExportedFile], created: str = "") -> None:
    """ConfigError for the first file that is missing, or has another size; not for one that was merged meanwhile.
    ``created``: see ``merged_since``.
    """
    for file, size in zip(files, sizes(store, [file.path for file in files]), strict=True):
        if size is None:
            if merged_since(store, file, created) is not None:
                continue
            raise ConfigError(f"{store.name(file.path)} cannot be read", why="it is not there", do=MISSING)
        if size != file.bytes:
            raise ConfigError(
                f"{store.name(file.path)} has {size} bytes",
                why=f"the manifest says {file.bytes}: it was cut or changed",
                do=CHANGED,
            )
