"""``kcli topics trim``: deletes the records of a topic before an offset or a time, partition by partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import no_partition
from kcli.core.cluster.offsets import EARLIEST, OffsetInfo, not_tiered
from kcli.core.errors import DataLossError, KcliError, NoLeaderError, PartlyFailedError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import is_own_topic
from kcli.core.positions import OffsetSpec
from kcli.core.types import TopicPartition
from kcli.flows.configs.values import list_words
from kcli.flows.groups.offsets import LogEnds, log_ends, offsets_at
from kcli.flows.partition_failures import partition_names
from kcli.flows.permitted import denied_topics
from kcli.flows.topics.purpose import internal_purpose
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, indented_table

COLUMNS = (
    Column("topic", wide=True),
    Column("partition", "id"),
    Column("log_start", "number"),
    Column("new_log_start", "number", meaning="The first offset that would stay; null where it is unknown."),
    Column("end", "number", spare=1),
    Column("records", "number", meaning="Offsets that are deleted; null where it is unknown."),
)


class TrimRefusedError(KcliError):
    """Kafka deletes no records of this topic."""

    exit_code = ExitCode.REFUSED


class NotTrimmedError(KcliError):
    """A confirmed deletion did not show when the starts were read back."""

    exit_code = ExitCode.REFUSED


class Trim(NamedTuple):
    """A partition of the topic with this id: ``before`` is the offset at which it is to start, or, once it was read back,
    does. None is unknown.
    """

    topic_id: str
    start: int | None = None
    end: int | None = None
    before: int | None = None

    @property
    def records(self) -> int | None:
        """How many offsets go: at most as many records."""
        return None if self.before is None or self.start is None else self.before - self.start


TrimItem = Item[TopicPartition, Trim]


class TopicTrim(Change[TopicPartition, Trim]):
    """``before`` is the new start, and ``words`` says it; ``partitions``: only these numbers."""

    kind = "TopicTrim"
    printed_by = "topics trim"
    item_meaning = "A partition."
    columns = COLUMNS
    parts = True
    nothing = "nothing is to be deleted"

    def __init__(self, name: str, before: OffsetSpec, words: str, partitions: Sequence[int] | None) -> None:
        self.name, self.before, self.words, self.partitions = name, before, words, partitions

    def decide(self, admin: Admin) -> list[TrimItem]:
        """The new start of each partition. Internal topics and those whose policy does not delete are refused."""
        topic = admin.describe_topics([self.name])[self.name]
        if isinstance(topic, KcliError):
            raise topic
        selected = _selected(topic, self.partitions)
        if not selected and topic.error is not None:
            raise topic.error
        denied = denied_topics(admin, [self.name], "DELETE", "deleting records of topic {}")
        refused = denied.get(self.name) or _refusal(admin, topic)
        ends = log_ends(admin, selected)
        known = [tp for tp, log in ends.items() if log.end is not None]
        time = self.before.listed
        at_time = {} if time is None or not known else offsets_at(admin, known, time)
        items = trim_items(topic.topic_id, self.before, ends, at_time)
        if refused is None:
            return items
        return [_refused(item, refused) for item in items]

    def text(self, plan: Sequence[TrimItem]) -> str:
        """The plan for people."""
        if all(isinstance(item.error, TrimRefusedError) for item in plan):
            return ""
        columns = [column for column in self.columns if column.key != "topic"]
        rows = [self._shown(item) for item in plan]
        table = indented_table([*columns, Column("note", "prose")], rows)
        trimmed = [item for item in plan if item.outcome is Outcome.PLANNED]
        records = sum(item.facts.records or 0 for item in trimmed)
        total = f"  {counted(len(trimmed), 'partition')}, up to {counted(records, 'record')} deleted"
        if kept := len(plan) - len(trimmed):
            total += f"; {counted(kept, 'partition')} unchanged"
        lines = [f"Trim topic {visible_line(self.name)}: delete the records before {self.words}.", *table]
        lines.append(total + ".")
        if trimmed:
            lines.append(
                "Deleted records cannot be restored; groups that have not read them skip them or fail."
            )
        return "\n".join(lines)

    def questions(self, plan: Sequence[TrimItem]) -> list[Question]:
        """The topic's name has to be typed."""
        return [Question(self.text(plan), f"Delete these records of topic {self.name}?", name=self.name)]

    def again(self, item: TrimItem, now: TrimItem | None) -> TrimItem:
        """The offsets of the plan hold while the topic is the same one; a topic of that name that was created since is
        another one.
        """
        if now is None or now.facts.topic_id == item.facts.topic_id:
            return super().again(item, now and now._replace(facts=item.facts))
        error = DataLossError(
            f"topic {self.name} was deleted and created anew",
            why="the plan is of a topic that does not exist any more; nothing was deleted",
            do="run it again for a new plan",
        )
        return item._replace(outcome=Outcome.REFUSED, error=error)

    def apply(self, admin: Admin, todo: Sequence[TrimItem]) -> dict[TopicPartition, KcliError | None]:
        """Deletes the records."""
        before = {item.key: item.facts.before for item in todo if item.facts.before is not None}
        answers = admin.delete_records(before)
        return {tp: one if isinstance(one, KcliError) else None for tp, one in answers.items()}

    def read_back(
        self, admin: Admin, items: Sequence[TrimItem]
    ) -> dict[TopicPartition, Found[Trim] | KcliError]:
        """The starts of the logs."""
        starts = offsets_at(admin, [item.key for item in items], EARLIEST)
        return {item.key: _found(item, starts[item.key]) for item in items}

    def unread(self, item: TrimItem) -> Trim:
        """Where the log starts is not known."""
        return item.facts._replace(before=None)

    def row(self, item: TrimItem) -> dict[str, Any]:
        """The values of the columns."""
        trim = item.facts
        return {
            "topic": item.key.topic,
            "partition": item.key.partition,
            "log_start": trim.start,
            "new_log_start": trim.before,
            "end": trim.end,
            "records": trim.records,
        }

    def failures(self, items: Sequence[TrimItem]) -> Iterator[KcliError]:
        """An error for each reason: ``records of orders-0,4 were not deleted``, or ``unknown`` whether they were."""
        for unknown in (False, True):
            alike: dict[str, list[TrimItem]] = {}
            for item in items:
                if item.error is not None and (item.outcome is Outcome.UNKNOWN) == unknown:
                    same = item.error.do if isinstance(item.error, DataLossError) else self.reason(item.error)
                    alike.setdefault(same, []).append(item)  # ends differ
            for group in alike.values():
                first = group[0].error
                if isinstance(first, TrimRefusedError):
                    yield first
                    continue
                assert first is not None
                records = f"records of {partition_names(item.key for item in group)}"
                what = (
                    f"it is not known whether {records} were deleted"
                    if unknown
                    else f"{records} were not deleted"
                )
                yield PartlyFailedError(what, first)

    def reason(self, error: KcliError) -> str:
        """Without the partition."""
        return "no leader" if isinstance(error, NoLeaderError) else error.why or error.what

    def summary(self, items: Sequence[TrimItem]) -> Iterable[str]:
        """How many offsets are gone."""
        if items:
            gone = sum(item.facts.records or 0 for item in items)
            what = f"{counted(gone, 'offset')} deleted in {counted(len(items), 'partition')}, read back"
            yield f"trimmed topic {self.name}: {what}"

    def _shown(self, item: TrimItem) -> dict[str, Any]:
        """A row of the plan with separators in its numbers."""
        numbers = {column.key for column in self.columns if column.kind == "number"}
        note = item.note or (self.reason(item.error) if item.error is not None else None)
        return {
            key: f"{value:,}" if key in numbers and value is not None else value
            for key, value in self.row(item).items()
        } | {"note": note}


