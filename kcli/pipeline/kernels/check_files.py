"""Compares a file of an export with its manifest: size and SHA-256."""

import os
from dataclasses import dataclass
from typing import Any

from kcli.core.errors import ConfigError
from kcli.pipeline.job import TaskContext
from kcli.pipeline.manifest import ExportedFile
from kcli.pipeline.new_file import digest_of

MISSING = "run the export again, or restore the file from a copy"
CHANGED = "remove the file and run the export again, or restore it from a copy"


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """``folder`` is absolute, and the same where the tasks run."""

    folder: str


def run(settings: CheckSettings, task: ExportedFile, context: TaskContext) -> dict[str, Any]:
    """ConfigError for a file that is missing or differs."""
    path = os.path.join(settings.folder, task.path)
    check_size(path, task)
    found = digest_of(path)
    if found.sha256 != task.sha256:
        raise ConfigError(
            f"{path} was changed", why=f"its SHA-256 is {found.sha256}, not {task.sha256}", do=CHANGED
        )
    context.progress(task.records, task.bytes)
    return {"records": task.records, "bytes": task.bytes}


def check_size(path: str, file: ExportedFile) -> None:
    """ConfigError for a file that is missing, or has another size."""
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise ConfigError(f"{path} cannot be read", why=error.strerror or str(error), do=MISSING) from None
    if size != file.bytes:
        raise ConfigError(
            f"{path} has {size} bytes",
            why=f"the manifest says {file.bytes}: it was cut or changed",
            do=CHANGED,
        )
