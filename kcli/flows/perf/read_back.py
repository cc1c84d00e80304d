"""``perf produce --verify``: reads back what was confirmed, from where the partitions ended before the test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.ranges import bounds, choose_partitions
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError, TimedOutError
from kcli.core.hooks import Hooks
from kcli.core.options import ConsumerOptions
from kcli.core.records.run import RUN_BYTES
from kcli.core.types import TopicPartition
from kcli.flows.perf.integrity import Integrity, Trace
from kcli.flows.perf.marks import MAGIC, PREFIX_SIZE
from kcli.flows.perf.sequences import Sequences
from kcli.flows.stop import Stop

_NAMED = 5  # partitions in a message
_LOOK = 0.1  # seconds between two looks at a request to stop
_SILENCE = 30.0  # seconds without a record after which a partition that has more is given up
_PATIENCE = 3.0  # seconds for records that a leader has confirmed with acks=1 and does not show yet


class ReadBack:
    """A reader of one topic. ``pin`` before the test, ``check`` after it: between them it has no connection."""

    def __init__(self, options: ConsumerOptions, topic: str, timeout: float, hooks: Hooks) -> None:
        self._options = options
        self._topic = topic
        self._timeout = timeout
        self._hooks = hooks
        self._starts: Mapping[TopicPartition, int] = {}

    def pin(self) -> None:
        """What is in the topic now is not read."""
        with self._consumer() as consumer:
            self._starts = self._ends(consumer)

    def check(
        self, sent: Mapping[bytes, Sequences], stop: Stop, on_progress: Callable[[int], object]
    ) -> Integrity | None:
        """Reads everything since ``pin``. ``sent``: what was confirmed, by the heads of the marks. None if stopped;
        TimedOutError where brokers send nothing of a partition for long.

        ``on_progress`` receives how many records were read.
        """
        with self._consumer() as consumer:
            ends = self._ends(consumer)
            consumer.assign({tp: Span(self._starts.get(tp, 0)) for tp in ends})
            trace, records, heard = Trace(), 0, time.monotonic()
            while not stop:
                batches = consumer.poll(_LOOK)
                records += sum(_add(trace, fetched) for fetched in batches)
                on_progress(records)
                now = time.monotonic()
                heard = now if batches else heard
                unread = [tp for tp, end in ends.items() if consumer.state(tp).position < end]
                if not unread and (_complete(trace, sent) or now - heard >= _PATIENCE):
                    return trace.judge_sent(sent)
                if unread and now - heard >= _SILENCE:
                    raise _silent(unread)
        return None

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        with Consumer(self._options, hooks=self._hooks, joins=RUN_BYTES) as consumer:
            consumer.connect(self._timeout)
            yield consumer

    def _ends(self, consumer: Consumer) -> Mapping[TopicPartition, int]:
        partitions = choose_partitions(consumer, [self._topic], None, self._timeout)
        return bounds(consumer, partitions, self._timeout).ends


def _add(trace: Trace, fetched: FetchedBatch) -> int:
    try:
        records, _, runs = fetched.batch.marks(fetched.first, fetched.stop, MAGIC, PREFIX_SIZE)
    except CorruptRecordsError as error:
        raise error.in_partition(fetched.tp) from error
    trace.add(fetched.tp.partition, fetched.first, fetched.then, runs)
    fetched.batch.forget_payload()
    return records


def _silent(unread: Sequence[TopicPartition]) -> TimedOutError:
    names = ", ".join(str(tp) for tp in unread[:_NAMED]) + (", …" if len(unread) > _NAMED else "")
    return TimedOutError(
        f"no record of {names} came for {_SILENCE:g} s",
        why="they are not read to their end",
        do="check that the brokers are running; `kcli perf consume -t TOPIC` judges the topic later",
    )


def _complete(trace: Trace, sent: Mapping[bytes, Sequences]) -> bool:
    return not any(numbers.without(trace.found(head)) for head, numbers in sent.items())
