"""The stream reader of ``format("kcli")``: offsets on the driver, each batch read as the ranges between two of them."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kcli.core.admin.admin import Admin
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.error_codes import UNKNOWN_MEMBER_ID
from kcli.core.errors import ConfigError, DataLossError, KcliError, NotFoundError
from kcli.core.options import ClientOptions
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.pipeline.plan import split
from kcli.pipeline.spark.other_checkpoint import position_of
from kcli.pipeline.spark.source_planning import (
    existing_topics,
    open_consumer,
    partitions_of,
    pinned_topics,
    say_loss,
    topics_of,
)
from kcli.pipeline.spark.source_reading import SlicePartition, errors_carried, pieces, read_slice
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.pipeline.spark.stream_offsets import (
    Identity,
    continued,
    from_json,
    is_another,
    limited,
    recreated,
    slices_between,
    to_json,
)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Its client is made on the driver when it is needed, and is left behind when the reader travels to tasks."""

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._consumer: Consumer | None = None
        self._last: dict[TopicPartition, int] | None = None
        self._triggered: float | None = None
        self._said: set[str] = set()
        self._kept: dict[TopicPartition, tuple[int, str]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {
            "settings": self.settings,
            "_consumer": None,
            "_last": None,
            "_triggered": None,
            "_said": set(),
            "_kept": {},
        }

    # --- on the driver -----------------------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a query begins that has no checkpoint."""
        with errors_carried():
            consumer = self._connected()
            if self.settings.checkpoint:
                return self._of_other_query(consumer)
            topics = topics_of(self.settings, consumer)
            limit = self._limit(consumer)
            found = pinned_topics(self.settings, consumer, topics, limit)
            return to_json({each.tp: each.start for each in found}, self._identity(consumer, topics))

    def _of_other_query(self, consumer: Consumer) -> dict[str, Any]:
        """What the other query has read, in the partitions that are read here. A partition that it did not know is read
        from its beginning.
        """
        end, now = self._ends(consumer)
        other = position_of(self.settings.checkpoint, now.topics)
        begin, identity = continued(other.offsets, other.identity, end, now, self._lost)
        return to_json({tp: offset for tp, offset in begin.items() if tp in end}, identity)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """``maxOffsetsPerTrigger``."""
        return ReadMaxRows(self.settings.max_offsets) if self.settings.max_offsets else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The end of the next batch."""
        with errors_carried():
            begin, kept = from_json(start)
            consumer = self._connected()
            consumer.cluster.request_refresh()  # topics and partitions that were added, or created anew
            consumer.cluster.wait_refreshed(consumer.cluster.deadline(self._limit(consumer)))
            end, now = self._ends(consumer)
            begin, identity = continued(begin, kept, end, now, self._lost)
            self._keep(begin, identity)  # Spark asks for more when it has committed all until here
            if self._last is not None:
                end = {tp: min(stop, self._last[tp]) for tp, stop in end.items() if tp in self._last}
            end |= {tp: offset for tp, offset in begin.items() if tp not in end}
            if isinstance(limit, ReadMaxRows) or self.settings.min_offsets:
                begin = {**self._starts(consumer, [tp for tp in end if tp not in begin]), **begin}
            if self._waits(begin, end):
                return start
            if isinstance(limit, ReadMaxRows):
                end = limited(begin, end, limit.max_rows)
            return to_json(end, identity)

    def _waits(self, begin: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> bool:
        """Whether the next batch has too few records yet. What is read to an end does not wait."""
        least, now = self.settings.min_offsets, time.monotonic()
        if least and self._last is None and self._triggered is not None:
            there = sum(max(0, stop - begin[tp]) for tp, stop in end.items())
            if there < least and now - self._triggered < self.settings.max_delay_ms / 1000:
                return True
        self._triggered = now
        return False

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """What is appended from now on belongs to another run of the query."""
        with errors_carried():
            self._last, _ = self._ends(self._connected())

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """The ends of the log, which Spark shows in the progress of the query."""
        with errors_carried():
            return to_json(*self._ends(self._connected()))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a batch."""
        with errors_carried():
            begin, kept = from_json(start)
            stop, identity = from_json(end)
            consumer = self._connected()
            topics = self._topics(consumer)
            there = set(partitions_of(self.settings, consumer, topics, self._limit(consumer)))
            now = self._identity(consumer, topics).topics
            gone = recreated(identity.topics, now, self._lost)  # since the batch was planned
            stop = {tp: offset for tp, offset in stop.items() if tp.topic not in gone}
            before = kept.topics
            anew = {name for name, own in identity.topics.items() if is_another(before.get(name, own), own)}
            begin = {tp: offset for tp, offset in begin.items() if tp.topic not in anew}
            first = self._starts(consumer, [tp for tp in stop if tp in there])
            found = slices_between(begin, stop, first, identity.topics, self._lost)
            parts = pieces(split(found, self.settings.slots or 1), self.settings.largest)
            return [SlicePartition(each) for each in parts]

    def commit(self, end: dict[str, Any]) -> None:
        """Keeps the position in the group, if there is one. Spark has committed the batch."""
        with errors_carried():
            self._keep(*from_json(end))

    def _keep(self, position: Mapping[TopicPartition, int], identity: Identity) -> None:
        """Commits the position for ``commitOffsets``, with the ids of the topics: never for another topic of a name.

        What retention or a deletion took since is no error here: it is one where records are read.
        """
        group = self.settings.commit_group
        offsets = {
            tp: OffsetAndMetadata(offset, topic_id=bytes.fromhex(identity.topics[tp.topic]))
            for tp, offset in position.items()
            if tp.topic in identity.topics and self._kept.get(tp) != (offset, identity.topics[tp.topic])
        }
        if not group or not offsets:
            return
        options = self.settings.cluster.inner_options(ClientOptions)
        with Admin(options, timeout=self._limit(self._connected())) as admin:
            for tp, error in admin.commit_offsets({group: offsets})[group].items():
                if isinstance(error, DataLossError | NotFoundError):
                    continue
                if error is not None:
                    raise _not_kept(group, tp, error)
                self._kept[tp] = offsets[tp].offset, identity.topics[tp.topic]

    def stop(self) -> None:
        """Closes the client."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    # --- in a task ---------------------------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task of Spark."""
        if isinstance(partition, SlicePartition):
            yield from read_slice(self.settings, partition.slice)

    # --- internals ---------------------------------------------------------------------------------------

    def _connected(self) -> Consumer:
        if self._consumer is None:
            self._consumer = open_consumer(self.settings)
            self._consumer.connect(self._limit(self._consumer))
        return self._consumer

    def _ends(self, consumer: Consumer) -> tuple[dict[TopicPartition, int], Identity]:
        limit = self._limit(consumer)
        topics = self._topics(consumer)
        chosen = partitions_of(self.settings, consumer, topics, limit)
        return dict(ranges.bounds(consumer, chosen, limit).ends), self._identity(consumer, topics)

    def _topics(self, consumer: Consumer) -> list[str]:
        """The topics that are read; where loss is no failure, those of them that are there."""
        if self.settings.fail_on_loss:
            return topics_of(self.settings, consumer)
        return existing_topics(self.settings, consumer)

    def _lost(self, error: KcliError) -> None:
        if self.settings.fail_on_loss:
            raise error
        if str(error) not in self._said:
            self._said.add(str(error))
            say_loss(str(error))

    def _starts(self, consumer: Consumer, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict(ranges.bounds(consumer, partitions, self._limit(consumer)).starts) if partitions else {}

    def _identity(self, consumer: Consumer, topics: list[str]) -> Identity:
        view = consumer.cluster.view
        return Identity(view.cluster_id or "", {topic: view.topics[topic].id.hex() for topic in topics})

    def _limit(self, consumer: Consumer) -> float:
        return consumer.options.default_api_timeout_ms / 1000


def _not_kept(group: str, tp: TopicPartition, error: KcliError) -> KcliError:
    if getattr(error, "code", None) != UNKNOWN_MEMBER_ID:
        return error
    return ConfigError(
        f"the position of the stream in {tp} cannot be committed for group {group}",
        why="the group has members, and only they commit for it",
        do='.option("commitOffsets", …) names a group of the stream\'s own',
    )
