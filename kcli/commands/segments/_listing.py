"""What ``kcli segments list`` and ``describe`` do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcli.account.survey import Missing
from kcli.commands.segments._paths import cluster_of, note_live, read_folders
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.errors import CorruptRecordsError, KcliError
from kcli.core.logdir.folders import Found
from kcli.flows.segments.describing import DESCRIBED, LINES, describe_partition, lines_of
from kcli.flows.segments.listing import PARTITIONS, SEGMENTS, TOPICS, by_topic, list_partition
from kcli.flows.segments.metadata_log import read_image
from kcli.flows.segments.policies import policy_of, was_cleaned

_OF_ITEMS = ("json", "ndjson", "yaml", "name")
_KINDS = {
    "topic": ("StoredTopicList", "StoredTopic", TOPICS),
    "partition": ("StoredPartitionList", "StoredPartition", PARTITIONS),
    "segment": ("SegmentList", "Segment", SEGMENTS),
}


def list_segments(inv: Invocation, paths: tuple[str, ...], by: str, topics: tuple[str, ...]) -> int:
    """Returns the exit status."""
    inv.page()
    found = read_folders(inv, paths, topics)
    note_live(inv, found)
    kind, item, columns = _KINDS[by]
    rows = list(_rows(inv, found, by))
    print_rows(inv, kind, columns, by_topic(rows) if by == "topic" else rows, cluster_of(found), item=item)
    return inv.finish(done=bool(rows))


def _rows(inv: Invocation, found: Found, by: str) -> Iterator[dict[str, Any]]:
    for folder in found.partitions:
        try:
            one = list_partition(folder)
        except KcliError as error:
            _failed(inv, str(folder.tp), folder.path, error)
            continue
        if one.error is not None:
            inv.failed(one.error)
        if by == "segment":
            yield from one.segments
        else:
            yield one.row


def describe_segments(inv: Invocation, paths: tuple[str, ...], topics: tuple[str, ...]) -> int:
    """Returns the exit status."""
    inv.page()
    found = read_folders(inv, paths, topics)
    note_live(inv, found)
    image, missing = read_image(found.partitions)
    for part in missing:
        inv.lacks(part)
    items = []
    for folder in found.partitions:
        policy = policy_of(folder.tp.topic, image, cleaned=was_cleaned(folder))
        try:
            items.append(describe_partition(folder, policy))
        except KcliError as error:
            _failed(inv, str(folder.tp), folder.path, error)
    people = inv.out.list_kind() not in _OF_ITEMS
    rows = [line for item in items for line in lines_of(item)] if people else items
    print_rows(
        inv,
        "StoredPartitionDescriptionList",
        LINES if people else DESCRIBED,
        rows,
        cluster_of(found),
        item="StoredPartitionDescription",
    )
    return inv.finish(done=bool(items))


def _failed(inv: Invocation, what: str, path: str, error: KcliError) -> None:
    """Damage is a failure, with code 5; what cannot be read is missing."""
    if isinstance(error, CorruptRecordsError):
        inv.failed(error)
    else:
        inv.lacks(Missing(what, path, error))
