"""What the fault tests of the mirror share: a job from one fake cluster to another. Not a test."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from kcli.core import Consumer, Producer
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.exactly_once import ExactlyOnceCopy
from kcli.flows.mirror.copy.loop import Copy, Deliveries
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.job.state import JobId, JobState, SavedJob, load_jobs
from kcli.flows.mirror.job.store import FencedStore, Progress, TopicStore
from kcli.flows.mirror.settings import Pace
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from kcli.flows.stop import Stop
from tests.fake.cluster import FakeCluster
from tests.fault.fetching import quick_reader
from tests.fault.producing import quick

JOB = "job"


def saved_job(target: FakeCluster) -> SavedJob | None:
    """What the state topic says now."""
    with quick_reader(target, isolation_level="read_committed") as reader:
        tp = TopicPartition(STATE_TOPIC, 0)
        log = target.log(*tp)
        from kcli.core.consumer.subscription import Span

        reader.assign({tp: Span(0, log.end_offset)})
        if not log.end_offset:
            return None
        return load_jobs((record.key, record.value) for record in reader).get(JobId("a", JOB))


class Job:
    """One run of a mirror of ``partitions`` partitions of topic ``t``; resumes where the state topic says."""

    def __init__(
        self,
        source: FakeCluster,
        target: FakeCluster,
        partitions: int,
        *,
        exactly_once: bool,
        interval: float = 0.05,
        stops: Sequence[int] | None = None,
        how: Any = None,
        reader: Any = None,
        **producer: Any,
    ) -> None:
        self._stack = ExitStack()
        self.stop = Stop()
        isolation = "read_committed"
        self.consumer: Consumer = self._stack.enter_context(
            quick_reader(
                source,
                isolation_level=isolation,
                max_poll_records=1 << 30,
                on_out_of_range="fail",
                show_control_batches=True,
                **(reader or {}),
            )
        )
        deliveries = Deliveries(transactional=exactly_once)
        wishes = {"transactional_id": f"kcli-mirror-{JOB}"}
        self.producer: Producer = self._stack.enter_context(
            quick(target, on_delivery=deliveries, **{**(wishes if exactly_once else {}), **producer})
        )
        writer = self.producer if exactly_once else self._stack.enter_context(quick(target, **wishes))
        writer.init_transactions(20)
        saved = saved_job(target)
        copies = []
        for number in range(partitions):
            tp, copy = TopicPartition("t", number), TopicPartition("copy", number)
            stop = source.log(*tp).end_offset if stops is None else stops[number]
            if saved is not None and tp in saved.partitions:
                old = saved.partitions[tp]
                made = PartitionCopy(
                    tp, copy, old.offsets, position=old.progress.position,
                    leader_epoch=old.progress.leader_epoch, stop=stop,
                )  # fmt: skip
            else:
                offsets = OffsetMap(0, target.log(*copy).end_offset)
                made = PartitionCopy(tp, copy, offsets, position=0, stop=stop)
            copies.append(made)
        state = JobState(
            job=JOB, run="r", partitions="keep", source="a", target="b", source_servers="", delivery="",
            topics={"t": "copy"}, started_ms=0, updated_ms=0, host="",
        )  # fmt: skip
        progress = Progress(state, saved)
        kind = ExactlyOnceCopy if exactly_once else Copy
        store = TopicStore(writer, progress) if exactly_once else FencedStore(writer, progress, self.stop)
        self.copy = kind(
            self.consumer,
            self.producer,
            deliveries,
            copies,
            store,
            stop=self.stop,
            pace=Pace(interval),
            **(how or {}),
        )

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def run(self) -> dict[TopicPartition, PartitionCopy]:
        """Runs it to its end."""
        self.copy.run()
        return self.copy.copies
