"""What ``kcli segments dump`` does."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from kcli.account.survey import Missing
from kcli.commands.segments._paths import missing_file
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.topic_choice import glob_regex
from kcli.commands.shared.usage import usage
from kcli.core.classes import dataclass
from kcli.core.errors import CorruptRecordsError, DamagedFileError, KcliError
from kcli.core.logdir.aborted_index import Aborted
from kcli.core.logdir.offset_index import IndexEntry
from kcli.core.logdir.time_index import TimeEntry
from kcli.core.types import Record
from kcli.flows.segments import kafka_lines
from kcli.flows.segments.dumped_files import INDEXES, Dumped, dumped_files
from kcli.flows.segments.dumping import (
    BATCHES,
    ENTRIES,
    RECORDS,
    Batch,
    Entry,
    RecordText,
    batch_row,
    batches_of,
    entries_of,
    entry_row,
    record_row,
)
from kcli.flows.segments.kafka_json import Decoded, decoded, has_decoder
from kcli.flows.segments.secrets import HIDDEN, is_secret
from kcli.output.envelope import compact
from kcli.output.listing import list_rows
from kcli.output.progress import counted

_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """The flags."""

    records: bool
    indexes: bool
    show_secrets: bool
    topics: tuple[str, ...]


def dump_segments(inv: Invocation, paths: tuple[str, ...], options: DumpOptions) -> int:
    """Returns the exit status."""
    if options.records and options.indexes:
        raise usage(
            "segments dump: --records and --indexes exclude each other",
            why="records are in segments, not in indexes",
            do="leave one of them out",
        )
    if options.show_secrets and not options.records:
        raise usage(
            "segments dump: --show-secrets needs --records",
            why="only records have secrets",
            do="add --records",
        )
    files, missing = dumped_files(paths, indexes=options.indexes)
    for one in missing:
        inv.lacks(missing_file(one.path, one.why))
    files = _chosen(inv, files, options.topics)
    return _Dump(inv, options).run(files)


def _chosen(inv: Invocation, files: list[Dumped], topics: tuple[str, ...]) -> list[Dumped]:
    if not topics:
        return files
    patterns = [re.compile(glob_regex(topic)) for topic in topics]
    for topic, pattern in zip(topics, patterns, strict=True):
        if not any(pattern.match(file.tp.topic) for file in files):
            inv.lacks(Missing(topic, "", KcliError(f"there is no topic {topic} in these paths")))
    return [file for file in files if any(pattern.match(file.tp.topic) for pattern in patterns)]


class _Dump:
    def __init__(self, inv: Invocation, options: DumpOptions) -> None:
        self._inv = inv
        self._options = options
        self._errors = 0
        self._read = 0

    def run(self, files: list[Dumped]) -> int:
        inv = self._inv
        indexes = [file for file in files if file.suffix in INDEXES]
        logs = [file for file in files if file.suffix not in INDEXES]
        if inv.out.kind == "kafka":
            self._guarded(files, self._kafka)
        elif indexes and logs:
            raise usage(
                "segments dump: the paths are of segments and of indexes",
                why="batches and entries are different lists",
                do="name only .log files and folders, or only indexes; or use -o kafka",
            )
        else:
            self._rows(indexes or logs, indexes=bool(indexes) or self._options.indexes)
        if self._errors > _MOST_ERRORS:
            inv.talk.note(f"{counted(self._errors - _MOST_ERRORS, 'further place')} with damage")
        return inv.finish(done=self._read > 0)

    def _rows(self, files: list[Dumped], *, indexes: bool) -> None:
        inv = self._inv
        kind, columns = ("SegmentEntry", ENTRIES) if indexes else ("SegmentBatch", BATCHES)
        if self._options.records and not indexes:
            kind, columns = "SegmentRecord", RECORDS
        as_text = inv.out.list_kind() not in ("json", "ndjson", "yaml")
        with list_rows(
            inv.out, f"{kind}List", kind, columns, warnings=inv.talk.warnings, missing=inv.missing
        ) as rows:

            def put(file: Dumped) -> None:
                for row in self._entries(file) if indexes else self._of_log(file):
                    rows.add(_cells(row) if as_text else row)

            self._guarded(files, put)

    def _guarded(self, files: list[Dumped], put: Callable[[Dumped], None]) -> None:
        for file in files:
            try:
                put(file)
                self._read += 1
            except CorruptRecordsError as error:
                self._damaged(error)
            except KcliError as error:
                self._inv.lacks(Missing(file.path, "", error), later=True)

    def _damaged(self, error: KcliError) -> None:
        self._errors += 1
        if self._errors <= _MOST_ERRORS:
            self._inv.failed(error)

    def _entries(self, file: Dumped) -> Iterator[dict[str, Any]]:
        return (entry_row(file, position, entry) for position, entry in entries_of(file, self._damaged))

    def _of_log(self, file: Dumped) -> Iterator[dict[str, Any]]:
        text = RecordText(file.tp.topic, show_secrets=self._options.show_secrets)
        for one in batches_of(file, self._damaged):
            if isinstance(one, int):
                self._tail(file, one)
                continue
            self._check(file, one)
            if self._options.records:
                for record in self._records(file, one):
                    yield record_row(file, one, record, text)
            else:
                yield batch_row(file, one)

    def _tail(self, file: Dumped, size: int) -> None:
        self._inv.talk.note(f"{file.path}: {counted(size, 'byte')} at the end are no whole batch")

    def _check(self, file: Dumped, one: Batch) -> None:
        if not one.valid:
            why = "its checksum, or what its header says, is wrong"
            self._damaged(DamagedFileError(file.path, one.position, why=why, offset=one.batch.base_offset))

    def _records(self, file: Dumped, one: Batch) -> Iterator[Record]:
        if not one.valid:
            return
        try:
            yield from one.batch.records(file.tp.topic, file.tp.partition)
        except CorruptRecordsError as error:
            self._damaged(
                DamagedFileError(file.path, one.position, why=str(error), offset=one.batch.base_offset)
            )
        one.batch.forget_payload()

    def _kafka(self, file: Dumped) -> None:
        put = self._inv.out.shown
        put(kafka_lines.file_lines(file.path, file.suffix, file.base_offset))
        if file.suffix in INDEXES:
            found = False
            for _, entry in entries_of(file, self._damaged, zeros=True):
                put(_entry_line(entry))
                found = True
            if not found and file.suffix == ".index":
                put(f"{file.path} is empty.\n")
            return
        for one in batches_of(file, self._damaged):
            if isinstance(one, int):
                put(kafka_lines.invalid_bytes_line(one, os.path.basename(file.path)))
                continue
            put(kafka_lines.batch_line(one.batch, one.position, valid=one.valid))
            self._check(file, one)
            if self._options.records:
                for record in self._records(file, one):
                    put(kafka_lines.record_line(one.batch, record, self._decoded(file, one, record)))

    def _decoded(self, file: Dumped, one: Batch, record: Record) -> Decoded:
        if one.batch.is_control or not has_decoder(file.tp.topic):
            hidden = not self._options.show_secrets and is_secret(record)
            return Decoded(_text(record.key), HIDDEN if hidden else _text(record.value))
        return decoded(file.tp.topic, record, show_secrets=self._options.show_secrets)


def _entry_line(entry: Entry) -> str:
    if isinstance(entry, IndexEntry):
        return kafka_lines.offset_entry_line(entry)
    if isinstance(entry, TimeEntry):
        return kafka_lines.time_entry_line(entry)
    return kafka_lines.aborted_line(entry) if isinstance(entry, Aborted) else kafka_lines.producer_line(entry)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    """What is no text or number as JSON, for a cell."""
    return {key: compact(value) if isinstance(value, dict | list) else value for key, value in row.items()}
