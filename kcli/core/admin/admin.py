"""The admin client: one object for the bulk calls of this package. Blocks only in its own loop's poll."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kcli.core import admin as operations
from kcli.core import cluster as parts
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.silence import Silence
from kcli.core.errors import ConfigError, KcliError, TimedOutError
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.options import ClientOptions, given
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition, TopicSpec

if TYPE_CHECKING:
    from kcli.core.admin import (  # noqa: F401 - which operations has
        abilities,
        aborting,
        acls,
        api_versions,
        arguments,
        controllers,
        delegation_tokens,
        elections,
        feature_updates,
        new_partitions,
        other_groups,
        partitions,
        quotas,
        records,
        replica_log_dirs,
        topic_changes,
        users,
    )
    from kcli.core.admin.abilities import Act
    from kcli.core.admin.acls import AclBinding, AclFilter
    from kcli.core.admin.api_versions import ApiRanges
    from kcli.core.admin.brokers import ClusterDescription, LogDir
    from kcli.core.admin.commits import Stored
    from kcli.core.admin.committed import Committed
    from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigKind, ConfigResource
    from kcli.core.admin.delegation_tokens import DelegationToken, Principal
    from kcli.core.admin.feature_updates import LevelChange
    from kcli.core.admin.features import BrokerFeatures
    from kcli.core.admin.first_records import FirstRecord
    from kcli.core.admin.group_description import GroupDescription, MemberBytes
    from kcli.core.admin.groups import GroupListing
    from kcli.core.admin.members import GroupMember
    from kcli.core.admin.preceding import Preceding
    from kcli.core.admin.quorum import Endpoint, QuorumDescription
    from kcli.core.admin.quotas import QuotaEntity
    from kcli.core.admin.reassignments import Reassignment
    from kcli.core.admin.share_offsets import ShareOffsets
    from kcli.core.admin.topic_changes import CreatedTopic, Outcome
    from kcli.core.admin.topics import TopicInfo
    from kcli.core.admin.transactions import ProducerDescription, TransactionDescription, TransactionListing
    from kcli.core.admin.users import ScramCredential, ScramMechanism, ScramUpsertion
    from kcli.core.cluster import coordinators, everywhere, offsets, together  # noqa: F401 - imported on use
    from kcli.core.cluster.coordinators import Coordinators
    from kcli.core.cluster.offsets import OffsetInfo

_LEAST = 0.25  # seconds for a call after the deadline that it shares: its broker is not to blame


class Admin:
    """``Admin(bootstrap_servers="host:9092")``; a context manager. ``timeout`` is in seconds, per call.

    Every call accepts many items and returns a result or an error (a KcliError, not raised) for each. Exceptions
    concern the call as a whole: no broker can be reached, or an argument is invalid.
    """

    def __init__(
        self,
        options: ClientOptions | None = None,
        hooks: Hooks = NO_HOOKS,
        *,
        timeout: float = 10.0,
        **values: Any,
    ) -> None:
        self.cluster = Cluster(given(ClientOptions, options, values), hooks=hooks)
        self.timeout = timeout
        self._known_coordinators: Coordinators | None = None
        self._emptied: set[str] = set()
        self._member_bytes: MemberBytes | None = None
        self._until: float | None = None
        self._begun: dict[frozenset[str], Callable[[float], dict[str, Committed | KcliError]]] = {}
        self._silence = Silence()
        self._late_groups: set[str] = set()

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def connect(self) -> ClusterView:
        """Connects to the cluster; ConnectError says which address failed and why."""
        left = self.timeout if self._until is None else max(0.0, self._until - self.cluster.loop.now())
        return self.cluster.connect(min(self.timeout, left))

    def foresee(
        self,
        *,
        topics: bool = False,
        groups: Sequence[str] = (),
        listing: bool = False,
        permissions: bool = False,
        fenced: bool = False,
        brokers: bool = False,
        operations_on: Sequence[str] = (),
    ) -> None:
        """What will be asked for goes out with the first contact: all ``topics``, the coordinators of ``groups``, which
        brokers there are (for all ``brokers``, or a ``listing`` of groups), what this client may do with the cluster
        (``permissions``) and with topics (``operations_on``), the cluster with its ``fenced`` brokers.
        """
        if groups:
            self._coordinators().foresee(parts.coordinators.KeyType.GROUP, groups)
        if brokers:
            parts.everywhere.foresee_brokers(self.cluster)
        if listing:
            operations.groups.foresee_listing(self.cluster)
        if topics:
            self.cluster.foresee_topics()
        if operations_on:
            operations.topics.foresee_operations(self.cluster, operations_on)
        if permissions or fenced:
            operations.brokers.foresee_cluster(
                self.cluster, include_operations=permissions, include_fenced=fenced
            )

    def together(self, *reads: Callable[[], Any]) -> list[Any]:
        """The results of reads that do not depend on each other, which wait at the same time; raises the first error."""
        return parts.together.together([self.cluster], reads)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """All calls made in the block, which only read, share this deadline; none takes longer than its timeout either.

        A call that waits leaves time for those after it: it takes half of what is left at most. A broker that has not
        answered by then, and a group whose coordinator was away, are asked again but hardly waited for until they
        answer, also in the next block: they delay what others answer only once.
        """
        before, until = self._until, self.cluster.deadline(seconds)
        self._until = until if before is None else min(before, until)
        if before is None:
            self._silence.begin()
            self.cluster.silence = self._silence
        try:
            yield
        finally:
            self._until = before
            if before is None:
                self.cluster.silence = None

    # --- the cluster ---------------------------------------------------------------------------------

    def cluster_id(self) -> str:
        """The cluster id; empty if brokers have none."""
        return self.connect().cluster_id or ""

    def describe_cluster(
        self, *, include_fenced: bool = False, include_operations: bool = False
    ) -> ClusterDescription:
        """The brokers and the cluster id; see ``brokers.describe_cluster``."""
        return operations.brokers.describe_cluster(
            self.cluster,
            self._start(),
            include_fenced=include_fenced,
            include_operations=include_operations,
        )

    def describe_log_dirs(
        self,
        *,
        broker_ids: Collection[int] | None = None,
        partitions: Collection[TopicPartition] | None = None,
    ) -> dict[int, list[LogDir] | KcliError]:
        """The log directories of every broker, by node id, with the size of each replica in bytes (KIP-113)."""
        return operations.brokers.describe_log_dirs(
            self.cluster, self._start(), broker_ids=broker_ids, partitions=partitions
        )

    def describe_features(
        self, *, broker_ids: Collection[int] | None = None
    ) -> dict[int, BrokerFeatures | KcliError]:
        """The features that every broker supports, by node id, and those finalized in the cluster (KIP-584)."""
        return operations.features.describe_features(self.cluster, self._start(), broker_ids=broker_ids)

    def describe_quorum(self) -> QuorumDescription:
        """The controllers of a KRaft cluster (KIP-595); UnsupportedError with ZooKeeper, and before Kafka 3.3."""
        return operations.quorum.describe_quorum(self.cluster, self._start())

    def add_controller(self, node: int, directory_id: str, listeners: tuple[Endpoint, ...]) -> None:
        """Makes a controller a voter of the quorum (KIP-853); see ``controllers.add_controller``."""
        operations.controllers.add_controller(self.cluster, node, directory_id, listeners, self._start())

    def remove_controller(self, node: int, directory_id: str) -> None:
        """Removes a controller from the voters (KIP-853)."""
        operations.controllers.remove_controller(self.cluster, node, directory_id, self._start())

    def unregister_broker(self, number: int) -> None:
        """Forgets a broker that has stopped for good; see ``brokers.unregister_broker``."""
        operations.brokers.unregister_broker(self.cluster, number, self._start())

    def describe_api_versions(
        self, *, broker_ids: Collection[int] | None = None
    ) -> dict[int, ApiRanges | KcliError]:
        """The first and last version of each API by its key, of every broker, by node id (KIP-35)."""
        return operations.api_versions.describe_api_versions(
            self.cluster, self._start(), broker_ids=broker_ids
        )

    def update_features(
        self, levels: Mapping[str, int], change: LevelChange, *, validate_only: bool = False
    ) -> dict[str, KcliError | None]:
        """Finalizes levels of features (KIP-584); see ``feature_updates.update_features``."""
        return operations.feature_updates.update_features(
            self.cluster, levels, change, self._start(), validate_only=validate_only
        )

    # --- topics and their records --------------------------------------------------------------------

    def list_topics(self) -> list[TopicInfo]:
        """All topics, by name."""
        self.connect()
        view = self.cluster.all_topics(self._deadline())
        return [operations.topics.topic_info(view.topics[name]) for name in sorted(view.topics)]

    def describe_topics(
        self, names: Sequence[str], partitions: Collection[TopicPartition] = (), *, similar: bool = True
    ) -> dict[str, TopicInfo | KcliError]:
        """Each name's topic, or the error, with ``similar`` names; not older than what is known of ``partitions``."""
        names = operations.arguments.several(names)
        return operations.topics.describe_topics(
            self.cluster, names, self._start(), partitions, similar=similar
        )

    def describe_partitions(self, names: Sequence[str] | None = None) -> dict[str, TopicInfo | KcliError]:
        """As ``describe_topics``, in pages, and with eligible leader replicas where brokers report them (KIP-966); None:
        all topics, by name.
        """
        found = None if names is None else operations.arguments.several(names)
        return operations.partitions.describe_partitions(self.cluster, found, self._start())

    def topic_operations(
        self, names: Sequence[str], *, missing_too: bool = False
    ) -> dict[str, int | KcliError | None]:
        """The bits of the operations this client may do with each topic (KIP-430); None if brokers do not report them.

        ``missing_too``: also for names of topics that do not exist yet.
        """
        found = operations.arguments.several(names)
        return operations.topics.topic_operations(self.cluster, found, self._start(), missing_too=missing_too)

    def create_topics(
        self,
        specs: Sequence[TopicSpec],
        *,
        validate_only: bool = False,
        made: dict[str, CreatedTopic] | None = None,
    ) -> Outcome:
        """Creates topics, or only validates. ``made`` collects what the broker reports of each.

        Created means that all brokers show the partitions with leaders: else NotKnownError (``new_partitions``).
        """
        deadline = self._start()
        outcome = operations.topic_changes.create_topics(
            self.cluster, specs, deadline, validate_only=validate_only, made=made
        )
        counts = {spec.name: spec.partitions for spec in specs if outcome[spec.name] is None}
        if validate_only or not counts:
            return outcome
        return outcome | operations.new_partitions.wait_until_known(
            self.cluster, counts, deadline, "created topic"
        )

    def delete_topics(self, names: Sequence[str]) -> Outcome:
        """Deletes topics with all their records."""
        names = operations.arguments.several(names)
        return operations.topic_changes.delete_topics(self.cluster, names, self._start())

    def create_partitions(self, counts: Mapping[str, int], *, validate_only: bool = False) -> Outcome:
        """Increases the number of partitions of topics (KIP-195): ``counts`` are the new totals.

        INVALID_PARTITIONS if a topic already has as many; NotKnownError as for new topics.
        """
        deadline = self._start()
        outcome = operations.topic_changes.create_partitions(
            self.cluster, counts, deadline, validate_only=validate_only
        )
        added = {name: counts[name] for name, error in outcome.items() if error is None}
        if validate_only or not added:
            return outcome
        return outcome | operations.new_partitions.wait_until_known(
            self.cluster, added, deadline, "added partitions to topic"
        )

    def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | KcliError]:
        """Deletes the records below each offset (−1: all existing ones), KIP-107; returns the new start offsets.

        OFFSET_OUT_OF_RANGE for an offset above the high watermark.
        """
        operations.arguments.check_numbers(before, "offset")
        return operations.records.delete_records(self.cluster, before, self._start())

    def list_offsets(
        self,
        wanted: Mapping[TopicPartition, int],
        *,
        committed_only: bool = False,
        leader_patience: float | None = None,
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        """Offsets by timestamp (ms since the epoch) or special value: −1 the end, −2 the start, to −6
        (``cluster/offsets.py``).

        An offset of −1 means that there is no such record. UnsupportedError if a leader is too old for a special
        value, NoLeaderError if there is no leader for ``leader_patience`` seconds (None: until the call's deadline).
        """
        return self.begin_list_offsets(
            wanted, committed_only=committed_only, leader_patience=leader_patience
        )()

    def begin_list_offsets(
        self,
        wanted: Mapping[TopicPartition, int],
        *,
        committed_only: bool = False,
        leader_patience: float | None = None,
    ) -> Callable[[], dict[TopicPartition, OffsetInfo | KcliError]]:
        """Sends what ``list_offsets`` asks; the function that it returns waits for the responses."""
        operations.arguments.check_numbers(wanted, "timestamp or special offset")
        return parts.offsets.begin_list_offsets(
            self.cluster,
            wanted,
            self._start(),
            committed_only=committed_only,
            leader_patience=leader_patience,
        )

    def first_records(
        self,
        positions: Collection[tuple[TopicPartition, int]],
        *,
        committed_only: bool = True,
        timeout: float | None = None,
    ) -> dict[tuple[TopicPartition, int], FirstRecord | KcliError | None]:
        """The first record a reader starting at each offset gets, and its timestamp; None if there is none.

        With ``committed_only``, records of open and aborted transactions are excluded (KIP-98). ``timeout``, in
        seconds, can only shorten that of this client. Each further offset in a partition takes another request,
        pipelined with the others.
        """
        for tp, offset in positions:
            operations.arguments.check_numbers({tp: offset}, "offset")
        deadline = self._start()
        if timeout is not None:
            deadline = min(deadline, self.cluster.deadline(timeout))
        return operations.first_records.first_records(
            self.cluster, positions, deadline, committed_only=committed_only
        )

    # --- configurations ------------------------------------------------------------------------------

    def describe_configs(
        self,
        resources: Sequence[ConfigResource],
        *,
        keys: Sequence[str] | None = None,
        synonyms: bool = False,
        documentation: bool = False,
    ) -> dict[ConfigResource, list[ConfigEntry] | KcliError]:
        """Configuration entries of topics, brokers, groups; all keys unless some are named (KIP-226, KIP-569).

        NotFoundError for a topic or broker that does not exist.
        """
        return operations.configs.begin_describe_configs(
            self.cluster, resources, self._start(), keys=keys, synonyms=synonyms, documentation=documentation
        )()

    def begin_topic_configs(
        self, names: Sequence[str], *, keys: Sequence[str] | None = None
    ) -> Callable[[], dict[str, list[ConfigEntry] | KcliError]]:
        """Sends what ``describe_topic_configs`` asks, of all keys or these; the function that it returns waits for the
        responses.
        """
        names = operations.arguments.several(names)
        return operations.configs.begin_topic_configs(self.cluster, names, self._start(), keys=keys)

    def describe_topic_configs(self, names: Sequence[str]) -> dict[str, list[ConfigEntry] | KcliError]:
        """All configuration entries of each topic."""
        return self.begin_topic_configs(names)()

    def list_config_resources(self, kind: ConfigKind) -> list[str]:
        """The names that have a configuration of this kind (KIP-1142; of client metrics KIP-714)."""
        return operations.configs.list_config_resources(self.cluster, kind, self._start())

    def alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
    ) -> dict[ConfigResource, KcliError | None]:
        """Changes single configuration keys (KIP-339); other keys stay as they are. None on success.

        INVALID_CONFIG for a key or value that the broker rejects: then nothing of that resource is changed.
        """
        return operations.configs.alter_configs(
            self.cluster, changes, self._start(), validate_only=validate_only
        )

    # --- replicas and leaders ------------------------------------------------------------------------

    def alter_reassignments(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, KcliError | None]:
        """Starts to move partitions to these replicas, the preferred leader first (KIP-455); None cancels the move.

        Returns before anything is moved: ``list_reassignments`` shows the progress. INVALID_REPLICA_ASSIGNMENT for a
        broker that does not exist, NO_REASSIGNMENT_IN_PROGRESS where there is nothing to cancel.
        """
        operations.arguments.check_partitions(wanted)
        return operations.reassignments.alter_reassignments(self.cluster, wanted, self._start())

    def list_reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """The reassignments in progress, of all partitions or of these (KIP-455)."""
        return operations.reassignments.list_reassignments(self.cluster, self._start(), partitions)

    def alter_replica_log_dirs(
        self, broker_id: int, wanted: Mapping[TopicPartition, str]
    ) -> dict[TopicPartition, KcliError | None]:
        """Starts to move the replicas that a broker has to these log directories of it (KIP-113).

        Returns before anything is moved: ``describe_log_dirs`` shows the future replicas.
        """
        operations.arguments.check_partitions(wanted)
        return operations.replica_log_dirs.alter_replica_log_dirs(
            self.cluster, broker_id, wanted, self._start()
        )

    def elect_leaders(
        self, partitions: Collection[TopicPartition], *, unclean: bool = False
    ) -> dict[TopicPartition, KcliError | None]:
        """Elects the preferred leaders (KIP-183); with ``unclean`` any replica for partitions without a leader (KIP-460).

        None also where no election was needed. An unclean election may lose records.
        """
        operations.arguments.check_partitions(partitions)
        return operations.elections.elect_leaders(self.cluster, partitions, self._start(), unclean=unclean)

    # --- access --------------------------------------------------------------------------------------

    def describe_acls(self, filters: Collection[AclFilter]) -> dict[AclFilter, list[AclBinding] | KcliError]:
        """The ACLs that each filter matches (KIP-140, KIP-290).

        NoAuthorizerError if the brokers have no authorizer.
        """
        return operations.acls.describe_acls(self.cluster, filters, self._start())

    def create_acls(
        self, bindings: Collection[AclBinding], *, unsure: set[AclBinding] | None = None
    ) -> dict[AclBinding, KcliError | None]:
        """Creates ACLs. None on success, also for one that exists already.

        ``unsure`` collects those with an attempt whose response was lost: it may have created them.
        """
        return operations.acls.create_acls(self.cluster, bindings, self._start(), unsure=unsure)

    def delete_acls(
        self, filters: Collection[AclFilter], *, unsure: set[AclFilter] | None = None
    ) -> dict[AclFilter, list[AclBinding] | KcliError]:
        """Deletes all ACLs that each filter matches, and returns them.

        ``unsure`` collects the filters with an attempt whose response was lost: it may have deleted what they match.
        """
        return operations.acls.delete_acls(self.cluster, filters, self._start(), unsure=unsure)

    def describe_quotas(
        self, wanted: Mapping[str, str | None] = MappingProxyType({}), *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        """The quotas by entity and key (KIP-546): of all, or of entities with all ``wanted`` parts.

        ``wanted``: name by type (``user``, ``client-id``, ``ip``), None for the default of the type. With ``strict``,
        entities that have further parts are left out.
        """
        return operations.quotas.describe_quotas(self.cluster, wanted, self._start(), strict=strict)

    def alter_quotas(
        self, entity: QuotaEntity, changes: Mapping[str, float | None], *, validate_only: bool = False
    ) -> None:
        """Sets quotas of an entity by key; the value None removes one."""
        (error,) = self.alter_quotas_of({entity: changes}, validate_only=validate_only).values()
        if error is not None:
            raise error

    def alter_quotas_of(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        unsure: set[QuotaEntity] | None = None,
    ) -> dict[QuotaEntity, KcliError | None]:
        """The same of several entities; see ``quotas.alter_quotas``."""
        return operations.quotas.alter_quotas(
            self.cluster, changes, self._start(), validate_only=validate_only, unsure=unsure
        )

    def describe_scram_credentials(
        self, users: Sequence[str] | None = None
    ) -> dict[str, dict[ScramMechanism | int, int] | KcliError]:
        """The iterations of each user's SCRAM credentials by mechanism (KIP-554): of all users, or of these.

        NotFoundError for a user without credentials.
        """
        return operations.users.describe_scram_credentials(
            self.cluster, None if users is None else operations.arguments.several(users), self._start()
        )

    def alter_scram_credentials(
        self,
        changes: Mapping[ScramCredential, ScramUpsertion | None],
        *,
        unsure: set[ScramCredential] | None = None,
    ) -> dict[ScramCredential, KcliError | None]:
        """Sets SCRAM credentials, as made by ``users.upsertion``, or deletes those whose value is None (KIP-554).

        None on success; see ``users.alter_scram_credentials``.
        """
        return operations.users.alter_scram_credentials(self.cluster, changes, self._start(), unsure=unsure)

    def create_token(
        self,
        *,
        owner: Principal | None = None,
        renewers: Collection[Principal] = (),
        max_lifetime_ms: int = -1,
    ) -> DelegationToken:
        """Creates a delegation token (KIP-48), for another owner too (KIP-373); -1 is the brokers' lifetime.

        Not repeated where its response was lost: then OutcomeUnknownError.
        """
        return operations.delegation_tokens.create_token(
            self.cluster,
            self._start(),
            owner=owner,
            renewers=tuple(renewers),
            max_lifetime_ms=max_lifetime_ms,
        )

    def describe_tokens(self, owners: Collection[Principal] | None = None) -> list[DelegationToken]:
        """The delegation tokens of these owners, or of all, as far as this client may see them."""
        return operations.delegation_tokens.describe_tokens(self.cluster, owners, self._start())

    def renew_tokens(
        self, tokens: Collection[DelegationToken], period_ms: int = -1
    ) -> dict[str, int | KcliError]:
        """Moves the expiry of tokens to ``period_ms`` from now (-1: the brokers' period): for each id the time in ms."""
        return operations.delegation_tokens.renew_tokens(self.cluster, tokens, period_ms, self._start())

    def expire_tokens(
        self, tokens: Collection[DelegationToken], period_ms: int = -1
    ) -> dict[str, int | KcliError]:
        """Has tokens expire ``period_ms`` from now, or removes them at once (-1): for each id the time in ms."""
        return operations.delegation_tokens.expire_tokens(self.cluster, tokens, period_ms, self._start())

    # --- groups --------------------------------------------------------------------------------------

    def list_groups(self, *, states: Collection[str] = (), types: Collection[str] = ()) -> GroupListing:
        """The groups of all brokers, and the brokers that could not be queried (KIP-222; filters KIP-518, KIP-848).

        Raises ConfigError for a state or type that does not exist, and the first error if no broker responded.
        """
        states, types = operations.arguments.several(states), operations.arguments.several(types)
        return operations.groups.list_groups(
            self.cluster, self._coordinators(), self._start(), states=states, types=types
        )

    def describe_groups(
        self, names: Sequence[str], *, include_operations: bool = False, all_types: bool = False
    ) -> dict[str, GroupDescription | KcliError]:
        """Describes classic and KIP-848 groups with members, subscriptions and assignments.

        NotFoundError for a group that does not exist, OtherGroupError (an UnsupportedError) for a share or streams group.
        With ``all_types`` these are described too; then the error says that their coordinator does not do so.
        """
        names = operations.arguments.several(names)
        if self._member_bytes is None:
            self._member_bytes = operations.group_description.MemberBytes()
        deadline = self._start()

        def others(some: Sequence[str], until: float) -> dict[str, GroupDescription | KcliError]:
            return operations.other_groups.describe_others(
                self.cluster, self._coordinators(), some, until, include_operations=include_operations
            )

        found = operations.group_description.describe_groups(
            self.cluster,
            self._coordinators(),
            names,
            deadline,
            include_operations=include_operations,
            member_bytes=self._member_bytes,
            hurried=self._late_groups if self._until is not None else (),
            others=others if all_types else None,
        )
        late = {name for name, told in found.items() if isinstance(told, TimedOutError)}
        self._late_groups = self._late_groups.difference(found) | late
        return found

    def share_offsets(self, names: Collection[str]) -> dict[str, ShareOffsets | KcliError]:
        """The start offset and the lag of share groups in each of their partitions (KIP-932, KIP-1226); see
        ``share_offsets``.
        """
        return operations.share_offsets.share_offsets(
            self.cluster, self._coordinators(), operations.arguments.several(names), self._start()
        )

    def alter_share_offsets(self, wanted: Mapping[str, Mapping[TopicPartition, int]]) -> dict[str, Stored]:
        """Sets start offsets of share groups without members (KIP-932). None on success.

        The first one makes a share group that does not exist. What was acknowledged after the old start offset is
        forgotten, and delivered again if it is not before the new one. Brokers check no bounds. NON_EMPTY_GROUP for a
        group with members.
        """
        operations.arguments.check_groups(wanted)
        for starts in wanted.values():
            operations.arguments.check_numbers(starts, "start offset")
        return operations.share_offsets.alter_share_offsets(
            self.cluster, self._coordinators(), wanted, self._start()
        )

    def delete_share_offsets(
        self, wanted: Mapping[str, Collection[str]]
    ) -> dict[str, dict[str, KcliError | None]]:
        """Deletes the start offsets of share groups without members, for whole topics (KIP-932). None on success.

        NON_EMPTY_GROUP for a group with members.
        """
        return operations.share_offsets.delete_share_offsets(
            self.cluster, self._coordinators(), wanted, self._start()
        )

    def delete_groups(self, names: Sequence[str]) -> dict[str, KcliError | None]:
        """Deletes groups without members, with their committed offsets (KIP-229). None on success.

        NON_EMPTY_GROUP for a group with members, NotFoundError for a group that does not exist.
        """
        names = operations.arguments.several(names)
        outcome = operations.groups.delete_groups(
            self.cluster, self._coordinators(), names, self._start(), emptied=self._emptied
        )
        self._emptied -= {name for name, error in outcome.items() if error is None}
        return outcome

    def remove_members(
        self,
        wanted: Mapping[str, Collection[GroupMember]],
        *,
        reason: str | None = None,
        streams: Collection[str] = (),
    ) -> dict[str, dict[GroupMember, KcliError | None]]:
        """Removes members from their groups, by member id or instance id (KIP-345). None on success. ``streams``: the
        streams groups among them (KIP-1071), whose members need their ids.

        NotFoundError if the group has no such member.
        """
        return operations.members.remove_members(
            self.cluster, self._coordinators(), wanted, self._start(), reason=reason, streams=streams
        )

    def fetch_offsets(
        self,
        wanted: Mapping[str, Collection[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Committed | KcliError]:
        """The committed offsets of groups for some partitions (None: all); None where nothing is committed (KIP-709).

        ``require_stable`` waits for open transactions, until the deadline (KIP-447): UnstableOffsetError. ``timeout``,
        in seconds, can only shorten that of this client. A partition whose offset could not be read has its own error;
        a group that could not be read has one for all.
        """
        operations.arguments.check_groups(wanted, all_of=True)
        deadline = self._start()
        if timeout is not None:
            deadline = min(deadline, self.cluster.deadline(timeout))
        finish = None if require_stable or any(wanted.values()) else self._begun.pop(frozenset(wanted), None)
        if finish is None:
            finish = operations.committed.begin_fetch_offsets(
                self.cluster, self._coordinators(), wanted, deadline, require_stable=require_stable
            )
        return finish(deadline)

    def begin_fetch_offsets(self, groups: Collection[str]) -> None:
        """Asks for all that these groups have committed: the next ``fetch_offsets`` of just them has it, and what is
        called before is answered meanwhile.
        """
        operations.arguments.check_groups(dict.fromkeys(groups), all_of=True)
        if groups and self._until is None:
            self._begun[frozenset(groups)] = operations.committed.begin_fetch_offsets(
                self.cluster, self._coordinators(), dict.fromkeys(groups), self._start()
            )

    def commit_offsets(
        self,
        wanted: Mapping[str | GroupMetadata, Mapping[TopicPartition, OffsetAndMetadata]],
        *,
        preceding: Preceding | None = None,
    ) -> dict[str, Stored]:
        """Commits offsets: of a group without members by its name, or as the member that a GroupMetadata identifies.

        UNKNOWN_MEMBER_ID for a group that has members, ILLEGAL_GENERATION or STALE_MEMBER_EPOCH for an outdated
        member. Brokers do not check bounds. Raises ConfigError for a negative offset; nothing is sent then. An empty name
        is most often a variable that is not set: the group that has it is ``GroupMetadata("")``. ``preceding`` collects
        what was committed just before.
        """
        operations.arguments.check_offsets(wanted)
        if "" in wanted:
            raise ConfigError(
                "a group without a name cannot be committed to", do='GroupMetadata("") is such a group'
            )
        by_member = {
            GroupMetadata(group) if isinstance(group, str) else group: offsets
            for group, offsets in wanted.items()
        }
        outcome = operations.commits.commit_offsets(
            self.cluster, self._coordinators(), by_member, self._start(), preceding
        )
        self._emptied -= outcome.keys()
        return outcome

    def delete_offsets(
        self, wanted: Mapping[str, Collection[TopicPartition]], *, preceding: Preceding | None = None
    ) -> dict[str, Stored]:
        """Deletes the committed offsets of groups for these partitions (KIP-496). None on success.

        GROUP_SUBSCRIBED_TO_TOPIC for topics that an active group is subscribed to. ``preceding`` collects what was
        committed just before.
        """
        operations.arguments.check_groups(wanted)
        outcome = operations.commits.delete_offsets(
            self.cluster, self._coordinators(), wanted, self._start(), preceding
        )
        self._emptied |= {group for group, rows in outcome.items() if None in rows.values()}
        return outcome

    # --- transactions --------------------------------------------------------------------------------

    def list_transactions(
        self,
        *,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        longer_than_ms: int | None = None,
        pattern: str | None = None,
    ) -> TransactionListing:
        """The transactional ids of all brokers, and the brokers that could not be queried (KIP-664).

        ``longer_than_ms`` (KIP-994) and ``pattern``, a regular expression (KIP-1152), need newer brokers.
        """
        return operations.transactions.list_transactions(
            self.cluster,
            self._start(),
            states=states,
            producer_ids=producer_ids,
            longer_than_ms=longer_than_ms,
            pattern=pattern,
        )

    def describe_transactions(self, names: Sequence[str]) -> dict[str, TransactionDescription | KcliError]:
        """The state of each transactional id, with the partitions of its open transaction (KIP-664)."""
        names = operations.arguments.several(names)
        return operations.transactions.describe_transactions(
            self.cluster, self._coordinators(), names, self._start()
        )

    def describe_producers(
        self, wanted: Collection[TopicPartition]
    ) -> dict[TopicPartition, list[ProducerDescription] | KcliError]:
        """The active producers of partitions, as reported by the leaders (KIP-664)."""
        operations.arguments.check_partitions(wanted)
        return operations.transactions.describe_producers(self.cluster, wanted, self._start())

    def abort_hanging(
        self, hanging: Mapping[TopicPartition, ProducerDescription]
    ) -> dict[TopicPartition, KcliError | None]:
        """Aborts hanging transactions; see ``aborting.abort_hanging``."""
        return operations.aborting.abort_hanging(self.cluster, hanging, self._start())

    def fence_producers(self, timeouts: Mapping[str, int]) -> dict[str, KcliError | None]:
        """Fences the producers of transactional ids, which aborts their open transactions (KIP-618). None on success.

        ``timeouts``: the ``transaction.timeout.ms`` of each id, as described. The ids must exist: see ``aborting``.
        """
        return operations.aborting.fence_producers(
            self.cluster, self._coordinators(), timeouts, self._start()
        )

    def lacks(self, act: Act) -> KcliError | None:
        """Why none of the brokers that were contacted so far can do ``act``; None if one can.

        That one need not be the broker that has to do it: in a cluster of several versions the act itself may fail.
        """
        self.connect()
        return self.cluster.lacks(*operations.abilities.NEEDS[act])

    def require(self, act: Act) -> None:
        """Raises what ``lacks`` returns."""
        if (error := self.lacks(act)) is not None:
            raise error

    def close(self) -> None:
        """Closes the connections."""
        self.cluster.close()

    def _coordinators(self) -> Coordinators:
        if self._known_coordinators is None:
            self._known_coordinators = parts.coordinators.Coordinators(self.cluster)
        return self._known_coordinators

    def _start(self) -> float:
        """Connects if necessary; returns the deadline of a call that starts now."""
        self.connect()
        return self._deadline()

    def _deadline(self) -> float:
        deadline = self.cluster.deadline(self.timeout)
        if self._until is None:
            return deadline
        now = self.cluster.loop.now()
        return min(deadline, now + max(_LEAST, (self._until - now) / 2))
