"""``kcli registry usage``: topics whose last records carry an id of a subject, in keys or values, or in their headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.types import Record, TopicPartition
from kcli.flows.groups.bounded_reads import Budget, known_bounds, read_spans
from kcli.flows.registry.errors import is_silent, not_sent
from kcli.output.tables import Column
from kcli.serde.framing import SchemaId, schema_id_of
from kcli.serde.registry.admin import Registered, RegistryAdmin

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer

RECORDS = 100
"""The last offsets of each partition that are read, unless more are asked for."""
_AT_ONCE = 200
_BYTES = 512 << 20
COLUMNS = (
    Column("topic"),
    Column("part", values=("key", "value"), meaning="What carries the id."),
    Column("versions", values="strings", meaning="Versions of the subject that have the id."),
    Column("id", "id", values="count", meaning="Id of the schema."),
    Column("records", "number", values="count", meaning="Records that were read, and carry it."),
    Column("partitions", "number", spare=1, values="count", meaning="Partitions that have such records."),
    Column("newest", "time", values="time?", meaning="Timestamp of the newest; null where it has none."),
    Column(
        "other_subjects",
        "prose",
        spare=2,
        values="strings",
        meaning="Other subjects with the same id: they have the same schema.",
    ),
)
HEAD = (
    Column("subject", values="string", meaning="The subject."),
    Column("topics", values="count", meaning="Topics that were read."),
    Column("partitions", values="count", meaning="Partitions that were read."),
    Column("records", values="count", meaning="Records that were read."),
)


class Ids(NamedTuple):
    """The ids of a subject. ``versions`` by id; ``by_guid``: ids."""

    versions: Mapping[int, Sequence[int]]
    by_guid: Mapping[str, int]

    @classmethod
    def of(cls, versions: Iterable[Registered]) -> Ids:
        """Deleted versions count: records may have their ids."""
        numbers: dict[int, list[int]] = {}
        guids: dict[str, int] = {}
        for one in versions:
            numbers.setdefault(one.schema.id, []).append(one.schema.version)
            if one.schema.guid:
                guids[one.schema.guid] = one.schema.id
        return cls(numbers, guids)

    def known(self, named: SchemaId | None) -> int | None:
        """The id of the subject that a record names; None for any other."""
        number = named if isinstance(named, int) else self.by_guid.get(str(named))
        return number if number in self.versions else None


class _Found:
    def __init__(self) -> None:
        self.records = 0
        self.partitions: set[int] = set()
        self.newest = -1

    def add(self, record: Record) -> None:
        self.records += 1
        self.partitions.add(record.partition)
        self.newest = max(self.newest, record.timestamp)


class Usage:
    """What was found in the last records of partitions."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self.read = 0
        self.partitions: set[TopicPartition] = set()
        self.missing: list[Missing] = []
        """Ids of which the registry did not say which other subjects have them."""
        self._found: dict[tuple[str, str, int], _Found] = {}

    def add(self, record: Record) -> bool:
        """Counts a record; False: the next is wanted, too."""
        self.read += 1
        for part, data in (("key", record.key), ("value", record.value)):
            number = self.ids.known(schema_id_of(data, record.headers, part))
            if number is not None:
                self._found.setdefault((record.topic, part, number), _Found()).add(record)
        return False

    def rows(self, registry: RegistryAdmin, subject: str) -> Iterator[dict[str, Any]]:
        """By topic."""
        others: dict[int, list[str]] = {}
        for (topic, part, number), found in sorted(self._found.items()):
            if number not in others:
                others[number] = self._others(registry, subject, number)
            yield {
                "topic": topic,
                "part": part,
                "versions": [str(version) for version in self.ids.versions[number]],
                "id": number,
                "records": found.records,
                "partitions": len(found.partitions),
                "newest": found.newest if found.newest >= 0 else None,
                "other_subjects": others[number],
            }

    def _others(self, registry: RegistryAdmin, subject: str, number: int) -> list[str]:
        silent = next((part.error for part in self.missing if is_silent(part.error)), None)
        try:
            if silent is not None:
                raise not_sent(f"id {number}", silent)
            names = {name for name, _version in registry.versions_of(number, subject)}
        except KcliError as error:
            self.missing.append(Missing.of(error, f"other subjects with id {number}"))
            return []
        return sorted(names - {subject})


def read_usage(
    consumer: Consumer, partitions: Sequence[TopicPartition], usage: Usage, *, last: int, seconds: float
) -> Iterator[Missing]:
    """Reads the ``last`` offsets of each partition within ``seconds``; yields what could not be read."""
    budget = Budget(_BYTES, seconds)
    for start in range(0, len(partitions), _AT_ONCE):
        some = partitions[start : start + _AT_ONCE]
        if budget.spent:
            yield from (_late(tp) for tp in some)
            continue
        try:
            yield from _read(consumer, some, usage, last, budget)
        except KcliError as error:
            yield from (Missing(str(tp), "", error) for tp in some if tp not in usage.partitions)


def _read(
    consumer: Consumer, partitions: Sequence[TopicPartition], usage: Usage, last: int, budget: Budget
) -> Iterator[Missing]:
    logs = known_bounds(consumer, partitions, budget.seconds / 4)  # one without a leader takes it all, twice
    spans = {
        tp: span for tp, end in logs.ends.items() if (span := range(max(logs.starts[tp], end - last), end))
    }
    if spans:
        read_spans(consumer, spans, usage.add, budget)
    for tp in partitions:
        if tp not in logs.ends:
            yield Missing(str(tp), "", _unknown_ends(tp))
        elif tp in spans and not consumer.state(tp).reached_stop:
            yield _late(tp)
        else:
            usage.partitions.add(tp)


def _late(tp: TopicPartition) -> Missing:
    error = TimedOutError(
        f"the last records of {tp} were not read to their end",
        why="the time for it was over, or too many bytes were read",
        do="give a higher --timeout, fewer --records, or fewer topics",
    )
    return Missing(str(tp), "", error)


def _unknown_ends(tp: TopicPartition) -> KcliError:
    return TimedOutError(
        f"the offsets of {tp} are not known",
        why="its leader did not respond, or it has none",
        do=f"`kcli topics describe {tp.topic}` shows its leaders",
    )
