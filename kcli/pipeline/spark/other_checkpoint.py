"""The position of another streaming query, from its checkpoint: the end of the last batch that it has committed.

A checkpoint is a folder: ``offsets/N`` is written before batch N runs and has where it ends, a line for each source
after the version and the metadata; ``commits/N`` says that it has run (Spark's OffsetSeqLog and CommitLog). Nothing
here needs pyspark.
"""

import json
from collections.abc import Collection
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition
from kcli.pipeline.spark.stream_offsets import IDENTITY, Identity, Offsets, from_json, unknown_topics
from kcli.pipeline.store.urls import open_store


class OtherQuery(NamedTuple):
    """``offsets``: where its next batch begins. ``identity``: what they belong to; the connector does not store that."""

    batch: int
    offsets: Offsets
    identity: Identity


def position_of(url: str, topics: Collection[str]) -> OtherQuery:
    """The position in these topics; ConfigError for a folder without one."""
    batch = _last_committed(url)
    document = open_store(url).read(f"offsets/{batch}")
    if document is None:
        raise _refused(url, f"offsets/{batch} is missing, and commits/{batch} is there")
    found = [
        source
        for line in document.data.decode(errors="replace").splitlines()[2:]
        if (source := _source(line)) and not {tp.topic for tp in source[0]}.isdisjoint(topics)
    ]
    if len(found) != 1:
        many = f"{len(found)} sources of its query read" if found else "no source of its query reads"
        raise _refused(url, f"{many} {', '.join(sorted(topics))}")
    return OtherQuery(batch, *found[0])


def _last_committed(url: str) -> int:
    committed = [int(name) for name in open_store(f"{url}/commits").names() if name.isdecimal()]
    if not committed:
        raise _refused(url, "commits/ has no batch: no query has committed one there")
    return max(committed)


def _source(line: str) -> tuple[Offsets, Identity] | None:
    """The offsets of a source of Kafka; None for another one."""
    try:
        values: Any = json.loads(line)
        if isinstance(values, dict) and IDENTITY in values:
            return from_json(values)
        offsets = {
            TopicPartition(topic, int(number)): offset
            for topic, partitions in values.items()
            for number, offset in partitions.items()
            if isinstance(offset, int)
        }
    except (ValueError, AttributeError):
        return None
    return (offsets, unknown_topics({tp.topic for tp in offsets})) if offsets else None


def _refused(url: str, why: str) -> ConfigError:
    return ConfigError(
        f"startingCheckpoint={url} has no position to go on from",
        why=why,
        do='name the checkpointLocation of a query of format("kafka") or format("kcli") that reads the same topics',
    )
