"""``kcli mirror reset``: moves the positions of a job, so that it copies records again, or leaves some out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kcli.account.change import Change, Found, Item, Question, planned
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.cluster.offsets import OffsetInfo, not_tiered
from kcli.core.errors import DataLossError, KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.positions import OffsetSpec
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds, log_ends, offsets_at
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.job.job import promoted
from kcli.flows.mirror.job.lease import held, read_instances
from kcli.flows.mirror.job.state import (
    JobId,
    PartitionProgress,
    SavedGap,
    SavedPartition,
    StateRecord,
    deletions,
    job_record,
    partition_records,
)
from kcli.flows.mirror.job.writer import Target, job_writer, read_jobs
from kcli.flows.mirror.topics.preflight import ConflictError
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

COLUMNS = (
    Column("topic"),
    Column(
        "partition", "number", meaning="Number of the partition; null where the job has none of the topic."
    ),
    Column("target", spare=1, values="string?", meaning="Name of the topic on the target."),
    Column("position", "number", meaning="The next offset to be copied; null where there is none."),
    Column("new_position", "number", meaning="What it becomes; null where it is not known."),
    Column(
        "change",
        values=("again", "skipped", "none", None),
        meaning="again: records are copied once more; skipped: they are not copied; null where it is not known.",
    ),
    Column("records", "number", meaning="How many offsets that are; null where it is not known."),
)
_SKIPPED = "skipped by mirror reset"


class NotMovedError(KcliError):
    """A position that was written did not show when it was read back."""

    exit_code = ExitCode.REFUSED


class Move(NamedTuple):
    """``topic_id`` and ``target_id``: of both topics now; empty where brokers have none, or there is no such topic.
    ``target_end``: of the target's partition now, ``start``: of the log of the source. ``fits``: the job's copy belongs
    to these topics.
    """

    target: str | None = None
    position: int | None = None
    new: int | None = None
    topic_id: str = ""
    target_id: str = ""
    target_end: int = 0
    start: int = 0
    fits: bool = True

    @property
    def change(self) -> str | None:
        """What becomes of records."""
        if self.position is None or self.new is None:
            return None
        if not self.fits:
            return "skipped" if self.new > self.start else "again"
        return "again" if self.new < self.position else "skipped" if self.new > self.position else "none"

    @property
    def records(self) -> int | None:
        """How many offsets are between the two; of a topic that is another one now, it is not known."""
        if self.position is None or self.new is None or not self.fits:
            return None
        return abs(self.new - self.position)


MoveItem = Item[TopicPartition, Move]


class PositionReset(Change[TopicPartition, Move]):
    """``topics``: with the numbers of partitions, None for all. ``spec``: an offset or a time, ``words`` says it."""

    kind = "MirrorReset"
    printed_by = "mirror reset"
    item_meaning = "A partition of the source."
    columns = COLUMNS
    parts = True
    nothing = "the positions are there already"

    def __init__(
        self,
        source: Admin,
        target: Target,
        name: str,
        servers: str,
        topics: Sequence[tuple[str, Sequence[int] | None]],
        spec: OffsetSpec,
    ) -> None:
        self._source, self._target = source, target
        self._name, self._servers = name, servers
        self._topics, self._spec = topics, spec

    @property
    def _job(self) -> JobId:
        return JobId(self._source.cluster_id() or self._servers, self._name)

    def decide(self, admin: Admin) -> list[MoveItem]:  # noqa: ARG002 - there are two
        """Where each position goes. All are refused while the job runs, and once it is promoted: the way back is made of
        them.
        """
        saved = read_jobs(self._target).get(self._job)
        if saved is None:
            raise NotFoundError(
                f"mirror job {self._name} does not exist",
                why="the target has no job of this name that copies from this source",
                do="`kcli mirror status --to HOST:PORT` lists the jobs",
            )
        wanted = dict.fromkeys(
            tp for topic, numbers in self._topics for tp in _partitions(topic, numbers, saved.partitions)
        )
        holder = read_instances(self._target.admin, [self._job])[self._job].holder
        refusal = None if holder is None else held(self._job, holder)
        if saved.state.promoted_ms:
            refusal = promoted(saved.state)
        known = [tp for tp in wanted if tp in saved.partitions]
        facts = self._facts(known, saved.partitions)
        return [
            _missing(tp, self._name) if tp not in facts else _refused_by(refusal, facts[tp]) for tp in wanted
        ]

    def _facts(
        self, partitions: Sequence[TopicPartition], saved: Mapping[TopicPartition, SavedPartition]
    ) -> dict[TopicPartition, MoveItem]:
        ends = log_ends(self._source, partitions)
        readable = [tp for tp, log in ends.items() if log.end is not None]
        time = self._spec.listed
        at_time = {} if time is None or not readable else offsets_at(self._source, readable, time)
        here, there = self._ids(saved, partitions)
        copies = {tp: _copy_of(saved[tp]) for tp in partitions}
        existing = [copy for copy in copies.values() if copy.topic in there]
        target_ends = log_ends(self._target.admin, existing)
        return {
            tp: _item(
                tp,
                self._spec,
                saved[tp],
                ends[tp],
                at_time.get(tp),
                (here.get(tp.topic, ""), there.get(copies[tp].topic, "")),
                target_ends.get(copies[tp]),
            )
            for tp in partitions
        }

    def _ids(
        self, saved: Mapping[TopicPartition, SavedPartition], partitions: Sequence[TopicPartition]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """The ids of the topics that exist, of the source and of the target."""
        sources = sorted({tp.topic for tp in partitions})
        targets = sorted({saved[tp].progress.target for tp in partitions})
        here, there = (
            admin.describe_topics(names) if names else {}
            for admin, names in ((self._source, sources), (self._target.admin, targets))
        )
        return (
            {name: one.topic_id for name, one in here.items() if not isinstance(one, KcliError)},
            {name: one.topic_id for name, one in there.items() if not isinstance(one, KcliError)},
        )

    def text(self, plan: Sequence[MoveItem]) -> str:
        """The plan for people."""
        rows = [{**self.row(item), "note": self._note(item)} for item in plan]
        table = indented_table([*COLUMNS, Column("note", "prose")], rows)
        todo = planned(plan)
        again = sum(item.facts.records or 0 for item in todo if item.facts.change == "again")
        skipped = sum(item.facts.records or 0 for item in todo if item.facts.change == "skipped")
        lines = [f"Move the positions of mirror job {self._name}", *table]
        if again:
            lines.append(f"  up to {counted(again, 'record')} copied again: the target has them twice then")
        if anew := sum(item.facts.records is None for item in todo):
            begin = "begins" if anew == 1 else "begin"
            lines.append(
                f"  {counted(anew, 'partition')} {begin} anew: a topic is not the one of then, or lost records"
            )
        if skipped:
            lines.append(f"  up to {counted(skipped, 'record')} never copied: they are gaps in mirror status")
        return "\n".join(lines)

    def _note(self, item: MoveItem) -> str | None:
        return item.note or (self.reason(item.error) if item.error is not None else None)

    def questions(self, plan: Sequence[MoveItem]) -> list[Question]:
        """Nothing has to be typed."""
        return [Question(self.text(plan), f"Move {counted(len(planned(plan)), 'position')}?")]

    def again(self, item: MoveItem, now: MoveItem | None) -> MoveItem:
        """The ends of logs may move on; the position may not."""
        if now is not None and now.outcome is Outcome.PLANNED and now.facts.position == item.facts.position:
            now = now._replace(facts=item.facts._replace(target_end=now.facts.target_end))
            item = item._replace(facts=now.facts)
        return super().again(item, now)

    def apply(self, admin: Admin, todo: Sequence[MoveItem]) -> dict[TopicPartition, KcliError | None]:  # noqa: ARG002
        """Writes the positions while this process has the lease of the job."""
        with job_writer(self._target, self._job) as writer:
            saved = writer.saved
            if saved is None:
                return {item.key: _missing(item.key, self._name).error for item in todo}
            if saved.state.promoted_ms:
                return dict.fromkeys((item.key for item in todo), promoted(saved.state))
            now = wall_ms()
            records: list[StateRecord] = []
            answers: dict[TopicPartition, KcliError | None] = {}
            for item in todo:
                old = saved.partitions.get(item.key)
                if old is None or old.progress.position != item.facts.position:
                    answers[item.key] = ConflictError(
                        f"the position of {item.key} has changed since the plan was shown",
                        why="an instance of the job has copied meanwhile",
                        do="run it again for a new plan",
                    )
                    continue
                answers[item.key] = None
                progress, offsets = moved(old, item.facts, now, by_key=saved.state.partitions == "by-key")
                records += deletions(self._job, {item.key: old})
                records += partition_records(self._job, item.key, progress, offsets)
            reset = {tp.topic for tp, error in answers.items() if error is None}
            begun = {topic: text for topic, text in saved.state.begun.items() if topic not in reset}
            records.append(job_record(msgspec.structs.replace(saved.state, begun=begun)))
            writer.write(records)
        return answers

    def read_back(
        self,
        admin: Admin,  # noqa: ARG002
        items: Sequence[MoveItem],
    ) -> dict[TopicPartition, Found[Move] | KcliError]:
        """The positions as they are saved."""
        saved = read_jobs(self._target).get(self._job)
        return {item.key: _found(item, saved.partitions.get(item.key) if saved else None) for item in items}

    def row(self, item: MoveItem) -> dict[str, Any]:
        """The values of the columns."""
        move = item.facts
        return {
            "topic": item.key.topic,
            "partition": item.key.partition if item.key.partition >= 0 else None,
            "target": move.target,
            "position": move.position,
            "new_position": move.new,
            "change": move.change,
            "records": move.records,
        }

    def summary(self, items: Sequence[MoveItem]) -> list[str]:
        """How many were moved."""
        return [f"{counted(len(items), 'position')} of job {self._name} moved, read back"] if items else []


def moved(old: SavedPartition, move: Move, now: int, *, by_key: bool) -> tuple[PartitionProgress, OffsetMap]:
    """The progress of a partition whose position is moved, and its offset map. Pure.

    What is skipped is a gap. The map goes on where the copy does; else it begins anew at the end of the target, and
    offsets before have no translation.
    """
    progress = old.progress
    assert move.new is not None
    new, gaps = move.new, list(progress.gaps)
    if move.fits and new >= progress.position:
        offsets = old.offsets
        offsets.advance(new)
        if new > progress.position:
            gaps.append(SavedGap(progress.position, new - 1, _SKIPPED, now))
    else:
        offsets = OffsetMap(new, 0 if by_key else move.target_end)
        gaps = [gap for gap in gaps if gap.last < new and move.fits]
        if new > move.start and not move.fits:
            gaps.append(SavedGap(move.start, new - 1, _SKIPPED, now))
    return (
        msgspec.structs.replace(
            progress,
            topic_id=move.topic_id,
            target_topic_id=move.target_id,
            start=offsets.start,
            target_start=offsets.target_start,
            position=new,
            leader_epoch=-1,
            segments=0,
            runs="",
            updated_ms=now,
            gaps=gaps,
            state="",
            why="",
        ),
        offsets,
    )


def _partitions(
    topic: str, numbers: Sequence[int] | None, saved: Mapping[TopicPartition, SavedPartition]
) -> list[TopicPartition]:
    """Those that are named; all that the job has of the topic without numbers, or one that stands for its absence."""
    if numbers is not None:
        return [TopicPartition(topic, number) for number in numbers]
    return sorted(tp for tp in saved if tp.topic == topic) or [TopicPartition(topic, -1)]


def _copy_of(saved: SavedPartition) -> TopicPartition:
    return TopicPartition(saved.progress.target, saved.progress.target_partition)


def _missing(tp: TopicPartition, job: str) -> MoveItem:
    what = f"topic {tp.topic}" if tp.partition < 0 else str(tp)
    error = NotFoundError(
        f"mirror job {job} has no position of {what}",
        why="it has not copied any of it",
        do="`kcli mirror status --to HOST:PORT` lists the jobs",
    )
    return Item(tp, Move(), Outcome.REFUSED, error)


def _refused_by(error: KcliError | None, item: MoveItem) -> MoveItem:
    return item if error is None else item._replace(outcome=Outcome.REFUSED, error=error)


def _item(
    tp: TopicPartition,
    spec: OffsetSpec,
    saved: SavedPartition,
    log: LogEnds,
    at_time: OffsetInfo | KcliError | None,
    ids: tuple[str, str],
    target: LogEnds | None,
) -> MoveItem:
    progress = saved.progress
    move = Move(
        progress.target, progress.position, None, *ids, (target.end or 0) if target is not None else 0
    )
    item = Item(tp, move)
    error = log.error or (at_time if isinstance(at_time, KcliError) else None)
    if error is None and target is not None:
        error = target.error
    if error is None and isinstance(at_time, OffsetInfo) and at_time.offset < 0:
        error = not_tiered(tp, spec.value)
    if error is not None or log.start is None or log.end is None:
        return item._replace(outcome=Outcome.REFUSED, error=error)
    new = _offset(spec, log.start, log.end, at_time if isinstance(at_time, OffsetInfo) else None)
    if not log.start <= new <= log.end:
        error = DataLossError(
            f"{tp}: offset {new} is out of range",
            why=f"the log of the source goes from {log.start} to {log.end}",
            do="choose an offset within, or a time",
        )
        return item._replace(outcome=Outcome.REFUSED, error=error)
    same = (progress.topic_id in ("", ids[0])) and progress.target_topic_id in ("", ids[1])
    lost = target is None or (target.end or 0) < saved.offsets.target_end
    move = move._replace(new=new, start=log.start, fits=same and not lost and progress.position <= log.end)
    done = move.fits and new == progress.position
    return item._replace(facts=move, outcome=Outcome.UNCHANGED if done else Outcome.PLANNED)


def _offset(spec: OffsetSpec, start: int, end: int, at_time: OffsetInfo | None) -> int:
    if spec.kind == "latest":
        return end
    if spec.kind == "offset":
        return spec.value
    if spec.kind == "from_start":
        return start + spec.value
    if spec.kind == "from_end":
        return max(start, end - spec.value)
    if spec.listed is not None and at_time is not None:
        return end if at_time.offset < 0 else at_time.offset
    return start


def _found(item: MoveItem, saved: SavedPartition | None) -> Found[Move] | KcliError:
    position = None if saved is None else saved.progress.position
    if position == item.facts.new:
        return Found(item.facts)
    return Found(
        item.facts._replace(new=position),
        NotMovedError(
            f"the position of {item.key} is {position}, not {item.facts.new}",
            why="an instance of the job has begun since, or the target lost what was written",
            do="`kcli mirror status --to HOST:PORT` lists the jobs",
        ),
    )
