"""What is known of the jobs that write to a cluster: their records in its topic of states, and who runs them.

A record is as old as its last write, so whether a job runs is asked of the group of its instances, and not of the age.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.hooks import Hooks
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.job.lease import Instances, read_instances
from kcli.flows.mirror.job.state import (
    JobId,
    PartitionProgress,
    SavedJob,
    SavedPartition,
    is_running,
)
from kcli.flows.mirror.job.store import saved_jobs
from kcli.flows.mirror.settings import Cluster
from kcli.output.tables import time_text


class KnownJob(NamedTuple):
    """A job with its instances. ``runs``: None where that is not known."""

    id: JobId
    saved: SavedJob
    instances: Instances
    runs: bool | None

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each partition, in order."""
        for tp, partition in sorted(self.saved.partitions.items()):
            yield self._row(tp, partition)

    def _row(self, tp: TopicPartition, partition: SavedPartition) -> dict[str, Any]:
        state, progress, holder = self.saved.state, partition.progress, self.instances.holder
        name, since_ms, why = self._partition_state(tp, partition)
        return {
            "job": state.job,
            "topic": tp.topic,
            "partition": tp.partition,
            "target": progress.target,
            "position": progress.position,
            "lag_records": None
            if progress.source_end < 0
            else max(0, progress.source_end - progress.position),
            "end_seen_at": _end_seen_ms(progress),
            "records": progress.records,
            "state": name,
            "since": since_ms if since_ms > 0 else None,
            "why": why or None,
            "gaps": [[gap.first, gap.last] for gap in progress.gaps],
            "running": self.runs,
            "host": state.host if holder is None else holder.host,
            "pid": (state.pid or None) if holder is None else holder.pid,
            "running_since": None if holder is None else holder.since_ms,
            "standbys": [
                {"host": one.host, "pid": one.pid, "since": time_text(one.since_ms)}
                for one in self.instances.standbys
            ],
            "delivery": state.delivery,
            "updated_at": progress.updated_ms,
            "source_cluster": state.source,
        }

    def _partition_state(self, tp: TopicPartition, partition: SavedPartition) -> tuple[str, int, str]:
        """Its state, since when (ms; 0: not known), and why. What was saved last is of a process that may be gone."""
        state, progress = self.saved.state, partition.progress
        if state.promoted_ms and state.selects(tp.topic):
            return State.PROMOTED, state.promoted_ms, "its target may be written by others since then"
        if not state.selects(tp.topic):
            return State.NOT_SELECTED, 0, "the last run of the job did not select the topic"
        if self.runs is False and progress.state != State.ENDED:
            why = "its last run has ended" if state.ended else "its last run was killed, or lost the target"
            return State.ENDED, state.updated_ms, why
        return saved_state(partition)


def saved_state(partition: SavedPartition) -> tuple[str, int, str]:
    """The state as it was saved last, since when (ms; 0: not known), and why; what earlier versions did not save follows
    from the position.
    """
    progress = partition.progress
    if progress.state:
        return progress.state, progress.state_since_ms, progress.why
    return (State.CAUGHT_UP if progress.position >= progress.source_end >= 0 else State.COPYING), 0, ""


def _end_seen_ms(progress: PartitionProgress) -> int | None:
    """When the end was read last; None for never. Earlier versions have no time for that."""
    if not progress.state:
        return progress.updated_ms
    return progress.end_seen_ms if progress.end_seen_ms > 0 else None


def known_jobs(cluster: Cluster, admin: Admin, hooks: Hooks) -> list[KnownJob]:
    """All jobs that write to the cluster, by name and source."""
    saved = saved_jobs(cluster, admin, hooks, wait=False)
    return with_instances(saved, read_instances(admin, [job for job in saved if not job.is_old]), wall_ms())


def with_instances(
    saved: Mapping[JobId, SavedJob], instances: Mapping[JobId, Instances], now: int
) -> list[KnownJob]:
    """The jobs with who runs them. Those of version 1 have no lease: one that is old does not run, and of another one it
    is not known. Pure.
    """
    found = []
    for job in sorted(saved, key=lambda one: (one.job, one.source)):
        if job.is_old:
            runs = None if is_running(saved[job].state, now) else False
            found.append(KnownJob(job, saved[job], Instances(known=False), runs))
        else:
            own = instances[job]
            found.append(KnownJob(job, saved[job], own, own.holder is not None if own.known else None))
    return found
