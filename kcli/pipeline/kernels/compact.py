"""Merges files of an export into one with the same records: of Parquet, the bytes that an export of the whole range would
have written.
"""

from typing import Any

import msgspec

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.output.progress import counted
from kcli.pipeline.compaction import Merge
from kcli.pipeline.job import TaskContext
from kcli.pipeline.kernels.check_files import CHANGED, check_digest, check_sizes
from kcli.pipeline.kernels.export import records_in
from kcli.pipeline.manifest import ExportedFile
from kcli.pipeline.store.new_file import NewFile, digest_of
from kcli.pipeline.store.store import Store
from kcli.pipeline.store.urls import open_store
from kcli.pipeline.text_files import formatter_of

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class CompactSettings:
    """``folder``: see ``canonical``; the same where the tasks run."""

    folder: str
    format: str


def run(settings: CompactSettings, task: Merge, context: TaskContext) -> dict[str, Any]:
    """``exported`` is the file for the manifest. ConfigError for a file that is missing or was changed: the merged one
    would have a digest that is right.
    """
    store, path = open_store(settings.folder), task.path(settings.format)
    check_sizes(store, task.files)
    for file in task.files:
        check_digest(store, file)
    records = sum(file.records for file in task.files)
    made = None if store.size(path) is not None else _write(settings, task, store, path, context)
    if made is None:  # by an earlier attempt, or another one at the same time
        with store.open(path) as found:
            digest = digest_of(found)
        made = ExportedFile(
            path,
            task.whole.start,
            task.whole.end,
            records_in(store, path, task.whole, settings.format),
            *digest,
        )
        context.progress(records, 0)
    if made.records != records:
        raise ConfigError(
            f"{store.name(path)} has {counted(made.records, 'record')}",
            why=f"the files it is made of have {records}, as the manifest says",
            do=CHANGED,
        )
    made = msgspec.structs.replace(made, first=task.files[0].first, last=task.files[-1].last)
    return {"records": made.records, "bytes": made.bytes, "exported": made}


def _write(
    settings: CompactSettings, task: Merge, store: Store, path: str, context: TaskContext
) -> ExportedFile | None:
    """Writes the file; None if another attempt has written it meanwhile."""
    with store.new(path) as file:
        if settings.format == "parquet":
            from kcli.pipeline.parquet_files import merge_parquet  # pyarrow: an extra

            records = merge_parquet(file, [(store, one.path) for one in task.files], task.whole, context)
        else:
            _join_text(file, settings.format, task, store, context)
            records = sum(one.records for one in task.files)
        digest = file.digest()
        if not file.commit():
            return None
        return ExportedFile(path, task.whole.start, task.whole.end, records, *digest)


def _join_text(file: NewFile, form: str, task: Merge, store: Store, context: TaskContext) -> None:
    head = formatter_of(form).begin()
    file.write(head)
    for one in task.files:
        with store.open(one.path) as found:
            if found.read(len(head)) != head:
                raise ConfigError(
                    f"{store.name(one.path)} was changed", why="its first line is another", do=CHANGED
                )
            while block := found.read(_BLOCK):
                context.check()
                file.write(block)
        context.progress(one.records, one.bytes)
