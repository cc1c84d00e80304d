"""Offsets of a stream as Spark keeps them in a checkpoint: ``{"orders": {"0": 17}, "@kcli": …}``. Pure.

As the offsets of Spark's own connector, and one entry more, whose name no topic can have: the cluster and the ids of the
topics, so that a checkpoint is not continued with others.

What is lost is passed to ``lost``, which raises the error, or says it and returns where loss is no failure. Then a topic
that was created anew is read from its beginning, a truncated partition from its end, and of a deleted topic the position
is kept: a broker that lags does not list a topic either, and the topic must not be read twice when it does again.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, DataLossError, KcliError
from kcli.core.types import TopicPartition
from kcli.pipeline.plan import Slice

IDENTITY = "@kcli"
_GO_ON = '.option("failOnDataLoss", "false") continues with what is there'
_UNKNOWN = bytes(16).hex()

Offsets = dict[TopicPartition, int]
Lost = Callable[[KcliError], object]


class Identity(NamedTuple):
    """Which cluster, and of each topic its id in hex (zeros: the brokers have none)."""

    cluster: str
    topics: Mapping[str, str]


def unknown_topics(topics: Collection[str]) -> Identity:
    """That of offsets that do not say what they belong to."""
    return Identity("", dict.fromkeys(topics, _UNKNOWN))


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


def continued(
    start: Mapping[TopicPartition, int],
    kept: Identity,
    end: Mapping[TopicPartition, int],
    now: Identity,
    lost: Lost,
) -> tuple[Offsets, Identity]:
    """The positions of a checkpoint that still count, in logs that end at ``end`` now, and what they belong to.

    ConfigError for a checkpoint of another cluster or, where loss is a failure, of other topics.
    """
    if kept.cluster and now.cluster and kept.cluster != now.cluster:
        raise ConfigError(
            f"the checkpoint belongs to cluster {kept.cluster}, and this is cluster {now.cluster}",
            why="its offsets mean other records here",
            do="use another checkpointLocation, or the brokers of that cluster",
        )
    anew = recreated(kept.topics, now.topics, lost)
    found: Offsets = {}
    for tp, offset in sorted(start.items()):
        if tp.topic in anew:
            continue
        if tp not in end:
            lost(
                DataLossError(
                    f"{tp} does not exist any more",
                    why="the topic was deleted, or created again with fewer partitions",
                    do=f"use another checkpointLocation to read what is there; {_GO_ON}",
                )
            )
        elif end[tp] < offset:
            lost(
                DataLossError(
                    f"{tp}: the checkpoint is at offset {offset}, and the log ends at {end[tp]}",
                    why="the topic was truncated, or created again",
                    do=f"use another checkpointLocation to read what is there; {_GO_ON}",
                )
            )
        found[tp] = min(offset, end.get(tp, offset))
    return found, Identity(now.cluster, {**kept.topics, **now.topics})


def recreated(before: Mapping[str, str], now: Mapping[str, str], lost: Lost) -> set[str]:
    """The topics whose ids are others now. One that is not read any more is loss, too."""
    found = set()
    for topic, topic_id in before.items():
        if topic not in now:
            lost(
                ConfigError(
                    f"the checkpoint belongs to topic {topic}, which is not read now",
                    why=f"the topics are {', '.join(sorted(now)) or 'none'}",
                    do=f"use another checkpointLocation, or name that topic too; of a deleted one {_GO_ON}",
                )
            )
        elif is_another(topic_id, now[topic]):
            found.add(topic)
            lost(
                DataLossError(
                    f"topic {topic} was deleted and created again",
                    why="the checkpoint has offsets of the former one",
                    do=f"use another checkpointLocation to read the new one; {_GO_ON}",
                )
            )
    return found


def is_another(before: str, now: str) -> bool:
    """Whether two ids of a name are those of two topics."""
    return _UNKNOWN not in (before, now) and before != now


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
    lost: Lost,
) -> list[Slice]:
    """The ranges of a batch. ``first``: where the logs begin. A partition that is new begins where its log does; one
    that has no log any more has nothing.
    """
    found = []
    for tp in sorted(end):
        begin, stop = start.get(tp, first.get(tp, 0)), end[tp]
        if begin < stop and begin < first.get(tp, stop):
            there = first.get(tp, stop)
            lost(
                DataLossError(
                    f"{tp}: offsets {begin} to {min(there, stop) - 1} are no longer there",
                    why="retention or a deletion removed them before they were read"
                    + (f"; the log begins at {there}" if tp in first else ""),
                    do=_GO_ON,
                )
            )
            begin = there
        if begin < stop:
            found.append(
                Slice(tp.topic, bytes.fromhex(topic_ids.get(tp.topic, _UNKNOWN)), tp.partition, begin, stop)
            )
    return found
