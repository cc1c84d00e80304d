"""What earlier runs of a job have left: its saved state, also that of version 1 of kcli; and they are fenced."""

from collections.abc import Sequence

from kcli.core.admin.admin import Admin
from kcli.core.hooks import Hooks
from kcli.core.producer.producer import Producer
from kcli.flows.mirror.job.job import EXACTLY_ONCE, NOTHING_TAKEN, promoted, taken_over
from kcli.flows.mirror.job.state import JobId, JobState, SavedJob, StateRecord, job_record, load_jobs
from kcli.flows.mirror.job.store import StateReader, read_file_records
from kcli.flows.mirror.settings import Cluster, MirrorSettings
from kcli.flows.mirror.topics.survey import Selection

_OLD_TIMEOUT_MS = 60_000


class EarlierRuns:
    """Those of one job, until this run has fenced them; ``source`` and ``admin`` are of the source and the target."""

    def __init__(
        self,
        job: JobId,
        settings: MirrorSettings,
        selection: Selection,
        source: Admin,
        target: Cluster,
        admin: Admin,
        hooks: Hooks,
    ) -> None:
        self._id = job
        self._settings, self._selection = settings, selection
        self._source, self._admin = source, admin
        self._topic = StateReader(target, admin, hooks)
        self._taken = NOTHING_TAKEN  # of version 1, as it was read last
        self.file_records: list[StateRecord] = []
        """Those of the checkpoint file, as it was read last."""

    def saved_before_plan(self) -> SavedJob | None:
        """What is saved, without waiting for a transaction of this job that a kill left open: it ends when the copy
        initializes its transactional id, and then the state is read again.
        """
        found = self.saved(wait=False)
        return self.saved() if found is None else found

    def saved(self, *, wait: bool = True) -> SavedJob | None:
        """What runs of this job have saved until now, and what it takes over. ``wait``: see ``StateReader.jobs``."""
        settings = self._settings
        if settings.checkpoint is not None:
            self.file_records = read_file_records(settings.checkpoint)
            jobs = load_jobs(self.file_records)
        else:
            jobs = self._topic.jobs(wait=wait)
        source = self._source.cluster_id()
        saved, self._taken = taken_over(jobs, self._id, self._selection, settings.renames, source)
        if saved is not None and saved.state.promoted_ms:
            raise promoted(saved.state)
        return saved

    def fence(self, writer: Producer, patience: float) -> None:
        """From here on no earlier run can write a position. A transaction that it left open is aborted (KIP-98), or
        committed, if its coordinator had decided that; ``init_transactions`` returns after its end. Runs of version 1
        had an id without the source.
        """
        writer.init_transactions(patience)
        old = [name for name, one in self._taken.jobs.items() if one.state.delivery == EXACTLY_ONCE]
        if old:
            fenced = self._admin.fence_producers({f"kcli-mirror-{name}": _OLD_TIMEOUT_MS for name in old})
            for error in fenced.values():
                if error is not None:
                    raise error

    def claim(self, state: JobState) -> list[StateRecord]:
        """What is written before the first record: the job, and what it takes over."""
        return [*self._taken.records(self._id), job_record(state)]

    @property
    def remarks(self) -> Sequence[str]:
        """What the plan says of jobs that are taken over."""
        return [
            f"  takes over job {name} of an earlier version of kcli, last seen on {one.state.host}"
            for name, one in self._taken.jobs.items()
        ]
