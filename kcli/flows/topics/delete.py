"""``kcli topics delete``: deletes topics with all their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.clock import monotonic
from kcli.core.cluster.metadata import OR_HIDDEN
from kcli.core.cluster.offsets import MAX_TIMESTAMP, OffsetInfo
from kcli.core.errors import KcliError, NotFoundError, OutcomeUnknownError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import is_own_topic
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds, log_ends, offsets_at, unknown_offsets
from kcli.flows.journal import Draft, TopicEntry
from kcli.flows.permitted import denied_topics, hidden
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.flows.topics.purpose import internal_purpose
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, indented_table

_DISABLED = (
    "set delete.topic.enable=true on the brokers and restart them: it is false by default before Kafka 1.0, and a "
    "deletion then waits without end"
)
_PAUSE = 0.1


class NotDeletedError(KcliError):
    """A topic whose deletion was confirmed is there."""

    exit_code = ExitCode.REFUSED


class Topic(NamedTuple):
    """A topic as it was planned. ``records`` are at most so many: its offsets. ``unknown``: of how many partitions they
    are not known, so that there may be more.

    ``last_write`` is the newest timestamp, in ms; None where it is not known, or nothing was written.
    """

    topic_id: str
    partitions: int
    records: int | None
    purpose: str | None = None
    replication_factor: int = -1
    last_write: int | None = None
    unknown: int = 0


TopicItem = Item[str, Topic | None]


class TopicDeletion(Change[str, Topic | None]):
    """The topics with these names; or those that ``match`` a shell pattern, apart from internal ones and kcli's own.

    ``may_lack``: there is nothing to do for a topic that does not exist, and none need match.
    """

    kind = "TopicDelete"
    printed_by = "topics delete"
    item_meaning = "A topic."
    columns: Sequence[Column] = (
        Column("topic"),
        Column("topic_id", wide=True, meaning="Id of the topic; null where brokers have none."),
        Column(
            "partitions", "number", meaning="How many partitions it had; null where the topic does not exist."
        ),
        Column(
            "records",
            "number",
            meaning="At most so many records: the offsets between start and end of its logs; null where one is unknown.",
        ),
        Column(
            "last_write",
            "time",
            spare=1,
            sometimes=True,
            meaning="With --match: the newest time of a record; null where it is unknown, or there was none.",
        ),
    )
    quiet_report = True
    nothing = "nothing is to be deleted"

    def __init__(self, names: Sequence[str], match: str | None = None, *, may_lack: bool = False) -> None:
        self.names, self.match = tuple(dict.fromkeys(names)), match
        self._may_lack = may_lack
        if match is None:
            self.columns = self.columns[:-1]
        self._unknown: list[str] = []
        self._hidden: list[str] = []

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(topics=True, operations_on=self.names)

    def decide(self, admin: Admin) -> list[TopicItem]:
        """Topics that do not exist, or may not be deleted, are refused. Which ones match is decided once: one that is
        created while the question is open stays.
        """
        if self.match is not None and not self.names:
            self.names = _matching(admin, self.match, may_lack=self._may_lack)
            if not self.names:
                return []
            self._hidden = hidden(admin, "topics")
        found, denied = admin.together(
            lambda: admin.describe_topics(self.names),
            lambda: denied_topics(admin, self.names, "DELETE", "could not delete topic {}"),
        )
        topics = [topic for topic in found.values() if isinstance(topic, TopicInfo)]
        partitions = [TopicPartition(t.name, p.partition) for t in topics for p in t.partitions]
        ends = log_ends(admin, partitions, topics=found)
        self._unknown = [str(error) for error in unknown_offsets(ends)]
        newest = offsets_at(admin, list(ends), MAX_TIMESTAMP) if self.match is not None else {}
        if errors := [
            one for tp, one in newest.items() if isinstance(one, KcliError) and ends[tp].error is None
        ]:
            count = counted(len(errors), "partition")
            self._unknown.append(f"when {count} were last written is not known: {errors[0]}")
        times: dict[str, list[OffsetInfo | KcliError]] = {}
        for tp, one in newest.items():
            times.setdefault(tp.topic, []).append(one)
        return [
            self._item(name, found[name], denied.get(name), ends, times.get(name, ())) for name in self.names
        ]

    def _item(
        self,
        name: str,
        topic: TopicInfo | KcliError,
        denied: KcliError | None,
        ends: Mapping[TopicPartition, LogEnds],
        newest: Sequence[OffsetInfo | KcliError],
    ) -> TopicItem:
        if isinstance(topic, NotFoundError) and self._may_lack:
            return Item(name, None, Outcome.UNCHANGED, note="it does not exist")
        if isinstance(topic, KcliError):
            return Item(name, None, Outcome.REFUSED, topic)
        logs = [ends[TopicPartition(name, part.partition)] for part in topic.partitions]
        known = [log.end - log.start for log in logs if log.end is not None and log.start is not None]
        facts = Topic(
            topic.topic_id,
            len(topic.partitions),
            sum(known),
            internal_purpose(topic),
            max((len(part.replicas) for part in topic.partitions), default=-1),
            _last_write(newest),
            len(logs) - len(known),
        )
        return Item(name, facts) if denied is None else Item(name, facts, Outcome.REFUSED, denied)

    def text(self, plan: Sequence[TopicItem]) -> str:
        """A line for each topic; a table of those that match a pattern."""
        todo = [item for item in plan if item.outcome is Outcome.PLANNED]
        if self.match is None or not todo:
            return "\n".join(map(_line, todo))
        topics = [item.facts for item in todo if item.facts is not None]
        columns = [column for column in self.columns if column.key != "topic_id"]
        count = counted(len(todo), "topic")
        head = f"Delete {count} matching {visible_line(self.match)}: {_size(topics)}."
        return "\n".join([head, *indented_table(columns, [self.row(item) for item in todo])])

    def questions(self, plan: Sequence[TopicItem]) -> list[Question]:
        """One for each topic, by its name; those about internal topics come first. For a pattern one, by the pattern."""
        if self.match is not None:
            count = counted(sum(item.outcome is Outcome.PLANNED for item in plan), "topic")
            return [Question(self.text(plan), f"Delete {count}?", name=self.match)]
        todo = [(item, item.facts) for item in plan if item.outcome is Outcome.PLANNED and item.facts]
        own = [item.key for item, topic in todo if topic.purpose is not None]
        return [
            Question(
                _line(item),
                f"Delete topic {item.key}?",
                name=item.key,
                among=own,
                danger=topic.purpose,
            )
            for item, topic in sorted(todo, key=lambda pair: pair[1].purpose is None)
        ]

    def warnings(self, plan: Sequence[TopicItem]) -> Iterable[str]:  # noqa: ARG002 - the change's signature
        """Topics that may not have been listed, whose records cannot be counted, or whose last write is not known."""
        return [*self._hidden, *self._unknown]

    def again(self, item: TopicItem, now: TopicItem | None) -> TopicItem:
        """Records may come and go, and partitions be added, for the journal to have; the topic has to be the same one."""
        same = now and now.facts and item.facts and now.facts.topic_id == item.facts.topic_id
        return super().again(item._replace(facts=now.facts) if now and same else item, now)

    def journal(self, admin: Admin, todo: Sequence[TopicItem]) -> Draft | None:
        """The topics as they were configured; internal ones are created by brokers and kcli themselves."""
        topics = {item.key: item.facts for item in todo if item.facts and item.facts.purpose is None}
        configs = admin.describe_topic_configs(list(topics)) if topics else {}
        entries = [
            TopicEntry(name, topic.topic_id, topic.partitions, topic.replication_factor, _own(configs[name]))
            for name, topic in topics.items()
        ]
        return Draft(self.printed_by, entries) if entries else None

    def apply(self, admin: Admin, todo: Sequence[TopicItem]) -> dict[str, KcliError | None]:
        """Deletes the topics."""
        try:
            return admin.delete_topics([item.key for item in todo])
        except (TimedOutError, OutcomeUnknownError) as late:
            if admin.lacks("enabled_deletion") is not None:
                late.do = _DISABLED
            raise

    def read_back(
        self, admin: Admin, items: Sequence[TopicItem]
    ) -> dict[str, Found[Topic | None] | KcliError]:
        """Whether the topics are gone. Brokers receive it from the controller a moment after it was confirmed."""
        planned = {item.key: item.facts for item in items}
        until, before = monotonic() + VISIBLE_WITHIN, len(planned)
        while (left := _left(admin, planned)) and monotonic() <= until:
            if len(left) < before:  # of many topics more and more are gone
                until, before = monotonic() + VISIBLE_WITHIN, len(left)
            admin.cluster.sleep(_PAUSE)
        return {name: Found(topic, left.get(name)) for name, topic in planned.items()}

    def row(self, item: TopicItem) -> dict[str, Any]:
        """The values of the columns."""
        topic = item.facts
        return {
            "topic": item.key,
            "topic_id": (topic.topic_id or None) if topic else None,
            "partitions": topic.partitions if topic else None,
            "records": topic.records if topic and not topic.unknown else None,
        } | ({"last_write": topic.last_write if topic else None} if self.match is not None else {})

    def summary(self, items: Sequence[TopicItem]) -> Iterable[str]:
        """A line for each."""
        return (f"deleted topic {item.key}" for item in items)


def _matching(admin: Admin, match: str, *, may_lack: bool) -> tuple[str, ...]:
    """The names that match; NotFoundError where there are none, unless they may lack."""
    listed = [topic for topic in admin.list_topics() if fnmatchcase(topic.name, match)]
    found = [topic.name for topic in listed if not topic.internal and not is_own_topic(topic.name)]
    if not found and not may_lack:
        kept = " but internal ones and kcli's own, which are deleted by name only" if listed else ""
        raise NotFoundError(
            f"no topic matches {match}{kept}",
            why=f"nothing was deleted; the cluster has no other topic with such a name, {OR_HIDDEN}",
            do="`kcli topics list` lists the topics",
        )
    return tuple(sorted(found))


def _last_write(newest: Sequence[OffsetInfo | KcliError]) -> int | None:
    """The newest timestamp of all partitions; None where that of one is not known."""
    times = [-1 if isinstance(one, KcliError) else one.timestamp for one in newest]
    unknown = any(isinstance(one, KcliError) for one in newest)
    return None if unknown else max((time for time in times if time >= 0), default=None)


def _own(entries: list[ConfigEntry] | KcliError) -> dict[str, str] | None:
    """What is set on the topic itself; None where it cannot be read."""
    if isinstance(entries, KcliError):
        return None
    return {entry.name: entry.value for entry in entries if not entry.is_default and entry.value is not None}


def _line(item: TopicItem) -> str:
    assert item.facts is not None, "a topic that is to be deleted exists"
    return f"Delete topic {item.key}: {_size([item.facts])}."


def _size(topics: Sequence[Topic]) -> str:
    """``6 partitions, up to 40 records``; said where there may be more."""
    partitions = counted(sum(topic.partitions for topic in topics), "partition")
    records = counted(sum(topic.records or 0 for topic in topics), "record")
    unknown = sum(topic.unknown for topic in topics)
    more = f", and those of {counted(unknown, 'partition')}, which are unknown" if unknown else ""
    return f"{partitions}, up to {records}{more}"


def _left(admin: Admin, planned: dict[str, Topic | None]) -> dict[str, KcliError]:
    """The topics that are still there. One of the same name and another id was created since."""
    found = admin.describe_topics(list(planned))
    left: dict[str, KcliError] = {}
    for name, topic in found.items():
        before = planned[name]
        if isinstance(topic, NotFoundError):
            continue
        if isinstance(topic, KcliError):
            left[name] = topic
        elif before is None or topic.topic_id == before.topic_id:
            left[name] = NotDeletedError(
                f"topic {name} was deleted, and is there",
                why="the controller confirmed it, and brokers still show the topic",
                do="brokers may need longer, or a client that uses it has created it again: look again, and repeat it",
            )
    return left
