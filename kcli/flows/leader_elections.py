"""``kcli elect-leaders``: makes preferred replicas leaders, or gives partitions without a leader any that is alive."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.clock import monotonic
from kcli.core.cluster.metadata import OR_HIDDEN, PartitionView, no_partition
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import grant_command, on_cluster, on_topic
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import leader_is_preferred
from kcli.flows.partition_failures import grouped_failures, reason
from kcli.flows.partitions_file import PartitionsFile, shown_name
from kcli.flows.permitted import refusal
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

NOBODY = -1
_PAUSE = 0.05
_MOST_LINES = 50
_WIDTH = 80
_LOSSES = "Records that these replicas do not have are lost, also acknowledged ones; it cannot be undone."


class NotElectableError(KcliError):
    """No replica of a partition can be elected."""

    exit_code = ExitCode.REFUSED


class NotElectedError(KcliError):
    """A partition is not led by the replica that was elected."""

    exit_code = ExitCode.REFUSED


class Election(NamedTuple):
    """A partition without the leader it should have. ``new``: who would lead, or leads now; NOBODY: there can be none.

    ``note`` says in a word why there can be none, or what the replica lacks. ``elr``: the eligible leader replicas
    (KIP-966), None where brokers do not report them.
    """

    leader: int = NOBODY
    new: int = NOBODY
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    note: str = ""
    elr: tuple[int, ...] | None = None


ElectionItem = Item[TopicPartition, Election]
Scope = tuple[str, Collection[int] | None]
"""A topic with the partitions of it that are meant, None: all."""


class LeaderElection(Change[TopicPartition, Election]):
    """``scopes``: none are all topics. A topic that cannot be described is an item with the partition −1."""

    kind = "LeaderElection"
    printed_by = "elect-leaders"
    item_meaning = "A partition that does not have the leader it should have."
    columns = (
        Column("topic"),
        Column("partition", "id", meaning="Number of the partition; null for a topic that does not exist."),
        Column("leader", "id", meaning="Number of the leader; null without one."),
        Column(
            "new_leader",
            "id",
            meaning="The leader that it is to have, or in a report has; null where there can be none.",
        ),
        Column("replicas", spare=2),
        Column("isr", spare=1),
        Column(
            "elr",
            spare=3,
            values="integers?",
            meaning="Eligible leader replicas: not in sync, but with all committed records; null where it is unknown.",
        ),
    )
    parts = True

    def __init__(self, scopes: Sequence[Scope], *, unclean: bool) -> None:
        self.scopes, self.unclean = scopes, unclean
        self._checked: set[TopicPartition] = set()
        self._refused: set[TopicPartition] = set()

    def decide(self, admin: Admin) -> list[ElectionItem]:
        """The partitions that need an election; refused where no replica can be elected, or elections are denied."""
        (topics, missing), cluster = admin.together(
            lambda: self._topics(admin), lambda: admin.describe_cluster(include_operations=True)
        )
        selected = _selected(topics, self.scopes) if self.scopes else None
        live = [broker.node.id for broker in cluster.brokers if not broker.is_fenced]
        find = unclean_elections if self.unclean else preferred_elections
        elections = find(topics, live, selected)
        denied = refusal(cluster.operations, on_cluster("ALTER"), "electing leaders")
        if any(item.outcome is Outcome.PLANNED for item in elections):
            admin.require("elect_unclean" if self.unclean else "elect_leaders")
        every = {tp for tp, _part in _partitions(topics, selected)}
        self._checked = every - {item.key for item in elections}
        state = "has a leader" if self.unclean else "is led by its preferred replica"
        self.nothing = f"every partition {state}: {counted(len(every), 'partition')} checked"
        if not every:
            self.nothing = "there are no partitions to elect leaders of"
        return [*missing, *(_permitted(item, denied) for item in elections)]

    def _topics(self, admin: Admin) -> tuple[list[TopicInfo], list[ElectionItem]]:
        """The topics, and an item for each of those that are named and cannot be described."""
        if not self.scopes:
            return [
                topic for topic in admin.describe_partitions().values() if isinstance(topic, TopicInfo)
            ], []
        found = admin.describe_partitions(list(dict.fromkeys(name for name, _numbers in self.scopes)))
        missing = [
            Item(TopicPartition(name, NOBODY), Election(), Outcome.REFUSED, topic)
            for name, topic in found.items()
            if isinstance(topic, KcliError)
        ]
        return [topic for topic in found.values() if isinstance(topic, TopicInfo)], missing

    def text(self, plan: Sequence[ElectionItem]) -> str:
        """The plan for people."""
        shown = [item for item in plan if not self.whole(item)]
        if not shown:
            checked = counted(len(self._checked), "partition")
            return "" if plan else f"No leader has to be elected: {checked} checked."
        rows = [self.row(item) | {"note": item.facts.note or None} for item in shown[:_MOST_LINES]]
        elr = ("elr",) if any(item.facts.elr for item in shown) else ()
        table = self._table(("topic", "partition", "leader", "isr", *elr, "new_leader"), rows)
        if max(map(len, table)) > _WIDTH:
            table = self._table(("topic", "partition", "leader", "new_leader"), rows)
        if len(shown) > _MOST_LINES:
            table.append(f"  … and {len(shown) - _MOST_LINES} more")
        todo = sum(item.outcome is Outcome.PLANNED for item in shown)
        kind = "any replica that is alive" if self.unclean else "the preferred replica"
        lines = [f"Elect {kind} as leader of {counted(todo, 'partition')}.", *table]
        return "\n".join([*lines, _LOSSES] if self.unclean and todo else lines)

    def _table(self, keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[str]:
        columns = {column.key: column for column in self.columns}
        return indented_table((*(columns[key] for key in keys), Column("note", "prose")), rows)

    def questions(self, plan: Sequence[ElectionItem]) -> list[Question]:
        """Of an unclean election a name has to be typed."""
        todo = [item.key for item in plan if item.outcome is Outcome.PLANNED]
        question = f"Elect leaders of {counted(len(todo), 'partition')}"
        if not self.unclean:
            return [Question(self.text(plan), f"{question}?")]
        topics = {tp.topic for tp in todo}
        name = todo[0].topic if len(topics) == 1 else "unclean"
        return [Question(self.text(plan), f"{question}, and lose records?", name=name)]

    def warnings(self, plan: Sequence[ElectionItem]) -> Iterable[str]:
        """That no partition was visible."""
        if not plan and not self._checked:
            grant = grant_command("DESCRIBE", [on_topic("DESCRIBE", "TOPIC")])
            yield f"no partition was checked: the cluster has no topics, {OR_HIDDEN} (`{grant}`)"

    def again(self, item: ElectionItem, now: ElectionItem | None) -> ElectionItem:
        """The replica in the plan has to be the one that would be elected now, in the same state."""
        if now is None and item.key in self._checked:
            return item._replace(outcome=Outcome.UNCHANGED, note="elected meanwhile")
        same = now and (now.facts.new, now.facts.note) == (item.facts.new, item.facts.note)
        return super().again(item, now._replace(facts=item.facts) if now and same else now)

    def apply(self, admin: Admin, todo: Sequence[ElectionItem]) -> Mapping[TopicPartition, KcliError | None]:
        """Elects the leaders."""
        answers = admin.elect_leaders([item.key for item in todo], unclean=self.unclean)
        self._refused = {tp for tp, error in answers.items() if error is not None and not is_lost(error)}
        return answers

    def read_back(
        self, admin: Admin, items: Sequence[ElectionItem]
    ) -> dict[TopicPartition, Found[Election] | KcliError]:
        """The leaders; waits a moment until they are those that were elected."""
        until = monotonic() + VISIBLE_WITHIN
        while True:
            leaders = _leaders(admin, items)
            found = {item.key: self._found(item, leaders[item.key]) for item in items}
            bad = {tp for tp, one in found.items() if isinstance(one, KcliError) or one.error is not None}
            if not bad - self._refused or monotonic() >= until:
                return found
            admin.cluster.sleep(_PAUSE)

    def _found(self, item: ElectionItem, leader: int | KcliError) -> Found[Election] | KcliError:
        if isinstance(leader, KcliError):
            return leader
        facts = item.facts._replace(new=leader)
        if leader >= 0 and (self.unclean or leader == item.facts.new):
            return Found(facts)
        who = f"broker {leader} leads it" if leader >= 0 else "it has no leader"
        return Found(
            facts,
            NotElectedError(
                f"the leader of {item.key} was elected, but is another",
                why=f"{who} after the controller confirmed the election",
                do="another election followed it, or brokers have not received it yet; run it again",
            ),
        )

    def unread(self, item: ElectionItem) -> Election:
        """Who leads is not known."""
        return item.facts._replace(new=NOBODY)

    def whole(self, item: ElectionItem) -> bool:
        """A topic that is missing is no part of another."""
        return item.key.partition == NOBODY

    def row(self, item: ElectionItem) -> dict[str, Any]:
        """The values of the columns."""
        election = item.facts
        return {
            "topic": item.key.topic,
            "partition": _known(item.key.partition),
            "leader": _known(election.leader),
            "new_leader": _known(election.new),
            "replicas": list(election.replicas),
            "isr": list(election.isr),
            "elr": None if election.elr is None else list(election.elr),
        }

    def failures(self, items: Sequence[ElectionItem]) -> Iterable[KcliError]:
        """An error for each missing topic, and one for each reason, with its partitions."""
        for item in items:
            if self.whole(item) and item.error is not None:
                yield item.error
        errors = {item.key: item.error for item in items if not self.whole(item) and item.error is not None}
        yield from grouped_failures("no leader was elected for {}", errors)

    def reason(self, error: KcliError) -> str:
        """Without the partition."""
        return reason(error)

    def summary(self, items: Sequence[ElectionItem]) -> Iterable[str]:
        """How many have their leader."""
        if items:
            yield f"elected the leaders of {counted(len(items), 'partition')}, read back"


def preferred_elections(
    topics: Iterable[TopicInfo], live: Collection[int], selected: Collection[TopicPartition] | None = None
) -> list[ElectionItem]:
    """The partitions whose leader is not their first replica. ``live``: the brokers that are alive. Pure."""
    return [
        _preferred(tp, part, live)
        for tp, part in _partitions(topics, selected)
        if not leader_is_preferred(part)
    ]


def unclean_elections(
    topics: Iterable[TopicInfo], live: Collection[int], selected: Collection[TopicPartition] | None = None
) -> list[ElectionItem]:
    """The partitions without a leader; the first replica that is alive would lead, whether in sync or not. Pure."""
    return [_unclean(tp, part, live) for tp, part in _partitions(topics, selected) if part.leader < 0]


_FILE = PartitionsFile(
    "file of an election",
    'as of kafka-leader-election.sh: {"partitions": [{"topic": "orders", "partition": 1}]}',
)


def read_election_file(path: str) -> list[Scope]:
    """The partitions of a file of Kafka's script; ``-`` is stdin. ConfigError says what is wrong and where."""
    found = _FILE.read(path)
    if not found:  # no partition would mean all
        raise _FILE.broken(shown_name(path), "it names no partition")
    return [(tp.topic, (tp.partition,)) for tp, _row in found]


