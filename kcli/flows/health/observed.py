"""What the checks of a cluster judge: the brokers, the quorum, all partitions, coordinators, disks and transactions.

``observe_health`` asks; one deadline is shared by all requests, so that a broker that does not answer delays them once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.groups import COORDINATORS as GROUP_COORDINATORS
from kcli.core.admin.topics import TopicInfo
from kcli.core.admin.transactions import COORDINATORS as TRANSACTION_COORDINATORS
from kcli.core.classes import dataclass, field
from kcli.core.errors import (
    AuthError,
    BrokerError,
    ConnectError,
    KcliError,
    NoLeaderError,
    NotConnectedError,
    NotFoundError,
    OutcomeUnknownError,
    PartlyFailedError,
    UnsupportedError,
)
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import SOME_USER
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import (
    ONLINE,
    BrokerState,
    broker_states,
    described,
    is_offline,
    requires_capped,
)
from kcli.flows.doctor.examine import PATIENCE
from kcli.flows.doctor.topic_checks import KEYS, UNCLEAN, min_isr_of
from kcli.flows.health.outlook import Situation, TopicRules
from kcli.flows.permitted import may_see_all
from kcli.flows.quorum.majority import Majority, majority_of
from kcli.flows.transactions.coordinated import ReadLog, hidden_ids, not_listed
from kcli.flows.transactions.held import Survey, survey
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.core.admin.brokers import ClusterDescription, LogDir
    from kcli.core.admin.configs import ConfigEntry
    from kcli.core.admin.features import BrokerFeatures
    from kcli.core.admin.group_description import GroupDescription
    from kcli.core.admin.quorum import QuorumDescription
    from kcli.core.admin.reassignments import Reassignment
    from kcli.core.admin.transactions import TransactionDescription

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Coordinated:
    """The groups, or the transactional ids, of all coordinators. ``topic`` is None where there is none yet.

    ``failed``: why a coordinator that was asked for one of them does not serve it, by name. ``listed``: whether brokers
    list them; transactional ids they do since Kafka 3.0.
    """

    topic: TopicInfo | None
    names: tuple[str, ...] = ()
    failed: Mapping[str, KcliError] = field(default_factory=dict)
    listed: bool = True


NO_COORDINATORS = Coordinated(None)


@dataclass(frozen=True)
class Observed:
    """``quorum`` is None with ZooKeeper, before Kafka 3.3, and where it could not be described: ``no_quorum`` says why.

    ``unreachable``: brokers that are registered and cannot be connected to. ``unread``: what could not be found out, by
    the check that needs it. What a broker that is down does not report is not among it.
    """

    description: ClusterDescription
    quorum: QuorumDescription | None
    no_quorum: KcliError | None
    unreachable: Mapping[int, KcliError]
    topics: Mapping[str, TopicInfo] = field(default_factory=dict)
    rules: Mapping[str, TopicRules] = field(default_factory=dict)
    groups: Coordinated = NO_COORDINATORS
    transactional_ids: Coordinated = NO_COORDINATORS
    log_dirs: Mapping[int, list[LogDir]] = field(default_factory=dict)
    transactions: Survey | None = None
    reassignments: Mapping[TopicPartition, Reassignment] = field(default_factory=dict)
    unread: Mapping[str, list[KcliError]] = field(default_factory=dict)
    silent: frozenset[int] = frozenset()

    @cached_property
    def brokers(self) -> list[BrokerState]:
        """All that are registered, or named by replica lists."""
        return broker_states(self.description, list(self.topics.values()))

    @cached_property
    def live(self) -> frozenset[int]:
        """The brokers that are registered, not fenced, and respond."""
        online = {one.number for one in self.brokers if one.state == ONLINE}
        return frozenset(online - self.unreachable.keys() - self.silent)

    @property
    def majority(self) -> Majority | None:
        """That of the controllers; one whose broker is down is down, too, before the others have missed it."""
        if self.quorum is None:
            return None
        return majority_of(self.quorum).if_stopped({one.number for one in self.brokers} - self.live)

    @property
    def elects(self) -> bool:
        """Whether there is an active controller that can change metadata; assumed where it may not be seen."""
        if self.quorum is not None:
            majority = self.majority
            return self.quorum.leader >= 0 and majority is not None and majority.spare >= 0
        if self.no_quorum is not None:
            return self.no_quorum.exit_code != ExitCode.UNREACHABLE
        return self.description.controller >= 0

    @property
    def situation(self) -> Situation:
        """What the outlook is made from."""
        return Situation(self.topics, self.rules, self.live, self.majority, self.elects)


QUORUM, BROKERS, TOPICS, HIDDEN, CONFIGS = "quorum", "brokers", "topics", "hidden", "configs"
GROUPS, IDS = "groups", "transactional_ids"
LOG_DIRS, TRANSACTIONS, REASSIGNMENTS = "log_dirs", "transactions", "reassignments"


def observe_health(admin: Admin, read_log: ReadLog, seconds: float) -> Observed:
    """Everything, within ``seconds``. Raises if no broker responds, or none lists the topics."""
    with admin.within(seconds):
        return _Observation(admin, read_log).observed()


def observe_nodes(admin: Admin, seconds: float) -> Observed:
    """Which nodes are there, and nothing else: a few small requests."""
    with admin.within(seconds):
        return _Observation(admin, not_listed).nodes()


class _Observation:
    """One look at the cluster."""

    def __init__(self, admin: Admin, read_log: ReadLog) -> None:
        self._admin, self._read_log = admin, read_log
        self._unread: dict[str, list[KcliError]] = {}
        self._down: set[int] = set()
        self._silent: set[int] = set()

    def nodes(self) -> Observed:
        description, (quorum, no_quorum) = self._admin.together(self._described, self._quorum)
        _features, unreachable = self._features(description)
        return Observed(
            description,
            quorum,
            no_quorum,
            unreachable,
            unread=self._unread,
            silent=frozenset(self._silent),
        )

    def observed(self) -> Observed:
        admin = self._admin
        description, (quorum, no_quorum) = admin.together(self._described, self._quorum)
        features, unreachable = self._features(description)
        no_directories: dict[int, list[LogDir] | KcliError] = {}
        no_moves: dict[TopicPartition, Reassignment] = {}
        described, directories = admin.together(
            admin.describe_partitions, lambda: self._read(LOG_DIRS, admin.describe_log_dirs, no_directories)
        )
        topics = {name: topic for name, topic in described.items() if isinstance(topic, TopicInfo)}
        for topic in topics.values():
            if topic.error is not None:
                self._lacks(TOPICS, topic.error)
        log_dirs = self._of_brokers(LOG_DIRS, directories)
        # First what a controller that hangs keeps waiting: the others are read meanwhile.
        reassignments, _, rules, groups, transactional_ids, transactions = admin.together(
            lambda: self._read(REASSIGNMENTS, admin.list_reassignments, no_moves),
            lambda: self._look_for_hidden(topics, log_dirs),
            lambda: self._rules(topics, capped=requires_capped(features.values())),
            lambda: self._groups(self._home(GROUPS, GROUP_COORDINATORS, topics), description),
            lambda: self._transactional_ids(self._home(IDS, TRANSACTION_COORDINATORS, topics)),
            lambda: self._read(TRANSACTIONS, partial(self._held, topics), None),
        )
        return Observed(
            description,
            quorum,
            no_quorum,
            unreachable,
            topics,
            rules,
            groups,
            transactional_ids,
            log_dirs,
            transactions,
            reassignments,
            self._unread,
            frozenset(self._silent),
        )

    def _described(self) -> ClusterDescription:
        description = described(self._admin, include_operations=True)
        self._down = {broker.node.id for broker in description.brokers if broker.is_fenced}
        return description

    def _lacks(self, what: str, error: KcliError) -> None:
        self._unread.setdefault(what, []).append(error)

    def _read(self, what: str, ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except KcliError as error:
            self._lacks(what, error)
            return otherwise

    def _of_brokers(self, what: str, found: Mapping[int, T | KcliError]) -> dict[int, T]:
        """What the brokers reported; those that are down are no gap: a check of its own has them."""
        good: dict[int, T] = {}
        for number, one in found.items():
            if not isinstance(one, KcliError):
                good[number] = one
            elif number not in self._down:
                self._lacks(what, one)
        return good

    def _quorum(self) -> tuple[QuorumDescription | None, KcliError | None]:
        try:
            return self._admin.describe_quorum(), None
        except UnsupportedError:
            return None, None  # metadata names the controller
        except KcliError as error:
            return None, error

    def _features(
        self, description: ClusterDescription
    ) -> tuple[dict[int, BrokerFeatures], dict[int, KcliError]]:
        """Each broker is connected to; those that cannot be are unreachable, those that do not answer silent."""
        online = [broker.node.id for broker in description.brokers if not broker.is_fenced]
        with self._admin.within(2 * PATIENCE):  # of which a call takes half
            found = self._admin.describe_features(broker_ids=online)
        unreachable = {
            number: one
            for number, one in found.items()
            if isinstance(one, KcliError) and _is_unreachable(one)
        }
        self._down |= unreachable.keys()
        self._silent = {number for number, one in found.items() if isinstance(one, KcliError)} - self._down
        return self._of_brokers(BROKERS, found), unreachable

    def _rules(self, topics: Collection[str], *, capped: bool) -> dict[str, TopicRules]:
        resources = [ConfigResource(ConfigKind.TOPIC, name) for name in topics]
        found: dict[ConfigResource, list[ConfigEntry] | KcliError] = {}
        if resources:
            ask = partial(self._admin.describe_configs, resources, keys=list(KEYS))
            found = self._read(CONFIGS, ask, found)
        rules = {}
        alike: dict[tuple[type, str], list[tuple[str, KcliError]]] = {}
        for resource, entries in found.items():
            if isinstance(entries, NotFoundError):
                continue  # deleted since
            if isinstance(entries, KcliError):
                cause = type(entries), entries.why.replace(resource.name, "")
                alike.setdefault(cause, []).append((resource.name, entries))
                continue
            values = {entry.name: entry.value for entry in entries}
            rules[resource.name] = TopicRules(min_isr_of(values), values.get(UNCLEAN) == "true", capped)
        for some in alike.values():  # a broker that does not answer is one gap, and not one for each topic
            (name, error), *others = some
            what = f"the configuration of topic {name} and {counted(len(others), 'other')} could not be read"
            self._lacks(CONFIGS, PartlyFailedError(what, error) if others else error)
        return rules

    def _look_for_hidden(self, topics: Collection[str], log_dirs: Mapping[int, list[LogDir]]) -> None:
        """Brokers leave out the topics that a user may not describe, but name what is in their log directories. Where
        these may not be described either, the answer for a topic that nobody has tells whether there may be more.
        """
        stored = {tp.topic for found in log_dirs.values() for directory in found for tp in directory.replicas}
        unseen = sorted(stored.difference(topics))
        if any(error.exit_code == ExitCode.DENIED for error in self._unread.get(LOG_DIRS, ())):
            unseen = [f"kcli-{uuid4()}"]
        if not unseen:
            return
        answers: dict[str, TopicInfo | KcliError] = {}
        answers = self._read(HIDDEN, partial(self._admin.describe_partitions, unseen), answers)
        denied = [
            name
            for name, one in answers.items()
            if isinstance(one, KcliError) and one.exit_code == ExitCode.DENIED
        ]
        if denied:  # others were created or deleted meanwhile
            self._lacks(HIDDEN, _hidden([name for name in denied if name in stored]))

    def _home(self, what: str, name: str, topics: Mapping[str, TopicInfo]) -> TopicInfo | None:
        """The topic of the coordinators; None if there is none yet, or it may not be seen, which is unread then."""
        if name in topics:
            return topics[name]
        answers: dict[str, TopicInfo | KcliError] = {}
        found = self._read(what, partial(self._admin.describe_partitions, [name]), answers).get(name)
        if isinstance(found, KcliError) and not isinstance(found, NotFoundError):
            self._lacks(what, found)
        return found if isinstance(found, TopicInfo) else None

    def _groups(self, topic: TopicInfo | None, description: ClusterDescription) -> Coordinated:
        if topic is None:
            return NO_COORDINATORS
        listing = self._read(GROUPS, self._admin.list_groups, None)
        if listing is None:
            return Coordinated(topic)
        self._of_brokers(GROUPS, listing.errors)
        if not may_see_all(lambda: description):
            self._lacks(GROUPS, _hidden_groups())
        names = [row.group_id for row in listing.groups]
        answers: dict[str, GroupDescription | KcliError] = {}
        if names:
            answers = self._read(GROUPS, partial(self._admin.describe_groups, names, all_types=True), answers)
        return self._coordinated(GROUPS, topic, names, answers)

    def _transactional_ids(self, topic: TopicInfo | None) -> Coordinated:
        if topic is None:
            return NO_COORDINATORS
        try:
            listing = self._admin.list_transactions()
        except UnsupportedError:
            return Coordinated(topic, listed=False)
        except KcliError as error:
            self._lacks(IDS, error)
            return Coordinated(topic)
        if any(isinstance(error, UnsupportedError) for error in listing.errors.values()):
            return Coordinated(topic, listed=False)
        self._of_brokers(IDS, listing.errors)
        for hidden in hidden_ids(self._admin, "some transactional ids were not checked"):
            self._lacks(IDS, hidden)
        names = [row.transactional_id for row in listing.transactions]
        answers: dict[str, TransactionDescription | KcliError] = {}
        if names:
            answers = self._read(IDS, partial(self._admin.describe_transactions, names), answers)
        return self._coordinated(IDS, topic, names, answers)

    def _coordinated(
        self, what: str, topic: TopicInfo, names: list[str], answers: Mapping[str, object]
    ) -> Coordinated:
        """An error of a coordinator fails the check; one that did not answer, or does not allow it, leaves it open."""
        failed: dict[str, KcliError] = {}
        for name, one in answers.items():
            if not isinstance(one, KcliError) or isinstance(one, NotFoundError):
                continue  # deleted, or expired, since it was listed
            if isinstance(one, BrokerError | NoLeaderError) and one.exit_code != ExitCode.DENIED:
                failed[name] = one
            else:
                self._lacks(what, one)
        return Coordinated(topic, tuple(names), failed)

    def _held(self, topics: Mapping[str, TopicInfo]) -> Survey:
        """Of the partitions whose leader is there."""
        away = self._down | self._silent
        partitions = [
            TopicPartition(name, part.partition)
            for name, topic in topics.items()
            for part in topic.partitions
            if not is_offline(part) and part.leader not in away
        ]
        return survey(self._admin, partitions, self._read_log)


def _hidden(names: Sequence[str]) -> AuthError:
    if not names:
        return AuthError(
            "some topics were not checked",
            why="this client may not describe all topics, and brokers do not say which they leave out",
            do="use a user that has DESCRIBE on them, or check some topics with --topic",
        )
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return AuthError(
        f"the partitions of {counted(len(names), 'topic')} were not checked: {shown}",
        why="the cluster has them, and this user may not describe them",
        do="use a user that has DESCRIBE on them, or check some topics with --topic",
    )


def _hidden_groups() -> AuthError:
    return AuthError(
        "some groups were not checked",
        why="this client may not describe the cluster: brokers list only the groups that it may describe by name",
        do=f"have it granted: `kcli acls create --principal {SOME_USER} --operation describe --cluster`",
    )


def _is_unreachable(error: KcliError) -> bool:
    """Whether there is no connection, in contrast to one without an answer; or the broker has gone since."""
    if isinstance(error, OutcomeUnknownError):
        return False
    return isinstance(error, ConnectError | NotConnectedError | NotFoundError)
