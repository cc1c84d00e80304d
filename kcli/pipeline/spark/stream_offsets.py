"""Offsets of a stream as Spark keeps them in a checkpoint: ``{"orders": {"0": 17}, "@kcli": …}``. Pure.

As the offsets of Spark's own connector, and one entry more, whose name no topic can have: the cluster and the ids of the
topics, so that a checkpoint is not continued with others.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kcli.core.errors import ConfigError, DataLossError
from kcli.core.types import TopicPartition
from kcli.pipeline.plan import Slice

IDENTITY = "@kcli"
_UNKNOWN = bytes(16).hex()

Offsets = dict[TopicPartition, int]


class Identity(NamedTuple):
    """Which cluster, and of each topic its id in hex (zeros: the brokers have none)."""

    cluster: str
    topics: Mapping[str, str]


def to_json(offsets: Mapping[TopicPartition, int], identity: Identity) -> dict[str, Any]:
    """The offsets and the identity as the JSON that Spark stores."""
    found: dict[str, Any] = {}
    for tp in sorted(offsets):
        found.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    found[IDENTITY] = {"cluster": identity.cluster, "topics": dict(identity.topics)}
    return found


def from_json(values: Mapping[str, Any]) -> tuple[Offsets, Identity]:
    """Reads what Spark has stored; ConfigError for what is no offset of this source."""
    try:
        own = values[IDENTITY]
        offsets = {
            TopicPartition(topic, int(number)): int(offset)
            for topic, partitions in values.items()
            if topic != IDENTITY
            for number, offset in partitions.items()
        }
        return offsets, Identity(str(own["cluster"]), dict(own["topics"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ConfigError(
            'the checkpoint has no offsets of format("kcli")',
            why="another source wrote it, or it is damaged",
            do="use another checkpointLocation; where reading begins is then said by offset or since",
        ) from None


def check_identity(kept: Identity, now: Identity) -> None:
    """ConfigError for a checkpoint of another cluster or of other topics, DataLossError for a recreated topic."""
    if kept.cluster and now.cluster and kept.cluster != now.cluster:
        raise ConfigError(
            f"the checkpoint belongs to cluster {kept.cluster}, and this is cluster {now.cluster}",
            why="its offsets mean other records here",
            do="use another checkpointLocation, or the brokers of that cluster",
        )
    for topic, topic_id in kept.topics.items():
        if topic not in now.topics:
            raise ConfigError(
                f"the checkpoint belongs to topic {topic}, which is not read now",
                why=f"the topics are {', '.join(sorted(now.topics)) or 'none'}",
                do="use another checkpointLocation, or name that topic too; deleted topics need a new checkpoint",
            )
        found = now.topics[topic]
        if _UNKNOWN not in (found, topic_id) and found != topic_id:
            raise DataLossError(
                f"topic {topic} was deleted and created again",
                why="the checkpoint has offsets of the former one",
                do="use another checkpointLocation to read the new one",
            )


def limited(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], most: int) -> Offsets:
    """``end`` moved back so that about ``most`` offsets are read, in proportion to what each partition has."""
    sizes = {tp: max(0, stop - start.get(tp, stop)) for tp, stop in end.items()}
    total = sum(sizes.values())
    if total <= most:
        return dict(end)
    found: Offsets = {}
    left = most
    for tp, stop in sorted(end.items()):
        share = min(sizes[tp], left, -(-sizes[tp] * most // total))
        left -= share
        found[tp] = stop if share == sizes[tp] else start.get(tp, stop) + share
    return found


def slices_between(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    first: Mapping[TopicPartition, int],
    topic_ids: Mapping[str, str],
    *,
    fail_on_loss: bool,
) -> list[Slice]:
    """The ranges of a batch. ``first``: where the logs begin; DataLossError if records between were removed, unless they
    shall be left out. A partition that is new begins where its log does.
    """
    found = []
    for tp in sorted(end):
        begin, stop = start.get(tp, first.get(tp, 0)), end[tp]
        if begin < first.get(tp, 0) and begin < stop:
            if fail_on_loss:
                raise DataLossError(
                    f"{tp}: offsets {begin} to {min(first[tp], stop) - 1} are no longer there",
                    why=f"retention or a deletion removed them before they were read; the log begins at {first[tp]}",
                    do='.option("failOnDataLoss", "false") continues without them',
                )
            begin = first[tp]
        if begin < stop:
            found.append(
                Slice(tp.topic, bytes.fromhex(topic_ids.get(tp.topic, _UNKNOWN)), tp.partition, begin, stop)
            )
    return found


def check_not_behind(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> None:
    """DataLossError if a log ends before the checkpoint: it was truncated, or is another one."""
    for tp, offset in sorted(start.items()):
        if tp in end and end[tp] < offset:
            raise DataLossError(
                f"{tp}: the checkpoint is at offset {offset}, and the log ends at {end[tp]}",
                why="the topic was truncated, or created again",
                do="use another checkpointLocation to read what is there",
            )
        if tp not in end:
            raise DataLossError(
                f"{tp} does not exist any more",
                why="the topic was deleted, or created again with fewer partitions",
                do="use another checkpointLocation to read what is there",
            )
