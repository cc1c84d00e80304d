"""``kcli groups import``: the offsets of a file are committed, with the plan and the undo of a rewind."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from shlex import join
from typing import NamedTuple

from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.outcomes import rewind_command
from kcli.flows.rewind.plan import RewindPlan
from kcli.flows.rewind.spans import time_spans
from kcli.flows.rewind.text import Where
from kcli.flows.transfer.file import STDIN, file_name, read_file
from kcli.flows.transfer.importing import ImportRequest, ImportTarget, import_targets
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.flows.transfer.stopping import advise_stopping
from kcli.flows.transfer.survey import survey_import
from kcli.output.tables import Column


class OffsetImport(OffsetsChange):
    """The offsets of a file. Those in ZooKeeper, which has one more column, print the same kinds."""

    kind = "OffsetImport"
    printed_by = "groups import"
    report_keys = (
        Column(
            "broker",
            "id",
            meaning="Of an offset in ZooKeeper: the broker of Kafka 0.7, which numbers partitions.",
        ),
        *OffsetsChange.report_keys[:3],
    )
    plan_keys = (report_keys[0], *OffsetsChange.plan_keys)


class FileOffsets(NamedTuple):
    """What is imported of a file. ``words`` describe it."""

    path: str
    offsets: Sequence[SavedOffset]
    targets: Sequence[ImportTarget]
    request: ImportRequest
    words: str


def read_import(
    path: str,
    group: str | None,
    topics: Mapping[str, str],
    named: Mapping[str, Callable[[TopicPartition], bool]],
    *,
    of_brokers: bool,
    by_time: bool,
    clamp: bool,
    force: bool,
) -> FileOffsets:
    """What is selected of the file, as of ``ImportRequest``: all of it, or what is ``named``; ConfigError if it has
    nothing of one of these.
    """

    def wanted(tp: TopicPartition) -> bool:
        return not named or any(has(tp) for has in named.values())

    asked = ImportRequest(group, topics, wanted, by_time, clamp, force)
    offsets, name = read_file(path, of_brokers=of_brokers), file_name(path)
    for part, has in named.items():
        if not any(has(saved.tp) for saved in offsets):
            raise ConfigError(
                f"{name} has no offset of {part}", why="--topic names it", do="correct --topic, see the file"
            )
    words = f"the {'times' if asked.by_time else 'offsets'} in {name}"
    return FileOffsets(path, offsets, import_targets(offsets, asked), asked, words)


def offset_import(
    file: FileOffsets, where: Where, *, partial_file: bool, again: bool, dry: bool
) -> OffsetImport:
    """``partial_file``: not all of it is imported."""
    return OffsetImport(partial(_planned, file, not partial_file), where, again=again, dry=dry)


def _planned(file: FileOffsets, whole: bool, admin: Admin) -> RewindPlan:
    spans = partial(time_spans, admin)
    plan = survey_import(admin, admin.cluster_id(), file.targets, file.request, file.words, wall_ms(), spans)
    live = whole and file.path != STDIN and admin.lacks("hold_group") is None
    return advise_stopping(plan, lambda one: _live_command(file, one) if live else "")


def _live_command(file: FileOffsets, group: str) -> str:
    """The rewind that does the same to a group with members; empty where there is none."""
    request = file.request
    renamed = request.group is not None and any(saved.group not in (None, group) for saved in file.offsets)
    if renamed or request.topics or request.by_time or request.clamp or request.force:
        return ""
    return rewind_command(group, join(["--from-file", file.path, "--live"]))