AtTime = Mapping[TopicPartition, OffsetInfo | KcliError]


def trim_items(
    topic_id: str, spec: OffsetSpec, ends: Mapping[TopicPartition, LogEnds], at_time: AtTime
) -> list[TrimItem]:
    """The new start of each partition. ``at_time``: what brokers have found, for a time or a special offset. Pure."""
    return [_item(topic_id, spec, tp, log, at_time.get(tp)) for tp, log in ends.items()]


def _item(
    topic_id: str, spec: OffsetSpec, tp: TopicPartition, log: LogEnds, at_time: OffsetInfo | KcliError | None
) -> TrimItem:
    item = Item(tp, Trim(topic_id, log.start, log.end))
    if log.start is None or log.end is None:
        assert log.error is not None
        return _refused(item, log.error)
    if isinstance(at_time, KcliError):
        return _refused(item, at_time)
    if spec.kind == "offset" and spec.value > log.end:
        return _refused(item, _beyond(tp, spec.value, log.end), f"{spec.value:,} is beyond the end")
    if spec.kind == "special" and at_time is not None and at_time.offset < 0:
        error = not_tiered(tp, spec.value)
        if error is not None:
            return _refused(item, error)
    before, note = _before(spec, log.start, log.end, at_time)
    item = item._replace(facts=item.facts._replace(before=max(before, log.start)))
    if before <= log.start:
        note = note or ("empty" if log.start == log.end else "nothing before it")
        return item._replace(outcome=Outcome.UNCHANGED, note=note)
    return item._replace(note=note or ("all records" if before == log.end else ""))


