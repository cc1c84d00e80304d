"""The plan of a rewind: one object for dry run, prompt, execution and verification. Pure."""

from collections.abc import Mapping, Sequence
from shlex import quote

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.topics import id_bytes
from kcli.core.classes import dataclass, field, replace
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.groups.members import named
from kcli.flows.rewind.targets import PartitionState, Target, find
from kcli.output.progress import counted

GroupTopic = tuple[str, str | None]
"""A topic of a group; None: the whole group."""

ABSENT = "Dead"
"""The state of a group that does not exist; coordinators before 4.0 report it, too."""
EMPTY_STATES = ("Empty", ABSENT)
STABLE = "Stable"
CONSUMERS = ("", "consumer", SHARE, STREAMS)
KAFKA_STREAMS = "stream"
"""The assignor of Kafka Streams applications with the classic protocol."""


@dataclass(frozen=True, slots=True)
class RewindItem:
    """One partition. ``new`` None: its commit is to be deleted, or ``refusal`` says why nothing is done.

    ``records``: how many will be read again or skipped, at most: the offsets between the old and the new one within the
    log; compaction, markers and aborted transactions may leave fewer records. None where the old offset is not known.
    ``span_ms``: the time between the first and the last of them, None where it is not known. ``topic_id``: of the topic
    that was planned for, in Kafka's text form; empty where brokers have none.

    Of a share group offsets are start offsets. ``forgotten``: how many records after the old one are acknowledged, which
    is forgotten when it is set, even to where it is.
    """

    tp: TopicPartition
    committed: OffsetAndMetadata | None
    new: OffsetAndMetadata | None
    note: str = ""
    records: int | None = None
    low: int = 0
    """Where the records begin; ``low + records`` is where they end."""
    span_ms: int | None = None
    refusal: KcliError | None = None
    topic_id: str = ""
    forgotten: int = 0

    @property
    def commit(self) -> OffsetAndMetadata | None:
        """``new`` as it is committed: for the topic that was planned for, and no other one of its name."""
        return None if self.new is None else self.new._replace(topic_id=id_bytes(self.topic_id))

    @property
    def change(self) -> int | None:
        """The difference in offsets, negative for moving back. None without an old or a new commit."""
        if self.committed is None or self.new is None:
            return None
        return self.new.offset - self.committed.offset

    @property
    def changes(self) -> bool:
        """Whether the commit will change; leader epochs are ignored because old brokers store none."""
        if self.committed is None or self.new is None:
            return self.committed is not self.new
        if self.forgotten:
            return True
        return self.committed._replace(leader_epoch=self.new.leader_epoch) != self.new

    @property
    def action(self) -> str:
        """``commit``, ``delete``, ``keep`` (there is no commit, and none is to be made) or ``refused``."""
        if self.refusal is not None:
            return "refused"
        if self.new is not None:
            return "commit"
        return "keep" if self.committed is None else "delete"


@dataclass(frozen=True, slots=True)
class Remedies:
    """What a user can do about a group in use, in the terms of the command that was given."""

    members: str = "rewind it as it runs with --live; or stop them and try again, --wait waits for their end"
    transactions: str = "--wait waits for its end, --wait=5m for so long at most; or end its application"


BY_REWIND = Remedies()
NOT_LIVE = replace(BY_REWIND, members="stop them and try again; --wait waits for their end")
"""For brokers and groups whose members cannot be kept out."""


def remedy_for_members(kind: str, remedies: Remedies) -> str:
    """What can be done about the members of a group of this type."""
    return (NOT_LIVE if kind in (SHARE, STREAMS) and remedies is BY_REWIND else remedies).members


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """One group. ``refusal``: why it cannot be rewound now; ``id`` names its journal. ``type`` is ``classic``,
    ``consumer`` (KIP-848) or ``share`` (KIP-932). ``live``: it has members, which are kept out while its offsets are set.

    ``to`` describes the target in words. ``untouched`` counts the group's other topics. ``undoes``: the journal whose
    offsets it restores.
    """

    group: str
    id: str
    to: str
    state: str
    items: tuple[RewindItem, ...]
    members: tuple[MemberDescription, ...] = ()
    untouched: int = 0
    undoes: str | None = None
    counts_offsets: bool = False
    refusal: KcliError | None = None
    type: str = "classic"
    assignor: str = ""
    live: bool = False
    remedies: Remedies = BY_REWIND

    @property
    def is_share(self) -> bool:
        """Whether its offsets are start offsets."""
        return self.type == SHARE

    @property
    def todo(self) -> list[RewindItem]:
        """The items that can be done."""
        return [item for item in self.items if item.refusal is None] if self.refusal is None else []


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """What will be done, in order. ``act`` describes it; the group's name follows.

    ``asked``: the groups of the request, in its order. ``unplanned``: why some of them, or topics of them, are not in the
    plan.
    """

    cluster: str
    groups: tuple[GroupPlan, ...]
    act: str = "Rewind group"
    asked: tuple[str, ...] = ()
    unplanned: Mapping[GroupTopic, KcliError] = field(default_factory=dict)

    @property
    def possible(self) -> bool:
        """Whether any part of it can be done."""
        return any(group.todo for group in self.groups)

    @property
    def refused(self) -> list[tuple[TopicPartition, KcliError]]:
        """The partitions that are refused, of groups that are not."""
        items = (item for group in self.groups if group.refusal is None for item in group.items)
        return [(item.tp, item.refusal) for item in items if item.refusal is not None]


