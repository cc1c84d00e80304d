"""Writes to the state of a job that does not run: with its lease, and with its transactional id, so that no instance of
it writes meanwhile or afterwards.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.options import ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.flows.mirror.job.lease import JobLease, transactional_id
from kcli.flows.mirror.job.state import JobId, SavedJob, StateRecord
from kcli.flows.mirror.job.store import STATE, saved_jobs
from kcli.flows.mirror.settings import Cluster
from kcli.flows.stop import Stop


class Target(NamedTuple):
    """The cluster that has the state: how it is reached. ``timeout`` in seconds."""

    cluster: Cluster
    admin: Admin
    hooks: Hooks
    timeout: float


def read_jobs(target: Target) -> Mapping[JobId, SavedJob]:
    """All jobs as they are saved now."""
    return saved_jobs(target.cluster, target.admin, target.hooks, wait=False)


class JobWriter:
    """``saved``: the job as it is now that nobody else writes it; None if it does not exist."""

    def __init__(self, producer: Producer, saved: SavedJob | None) -> None:
        self._producer = producer
        self.saved = saved

    def write(self, records: Sequence[StateRecord]) -> None:
        """Stores the records together."""
        now = wall_ms()
        errors: list[KcliError] = []
        with self._producer.transaction():
            rows = [(key, value, NO_HEADERS, now) for key, value in records]
            self._producer.send_rows(STATE.topic, rows, partition=STATE.partition, origin=errors)


@contextmanager
def job_writer(target: Target, job: JobId) -> Iterator[JobWriter]:
    """Raises ConflictError where the job runs."""
    with JobLease(target.cluster, target.admin, job, target.hooks) as lease:
        lease.take(Stop(), stand_by=False, note=lambda _text: None, waiting=lambda: True)
        with fenced_writer(target, job) as writer:
            yield writer


@contextmanager
def fenced_writer(target: Target, job: JobId) -> Iterator[JobWriter]:
    """For a process that has the lease already."""
    options = target.cluster.options(ProducerOptions, linger_ms=0, transactional_id=transactional_id(job))
    with Producer(options, hooks=target.hooks) as producer:
        producer.connect([STATE.topic], target.timeout)
        producer.init_transactions(target.timeout)
        saved = saved_jobs(target.cluster, target.admin, target.hooks)
        yield JobWriter(producer, saved.get(job))
