"""What ``segments describe`` says of a partition: from its checkpoints, indexes and the headers of all its batches."""

import os
from typing import Any

from kcli.core.codecs.codec import codec_name
from kcli.core.logdir.folders import PartitionFolder, read_file
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.logdir.producer_snapshot import SUFFIX, parse_producer_snapshot
from kcli.flows.segments.listing import id_text
from kcli.flows.segments.policies import Policy
from kcli.output.tables import Column, time_text

_PRODUCER = (
    Column("producer_id", values="count", meaning="Its id."),
    Column("epoch", values="integer", meaning="Its epoch."),
    Column("last_sequence", values="integer", meaning="Sequence number of its last record."),
    Column("last_offset", values="integer", meaning="Offset of its last record; -1 without one."),
    Column("timestamp", values="integer", meaning="Time of its last batch, in ms since the epoch."),
    Column(
        "coordinator_epoch", values="integer", meaning="Epoch of its coordinator; -1 without transactions."
    ),
    Column(
        "open_since_offset",
        values="count?",
        meaning="First offset of its open transaction; null without one.",
    ),
)
DESCRIBED = (
    Column("topic"),
    Column("partition", "id"),
    Column("node", "id", values="integer?", meaning="Id of the broker by meta.properties; null where that is not known."),
    Column("path", values="string", meaning="The folder."),
    Column("topic_id", values="string?", meaning="Id of the topic by partition.metadata; null without such a file."),
    Column("state", values=("current", "delete", "future", "stray"), meaning="What the folder is, as of segments list."),
    Column("live", values="boolean?", meaning="Whether a broker has it open; null where that cannot be told."),
    Column("clean_shutdown", values="boolean?", meaning="Whether the broker stopped in order; null if not known."),
    Column("cleanup_policy", values=("compacted", "not compacted", "unknown"), meaning="Whether offsets may be missing."),
    Column("cleanup_policy_from", values="string", meaning="From what that is known."),
    Column("segments", "number", values="count", meaning="Number of .log files."),
    Column("size_bytes", "size", values="count", meaning="Bytes of the .log files."),
    Column("log_start", "number", values="count", meaning="First offset: of the checkpoint or the first segment."),
    Column("high_watermark", "number", values="count?", meaning="High watermark by the checkpoint; null without one."),
    Column("recovery_point", "number", values="count?", meaning="Recovery point by the checkpoint; null without one."),
    Column("end_offset", "number", values="count", meaning="Offset behind the last record."),
    Column("last_stable_offset", "number", values="count", meaning="Offset of the first open transaction, or the end."),
    Column("batches", "number", values="count", meaning="Batches with records."),
    Column("records", "number", values="count", meaning="Records."),
    Column("markers", "number", values="count", meaning="Control batches: ends of transactions, and those of KRaft."),
    Column("holes", "number", values="count", meaning="Offsets that have no record: compacted away, or lost."),
    Column("first_time", "time", meaning="Lowest base timestamp of a batch."),
    Column("last_time", "time", meaning="Highest timestamp of a batch."),
    Column("codecs", values="counts", meaning="Batches by the codec that they are compressed with."),
    Column("batch_sizes", values="counts", meaning="Batches by size: a key is the largest size of its class."),
    Column(
        "leader_epochs",
        values="objects",
        inner=(
            Column("epoch", values="count", meaning="The leader epoch."),
            Column("start_offset", values="count", meaning="The first offset of its leader."),
        ),
        meaning="Leader epochs by leader-epoch-checkpoint.",
    ),
    Column(
        "producers",
        values="objects",
        inner=_PRODUCER,
        meaning="Producers by the last .snapshot.",
    ),
    Column("producers_at", values="count?", meaning="The offset of that snapshot; null without one."),
    Column(
        "open_transactions",
        values="objects",
        inner=(
            Column("producer_id", values="count", meaning="Its producer."),
            Column("first_offset", values="count", meaning="Its first offset."),
        ),
        meaning="Transactions without an end in the log: a consumer with read_committed stops at the first.",
    ),
    Column("aborted_transactions", "number", values="count", meaning="Aborted transactions."),
    Column(
        "tail",
        values="object?",
        inner=(
            Column("position", values="count", meaning="Where it begins in the last segment."),
            Column("size_bytes", values="count", meaning="Its size."),
            Column("what", values="string", meaning="What it is."),
        ),
        meaning="Bytes behind the last whole batch; null without any.",
    ),
)  # fmt: skip
LINES = (
    Column("topic"),
    Column("partition", "id"),
    Column("property"),
    Column("value", "prose"),
)
"""What people see: a line for each property."""


