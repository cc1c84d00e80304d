"""``kcli mirror accept-gap``: acknowledges gaps, so that ``mirror status`` shows them no more. The job may run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question, planned
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.options import ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.producer.report import Report
from kcli.core.types import TopicPartition
from kcli.flows.mirror.job.state import JobId, SavedGap, SavedJob, accepted_record
from kcli.flows.mirror.job.store import STATE
from kcli.flows.mirror.job.writer import Target, read_jobs
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

COLUMNS = (
    Column("topic"),
    Column("partition", "id"),
    Column("first", "number", meaning="The first offset that was not copied; null where there is no gap."),
    Column("last", "number", meaning="The last one; null where there is no gap."),
    Column("why", "prose", values="string?", meaning="Why they were not copied."),
    Column("recorded_at", "time", spare=1, meaning="When that was accepted; null where there is no gap."),
    Column("source_cluster", wide=True, values="string?", meaning="Id of the source of the job."),
)


class NotAcceptedError(KcliError):
    """A gap that was acknowledged is still there."""

    exit_code = ExitCode.REFUSED


class GapKey(NamedTuple):
    """``first`` −1: the partition has no gap."""

    job: JobId
    partition: TopicPartition
    first: int

    def __str__(self) -> str:
        return f"the gap of {self.partition} at offset {self.first}"


GapItem = Item[GapKey, SavedGap | None]


class GapAcceptance(Change[GapKey, "SavedGap | None"]):
    """``partitions``: with gaps to be acknowledged; None for all of the job."""

    kind = "MirrorGapAcceptance"
    printed_by = "mirror accept-gap"
    item_meaning = "A gap."
    columns = COLUMNS
    parts = True
    nothing = "the job has no gap"

    def __init__(self, target: Target, name: str, partitions: Sequence[TopicPartition] | None) -> None:
        self._target, self._name, self._partitions = target, name, partitions

    def decide(self, admin: Admin) -> list[GapItem]:  # noqa: ARG002 - the target has its own
        """The gaps of the partitions; one without a gap is refused."""
        jobs = self._jobs()
        if not jobs:
            raise NotFoundError(
                f"mirror job {self._name} does not exist",
                why="the target has no job of this name",
                do="`kcli mirror status --to HOST:PORT` lists the jobs",
            )
        found = [*_gaps(jobs)]
        if self._partitions is None:
            return found
        items: list[GapItem] = []
        copied = {tp for saved in jobs.values() for tp in saved.partitions}
        for tp in dict.fromkeys(self._partitions):
            own = [item for item in found if item.key.partition == tp]
            items += own or [_without_gap(tp, self._name, copied=tp in copied)]
        return items

    def _jobs(self) -> dict[JobId, SavedJob]:
        jobs = read_jobs(self._target)
        return {job: saved for job, saved in jobs.items() if job.job == self._name and not job.is_old}

    def text(self, plan: Sequence[GapItem]) -> str:
        """The plan for people."""
        table = indented_table(COLUMNS, [self.row(item) for item in plan])
        return "\n".join([f"Acknowledge gaps of mirror job {self._name}: nothing is copied", *table])

    def questions(self, plan: Sequence[GapItem]) -> list[Question]:
        """Nothing has to be typed."""
        return [Question(self.text(plan), f"Acknowledge {counted(len(planned(plan)), 'gap')}?")]

    def apply(self, admin: Admin, todo: Sequence[GapItem]) -> dict[GapKey, KcliError | None]:  # noqa: ARG002
        """Writes what is acknowledged of each partition: a record that instances of the job do not write."""
        jobs, errors = self._jobs(), []

        def keep(report: Report) -> None:
            if report.error is not None:
                errors.append(report.error)

        options = self._target.cluster.options(ProducerOptions, linger_ms=0)
        with Producer(options, hooks=self._target.hooks, on_delivery=keep) as producer:
            producer.connect([STATE.topic], self._target.timeout)
            for job, tp in dict.fromkeys((item.key.job, item.key.partition) for item in todo):
                mine = [item.facts for item in todo if item.key[:2] == (job, tp) and item.facts is not None]
                record = accepted_record(job, tp, [*jobs[job].partitions[tp].accepted, *mine])
                rows = [(record.key, record.value, NO_HEADERS, wall_ms())]
                producer.send_rows(STATE.topic, rows, partition=STATE.partition)
            producer.flush()
        if errors:
            raise errors[0]
        return dict.fromkeys(item.key for item in todo)

    def read_back(
        self,
        admin: Admin,  # noqa: ARG002
        items: Sequence[GapItem],
    ) -> dict[GapKey, Found[SavedGap | None] | KcliError]:
        """Whether they are gone."""
        left = {item.key for item in _gaps(self._jobs())}
        return {
            item.key: Found(
                item.facts,
                NotAcceptedError(
                    f"{item.key} is still there",
                    why="the record that acknowledges it was not stored",
                    do="run it again",
                )
                if item.key in left
                else None,
            )
            for item in items
        }

    def row(self, item: GapItem) -> dict[str, Any]:
        """The values of the columns."""
        gap, tp = item.facts, item.key.partition
        return {
            "topic": tp.topic,
            "partition": tp.partition,
            "first": None if gap is None else gap.first,
            "last": None if gap is None else gap.last,
            "why": None if gap is None else gap.why,
            "recorded_at": None if gap is None else gap.at_ms,
            "source_cluster": item.key.job.source or None,
        }

    def summary(self, items: Sequence[GapItem]) -> list[str]:
        """How many were acknowledged."""
        return [f"{counted(len(items), 'gap')} of job {self._name} acknowledged, read back"] if items else []


def _gaps(jobs: Mapping[JobId, SavedJob]) -> Iterator[GapItem]:
    for job, saved in sorted(jobs.items()):
        for tp, partition in sorted(saved.partitions.items()):
            for gap in partition.progress.gaps:
                yield Item(GapKey(job, tp, gap.first), gap)


def _without_gap(tp: TopicPartition, job: str, *, copied: bool) -> GapItem:
    error = NotFoundError(
        f"{tp} has no gap",
        why=f"mirror job {job} has copied all of it up to its position, or its gaps are acknowledged"
        if copied
        else f"mirror job {job} does not copy it",
        do="`kcli mirror status --to HOST:PORT` lists the jobs",
    )
    return Item(GapKey(JobId("", job), tp, -1), None, Outcome.REFUSED, error)