def _selected(topics: Sequence[TopicInfo], scopes: Sequence[Scope]) -> set[TopicPartition]:
    """The partitions that are named; an error for one that does not exist."""
    counts = {topic.name: len(topic.partitions) for topic in topics}
    found = set()
    for name, numbers in scopes:
        for number in numbers or range(counts.get(name, 0)):
            tp = TopicPartition(name, number)
            if name in counts and number >= counts[name]:
                raise no_partition(tp, counts[name])
            found.add(tp)
    return found


def _leaders(admin: Admin, items: Sequence[ElectionItem]) -> dict[TopicPartition, int | KcliError]:
    """The leader of each partition, NOBODY for none."""
    topics = admin.describe_partitions(sorted({item.key.topic for item in items}))
    found: dict[TopicPartition, int | KcliError] = {}
    for item in items:
        topic = topics[item.key.topic]
        if isinstance(topic, KcliError):
            found[item.key] = topic
        else:
            leaders = {part.partition: part.leader for part in topic.partitions}
            found[item.key] = leaders.get(item.key.partition, NOBODY)
    return found


def _partitions(
    topics: Iterable[TopicInfo], selected: Collection[TopicPartition] | None
) -> list[tuple[TopicPartition, PartitionView]]:
    every = (
        (TopicPartition(topic.name, part.partition), part) for topic in topics for part in topic.partitions
    )
    return sorted((tp, part) for tp, part in every if selected is None or tp in selected)


