"""``kcli topics trim``: deletes the records of topics before an offset or a time, partition by partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
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
from kcli.flows.partitions_file import PartitionsFile, shown_name
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


class TrimScope(NamedTuple):
    """Partitions of a topic, None for all, and their new start, which ``words`` says."""

    topic: str
    before: OffsetSpec
    words: str
    partitions: Sequence[int] | None = None


_FILE = PartitionsFile(
    "file of offsets",
    'it has the form {"partitions": [{"topic": "orders", "partition": 1, "offset": 1200}]}',
)


def read_trim_file(path: str) -> list[TrimScope]:
    """The offsets of a file of kafka-delete-records.sh, where -1 is the end; ConfigError says what is wrong with it."""
    name, found = shown_name(path), list[TrimScope]()
    words = f"the offsets in {name}"
    for tp, row in _FILE.read(path):
        offset = row.get("offset")
        if not isinstance(offset, int) or isinstance(offset, bool) or not -1 <= offset < 1 << 63:
            raise _FILE.broken(name, f"{tp} has no offset of 0 or more, or -1")
        before = OffsetSpec("latest") if offset == -1 else OffsetSpec("offset", offset)
        found.append(TrimScope(tp.topic, before, words, (tp.partition,)))
    return found


class TopicTrim(Change[TopicPartition, Trim]):
    """``scopes`` name each partition once; those of a topic have the same words."""

    kind = "TopicTrim"
    printed_by = "topics trim"
    item_meaning = "A partition."
    columns = COLUMNS
    parts = True
    nothing = "nothing is to be deleted"

    def __init__(self, scopes: Sequence[TrimScope]) -> None:
        self.scopes = scopes
        self.words = {scope.topic: scope.words for scope in scopes}

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(topics=True, operations_on=list(self.words))

    def decide(self, admin: Admin) -> list[TrimItem]:
        """The new start of each partition. Internal topics and those whose policy does not delete are refused."""
        names = list(self.words)
        topics, denied, policies = admin.together(
            lambda: _existing(admin, names),
            lambda: denied_topics(admin, names, "DELETE", "deleting records of topic {}"),
            lambda: _policies(admin, names),
        )
        before = {
            tp: scope.before
            for scope in self.scopes
            for tp in _selected(topics[scope.topic], scope.partitions)
        }
        for topic in topics.values():
            if topic.error is not None and all(tp.topic != topic.name for tp in before):
                raise topic.error
        refused = {**_refusals(list(topics.values()), policies), **denied}
        ends = log_ends(admin, list(before), topics=topics)
        at_time: dict[TopicPartition, OffsetInfo | KcliError] = {}
        for time in {spec.listed for spec in before.values() if spec.listed is not None}:
            known = [tp for tp, log in ends.items() if log.end is not None and before[tp].listed == time]
            at_time.update(offsets_at(admin, known, time) if known else {})
        items = [
            _item(topics[tp.topic].topic_id, spec, tp, ends[tp], at_time.get(tp))
            for tp, spec in before.items()
        ]
        return [
            item if (error := refused.get(item.key.topic)) is None else _refused(item, error)
            for item in items
        ]

    def text(self, plan: Sequence[TrimItem]) -> str:
        """The plan for people, topic by topic."""
        return "\n".join(filter(None, (self._text(name, of(name, plan)) for name in self.words)))

    def _text(self, name: str, plan: Sequence[TrimItem]) -> str:
        if all(isinstance(item.error, TrimRefusedError) for item in plan):
            return ""
        columns = [column for column in self.columns if column.key != "topic"]
        rows = [self._shown(item) for item in plan]
        table = indented_table([*columns, Column("note", "prose")], rows)
        trimmed = [item for item in plan if item.outcome is Outcome.PLANNED]
        records = sum(item.facts.records or 0 for item in trimmed)
        total = f"  {counted(len(trimmed), 'partition')}, up to {counted(records, 'record')} deleted"
        kept = sum(item.outcome is Outcome.UNCHANGED for item in plan)
        if kept:
            total += f"; {counted(kept, 'partition')} unchanged"
        if refused := len(plan) - len(trimmed) - kept:
            total += f"; {counted(refused, 'partition')} refused"
        lines = [f"Trim topic {visible_line(name)}: delete the records before {self.words[name]}.", *table]
        lines.append(total + ".")
        if trimmed:
            lines.append(
                "Deleted records cannot be restored; groups that have not read them skip them or fail."
            )
        return "\n".join(lines)

    def questions(self, plan: Sequence[TrimItem]) -> list[Question]:
        """The name of each topic has to be typed."""
        trimmed = {item.key.topic for item in plan if item.outcome is Outcome.PLANNED}
        return [
            Question(self._text(name, of(name, plan)), f"Delete these records of topic {name}?", name=name)
            for name in self.words
            if name in trimmed
        ]

    def again(self, item: TrimItem, now: TrimItem | None) -> TrimItem:
        """The offsets of the plan hold while the topic is the same one; a topic of that name that was created since is
        another one.
        """
        if now is None or now.facts.topic_id == item.facts.topic_id:
            return super().again(item, now and now._replace(facts=item.facts))
        error = DataLossError(
            f"topic {item.key.topic} was deleted and created anew",
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
                    same = self.reason(item.error)
                    if isinstance(item.error, DataLossError):
                        same = item.error.do
                    elif isinstance(item.error, TrimRefusedError):
                        same = item.error.what
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
        """How many offsets are gone of each topic."""
        for name in self.words:
            if mine := of(name, items):
                gone = sum(item.facts.records or 0 for item in mine)
                what = f"{counted(gone, 'offset')} deleted in {counted(len(mine), 'partition')}, read back"
                yield f"trimmed topic {name}: {what}"

    def _shown(self, item: TrimItem) -> dict[str, Any]:
        """A row of the plan with separators in its numbers."""
        numbers = {column.key for column in self.columns if column.kind == "number"}
        note = item.note or (self.reason(item.error) if item.error is not None else None)
        return {
            key: f"{value:,}" if key in numbers and value is not None else value
            for key, value in self.row(item).items()
        } | {"note": note}


def of(name: str, items: Sequence[TrimItem]) -> list[TrimItem]:
    """The partitions of a topic."""
    return [item for item in items if item.key.topic == name]


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


def _existing(admin: Admin, names: Sequence[str]) -> dict[str, TopicInfo]:
    """The topics; the error of the first that cannot be described."""
    found = {}
    for name, topic in admin.describe_topics(names).items():
        if isinstance(topic, KcliError):
            raise topic
        found[name] = topic
    return found


def _selected(topic: TopicInfo, partitions: Sequence[int] | None) -> list[TopicPartition]:
    """All partitions, or those that are named; an error if one does not exist."""
    numbers = [part.partition for part in topic.partitions]
    for number in partitions or ():
        if number not in numbers:
            raise no_partition(TopicPartition(topic.name, number), len(numbers))
    return [TopicPartition(topic.name, number) for number in sorted(partitions or numbers)]


def _policies(admin: Admin, names: Sequence[str]) -> dict[str, str | None]:
    """The cleanup policies of topics. Without the permission to see one, the broker decides when records are deleted."""
    asked = [ConfigResource(ConfigKind.TOPIC, name) for name in names]
    return {
        resource.name: entry.value
        for resource, entries in admin.describe_configs(asked, keys=["cleanup.policy"]).items()
        for entry in ([] if isinstance(entries, KcliError) else entries)
        if entry.name == "cleanup.policy"
    }


def _refusals(topics: Sequence[TopicInfo], policies: Mapping[str, str | None]) -> dict[str, KcliError]:
    """Refuses what brokers refuse: internal topics, and those whose policy does not delete. Pure."""
    refused: dict[str, KcliError] = {}
    for topic in topics:
        purpose = internal_purpose(topic)
        if purpose is not None:
            refused[topic.name] = TrimRefusedError(
                f"records of topic {topic.name} are not deleted",
                why=purpose,
                do="Kafka compacts it by itself"
                if is_own_topic(topic.name)
                else "Kafka compacts it by itself; `kcli groups delete-offsets GROUP -t TOPIC` deletes committed offsets",
            )
    for name, policy in policies.items():
        if name not in refused and "delete" not in list_words(policy):
            refused[name] = _compacted(name, policy)
    return refused


def _compacted(name: str, policy: str | None) -> TrimRefusedError:
    return TrimRefusedError(
        f"records of topic {name} are not deleted",
        why=f"POLICY_VIOLATION (44): its cleanup.policy is {policy or 'empty'}, without delete",
        do="a record without a value deletes its key in a compacted topic; to trim it, add the policy: "
        f"`kcli topics alter {name} --append cleanup.policy=delete`, with which retention applies, too",
    )