def _refused(item: TrimItem, error: KcliError, note: str = "") -> TrimItem:
    """It keeps its start."""
    facts = item.facts._replace(before=item.facts.start)
    return item._replace(facts=facts, outcome=Outcome.REFUSED, error=error, note=note)


def _before(spec: OffsetSpec, start: int, end: int, at_time: OffsetInfo | None) -> tuple[int, str]:
    """The offset that is to be the first, within the log at most up to its end, and a note."""
    if spec.kind == "latest":
        return end, ""
    if spec.kind == "offset":
        return spec.value, ""
    if spec.kind == "from_start":
        return min(start + spec.value, end), ""
    if spec.kind == "from_end":
        return end - spec.value, ""
    if spec.listed is not None and at_time is not None:
        if at_time.offset < 0:
            return end, "" if start == end else "all records are older"
        return min(at_time.offset, end), ""
    return start, ""


def _beyond(tp: TopicPartition, offset: int, end: int) -> DataLossError:
    return DataLossError(
        f"{tp}: offset {offset:,} is beyond the end",
        why=f"its high watermark is {end:,}",
        do="choose partitions with -p, or give --before latest for all records, or a time",
    )


def _found(item: TrimItem, start: OffsetInfo | KcliError) -> Found[Trim] | KcliError:
    """What was read back of a partition."""
    if isinstance(start, KcliError):
        return start
    facts, wanted = item.facts._replace(before=start.offset), item.facts.before or 0
    if start.offset >= wanted:
        return Found(facts)
    error = NotTrimmedError(
        f"the log of {item.key} was trimmed to {wanted:,}, but starts at {start.offset:,}",
        why=f"its start reads {start.offset:,} after the broker confirmed {wanted:,}",
        do="run it again; if it lasts, a replica that had not deleted them may have become leader",
    )
    return Found(facts, error)


def _selected(topic: TopicInfo, partitions: Sequence[int] | None) -> list[TopicPartition]:
    """All partitions, or those of ``-p``; an error if one does not exist."""
    numbers = [part.partition for part in topic.partitions]
    for number in partitions or ():
        if number not in numbers:
            raise no_partition(TopicPartition(topic.name, number), len(numbers))
    return [TopicPartition(topic.name, number) for number in sorted(partitions or numbers)]


def _refusal(admin: Admin, topic: TopicInfo) -> KcliError | None:
    """Refuses what brokers refuse: internal topics, and those whose policy does not delete."""
    purpose = internal_purpose(topic)
    if purpose is not None:
        return TrimRefusedError(
            f"records of topic {topic.name} are not deleted",
            why=purpose,
            do="Kafka compacts it by itself"
            if is_own_topic(topic.name)
            else "Kafka compacts it by itself; `kcli groups delete-offsets GROUP -t TOPIC` deletes committed offsets",
        )
    (entries,) = admin.describe_configs(
        [ConfigResource(ConfigKind.TOPIC, topic.name)], keys=["cleanup.policy"]
    ).values()
    if isinstance(entries, KcliError):
        return None  # without the permission to see it, the broker decides when records are deleted
    for entry in entries:
        if entry.name == "cleanup.policy" and "delete" not in list_words(entry.value):
            return TrimRefusedError(
                f"records of topic {topic.name} are not deleted",
                why=f"POLICY_VIOLATION (44): its cleanup.policy is {entry.value or 'empty'}, without delete",
                do="a record without a value deletes its key in a compacted topic; to trim it, add the policy: "
                f"`kcli topics alter {topic.name} --append cleanup.policy=delete`, with which retention applies, too",
            )
    return None