def _preferred(tp: TopicPartition, part: PartitionView, live: Collection[int]) -> ElectionItem:
    preferred = part.replicas[0]
    election = Election(part.leader, NOBODY, part.replicas, part.isr, elr=part.elr)
    if preferred in live and preferred in (*part.isr, *(part.elr or ())):
        return Item(tp, election._replace(new=preferred))
    if preferred not in live:
        note, why = "not alive", f"broker {preferred} is not alive"
        do = f"start broker {preferred}, and wait until it is in sync"
    else:
        note, why = "not in sync", f"the replica on broker {preferred} is not in sync"
        do = "wait until it is; `kcli topics describe --under-replicated` shows it"
    alive = set(part.replicas) & set(live)
    if part.leader < 0 and alive and not alive & {*part.isr, *(part.elr or ())}:
        do += "; --unclean elects another replica, and loses records"
    error = NotElectableError(f"{tp} has no preferred leader to be elected", why=why, do=do)
    return Item(tp, election._replace(note=note), Outcome.REFUSED, error)


def _unclean(tp: TopicPartition, part: PartitionView, live: Collection[int]) -> ElectionItem:
    """Who would lead by the rules of the controller: a replica that is in sync or eligible, else the last known leader
    (KIP-966), else any.
    """
    alive = [number for number in part.replicas if number in live]
    whole = [number for number in alive if number in (*part.isr, *(part.elr or ()))]
    last = [number for number in part.last_known_elr or () if number in alive]
    election = Election(part.leader, NOBODY, part.replicas, part.isr, elr=part.elr)
    if alive:
        note = "" if whole else "last known leader" if last else "not in sync"
        return Item(tp, election._replace(new=(whole or last or alive)[0], note=note), note=note)
    error = NotElectableError(
        f"{tp} has no replica that could lead",
        why="no broker with a replica is alive",
        do="start a broker that has a replica",
    )
    return Item(tp, election._replace(note="none is alive"), Outcome.REFUSED, error)


def _permitted(item: ElectionItem, denied: KcliError | None) -> ElectionItem:
    """The item, refused where elections are ``denied``."""
    if denied is None or item.outcome is not Outcome.PLANNED:
        return item
    facts = item.facts._replace(new=NOBODY, note="not permitted")
    return item._replace(facts=facts, outcome=Outcome.REFUSED, error=denied, note="")


def _known(number: int) -> int | None:
    return None if number < 0 else number