class NotPossibleError(KcliError):
    """The state of the group does not allow its offsets to be set."""

    exit_code = ExitCode.REFUSED


def plan_item(tp: TopicPartition, target: Target, seen: PartitionState) -> RewindItem:
    """What will happen to one partition."""
    try:
        found = find(target, tp, seen)
    except KcliError as error:
        return refused_item(tp, error, seen.committed)
    new = found.new
    if seen.shared and new is not None:
        new = new._replace(metadata="")  # brokers keep none with start offsets
    return with_records(
        RewindItem(tp, seen.committed, new, found.note, forgotten=found.forgotten),
        seen.start.offset,
        seen.end.offset,
    )


def with_records(item: RewindItem, start: int, end: int) -> RewindItem:
    """The item with the number of records between its two offsets, in a log from ``start`` to ``end``."""
    if item.committed is None or item.new is None:
        return item
    low, high = sorted((item.committed.offset, item.new.offset))
    low, high = max(low, start), min(high, max(end, item.new.offset))
    return replace(item, records=max(0, high - low), low=low)


def refused_item(
    tp: TopicPartition, error: KcliError, committed: OffsetAndMetadata | None = None
) -> RewindItem:
    """A partition that is not changed."""
    why = error.why or error.what.removeprefix(f"{tp}: ")
    return RewindItem(tp, committed, None, f"refused: {why}", refusal=error)


def with_spans(items: Sequence[RewindItem], spans: Mapping[TopicPartition, int]) -> tuple[RewindItem, ...]:
    """The items with the time between their first and last record, where it is known."""
    return tuple(replace(item, span_ms=0 if item.records == 0 else spans.get(item.tp)) for item in items)


def not_possible(
    group: GroupDescription,
    *,
    live: bool = False,
    remedies: Remedies = BY_REWIND,
    unheld: KcliError | None = None,
) -> KcliError | None:
    """Why the offsets of a group cannot be set, or None if they can. ``live``: its members may be kept out meanwhile,
    unless brokers cannot do that: ``unheld`` says why.
    """
    if group.protocol_type not in CONSUMERS:
        return NotPossibleError(
            f"the offsets of group {group.group_id} cannot be set",
            why=f"it is no group of consumers, its protocol is {group.protocol_type!r}",
            do="change its offsets with its own tools (Kafka Connect: its REST interface)"
            if group.protocol_type == "connect"
            else "",
        )
    if group.state in EMPTY_STATES and not group.members:
        return None
    if not group.members or (live and group.state != STABLE):
        return NotPossibleError(
            f"group {group.group_id} is {group.state}", why="members are joining or leaving", do="try again"
        )
    if live:
        return _cannot_be_held(group, unheld)
    members = counted(len(group.members), "member")
    why = (
        f"brokers set start offsets only while a share group has no members, and it has {members}"
        if group.type == SHARE
        else f"its {members} would overwrite the new offsets"
    )
    return NotPossibleError(
        f"group {group.group_id} has members ({len(group.members)}), it is {group.state}",
        why=f"{why}: {named(group.members)}",
        do=remedy_for_members(group.type, remedies),
    )


def _cannot_be_held(group: GroupDescription, unheld: KcliError | None) -> KcliError | None:
    what = f"group {group.group_id} cannot be rewound while it runs"
    if group.type == SHARE:
        return NotPossibleError(
            what,
            why="brokers set start offsets only while a share group has no members, and nothing can keep them out",
            do="stop its members and try again without --live; --wait waits for their end",
        )
    if unheld is not None:
        return NotPossibleError(what, why=str(unheld), do="stop its members and try again")
    if group.assignor == KAFKA_STREAMS or group.type == STREAMS:
        return NotPossibleError(
            what,
            why="it is a Kafka Streams application: its state would not be rewound with its offsets",
            do=f"stop it; `kcli groups reset-app {quote(group.group_id)}` resets both",
        )
    if any(member.protocol == "classic" for member in group.members):
        return NotPossibleError(
            what,
            why="it is being migrated to the new group protocol, and has members of both",
            do="try again when all its members are restarted",
        )
    return None