def describe_partition(folder: PartitionFolder, policy: Policy) -> dict[str, Any]:
    """The item of a partition. Raises what cannot be read."""
    codecs, sizes = [0] * 8, [0] * 32
    batches = records = markers = holes = 0
    lowest = highest = -1
    with PartitionLog(folder) as log:
        then = log.files[0].base_offset if log.files else 0
        for number in range(len(log.files)):
            for found in log.segment(number).scan():
                batches += found.batches - found.markers
                records, markers = records + found.records, markers + found.markers
                holes += max(0, found.next_offset - max(then, 0) - found.records - found.markers)
                then = found.next_offset
                lowest = found.lowest if lowest < 0 else min(lowest, found.lowest)
                highest = max(highest, found.highest)
                for counts, more in ((codecs, found.codecs), (sizes, found.sizes)):
                    for index, count in enumerate(more):
                        counts[index] += count
        open_transactions = log.open_transactions()
        producers_at, producers = _producers(folder)
        tail = log.tail
        known = policy.compacted
        log_dir = folder.log_dir
        return {
            "topic": folder.tp.topic,
            "partition": folder.tp.partition,
            "node": log_dir.node_id if log_dir and log_dir.node_id >= 0 else None,
            "path": folder.path,
            "topic_id": id_text(folder.topic_id),
            "state": folder.state,
            "live": log_dir.live if log_dir else None,
            "clean_shutdown": log_dir.clean if log_dir else None,
            "cleanup_policy": "unknown" if known is None else "compacted" if known else "not compacted",
            "cleanup_policy_from": policy.origin,
            "segments": len(log.files),
            "size_bytes": sum(file.size for file in log.files),
            "log_start": log.start_offset,
            "high_watermark": _offset(folder.high_watermark),
            "recovery_point": _offset(folder.recovery_point),
            "end_offset": log.end_offset,
            "last_stable_offset": log.last_stable_offset,
            "batches": batches,
            "records": records,
            "markers": markers,
            "holes": holes,
            "first_time": _offset(lowest),
            "last_time": _offset(highest),
            "codecs": {codec_name(index): count for index, count in enumerate(codecs) if count},
            "batch_sizes": {str((2 << bits) - 1): count for bits, count in enumerate(sizes) if count},
            "leader_epochs": [one._asdict() for one in log.stored_epochs()],
            "producers": producers,
            "producers_at": producers_at,
            "open_transactions": [one._asdict() for one in open_transactions],
            "aborted_transactions": sum(len(log.ended(number).aborted) for number in range(len(log.files))),
            "tail": tail and {"position": tail.position, "size_bytes": tail.size, "what": tail.why},
        }


def lines_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The item as lines for people; what is empty has none."""
    lines = []
    for key, value in item.items():
        if key in ("topic", "partition") or value in (None, [], {}):
            continue
        lines.append(
            {
                "topic": item["topic"],
                "partition": item["partition"],
                "property": key,
                "value": _text(key, value),
            }
        )
    return lines


def _text(key: str, value: Any) -> str:
    if key in ("first_time", "last_time"):
        return time_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key == "batch_sizes":
        return ", ".join(f"{count:,} up to {int(size) + 1:,} bytes" for size, count in value.items())
    if isinstance(value, dict):
        return ", ".join(
            f"{name} {amount:,}" if isinstance(amount, int) else f"{name}: {amount}"
            for name, amount in value.items()
        )
    if isinstance(value, list):
        shown = [
            ", ".join(f"{name} {inner}" for name, inner in one.items() if inner is not None)
            for one in value[:_SHOWN]
        ]
        more = [f"and {len(value) - _SHOWN} more"] if len(value) > _SHOWN else []
        return "; ".join([*shown, *more])
    return f"{value:,}" if isinstance(value, int) and key != "node" else str(value)


_SHOWN = 20


def _offset(number: int) -> int | None:
    return number if number >= 0 else None


def _producers(folder: PartitionFolder) -> tuple[int | None, list[dict[str, Any]]]:
    """Those of the last snapshot."""
    names = sorted(name for name in os.listdir(folder.path) if name.endswith(SUFFIX) and name[:20].isdigit())
    if not names or folder.files:
        return None, []
    path = os.path.join(folder.path, names[-1])
    found = parse_producer_snapshot(read_file(path) or b"", path)
    rows = [
        {
            "producer_id": one.producer_id,
            "epoch": one.epoch,
            "last_sequence": one.last_sequence,
            "last_offset": one.last_offset,
            "timestamp": one.timestamp,
            "coordinator_epoch": one.coordinator_epoch,
            "open_since_offset": _offset(one.first_offset),
        }
        for one in found
    ]
    return int(names[-1][:20]), rows
