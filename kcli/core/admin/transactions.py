"""Lists and describes transactions and active producers (KIP-664)."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType, ToCoordinator
from kcli.core.cluster.everywhere import ask_coordinators
from kcli.core.cluster.fanout import Items, Part, by_leader, fan_out, verdict
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import TRANSACTIONAL_ID_NOT_FOUND
from kcli.core.errors import ConfigError, KcliError, NotFoundError, too_old
from kcli.core.permissions import on_topic, on_transactional_id
from kcli.core.protocol.messages import describe_producers as producers
from kcli.core.protocol.messages import describe_transactions as described
from kcli.core.protocol.messages import list_transactions as listed
from kcli.core.types import TopicPartition, by_topic

COORDINATORS = "__transaction_state"
"""The topic whose partitions' leaders are the coordinators of transactional ids."""
_FIRST_WITH_DURATION = 1
_FIRST_WITH_PATTERN = 2


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """A transactional id with its producer id, Kafka's name of the state, and its coordinator's node id."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """``transactions`` by id. ``errors``: the brokers (by node id) whose transactions are missing here, and why;
    ``offline``: the coordinators that no broker is, whose transactions are missing too.
    """

    transactions: tuple[ListedTransaction, ...]
    errors: Mapping[int, KcliError]
    offline: KcliError | None = None

    @property
    def missing(self) -> tuple[KcliError, ...]:
        """Why transactions are missing."""
        return (*self.errors.values(), *([self.offline] if self.offline is not None else ()))

    @property
    def is_partial(self) -> bool:
        """Whether transactions are missing."""
        return bool(self.missing)


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """``start_ms`` is when the open transaction began, in ms since the epoch; −1 while there is none."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int
    partitions: tuple[TopicPartition, ...]
    coordinator: int


@dataclass(frozen=True, slots=True)
class ProducerDescription:
    """An active producer of a partition. ``open_since`` −1: it has no open transaction there.

    ``open_since`` is the first offset of its open transaction, ``last_timestamp`` is in ms since the epoch.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    open_since: int


def list_transactions(
    cluster: Cluster,
    deadline: float,
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    longer_than_ms: int | None = None,
    pattern: str | None = None,
) -> TransactionListing:
    """The transactional ids of every broker, with the given filters (KIP-664; duration KIP-994, regex KIP-1152).

    Raises ConfigError for a state unknown to the brokers, UnsupportedError if none supports the API or a filter.
    """

    def ask(broker: Broker) -> listed.ListTransactionsRequest:
        version = broker.version(listed.ListTransactionsRequest)
        if longer_than_ms is not None and version < _FIRST_WITH_DURATION:
            what = f"{broker.name} cannot filter transactions by duration"
            raise too_old(what, _FIRST_WITH_DURATION, version)
        if pattern is not None and version < _FIRST_WITH_PATTERN:
            what = f"{broker.name} cannot filter transactions by name"
            raise too_old(what, _FIRST_WITH_PATTERN, version)
        return listed.ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=-1 if longer_than_ms is None else longer_than_ms,
            transactional_id_pattern=pattern,
        )

    def read(response: listed.ListTransactionsResponse) -> tuple[int, list[listed.TransactionState]]:
        if response.unknown_state_filters:
            raise ConfigError(f"there is no transaction state {response.unknown_state_filters[0]!r}")
        return response.error_code, response.transaction_states

    responses = ask_coordinators(
        cluster,
        ask,
        read,
        deadline,
        "listing the transactions of broker",
        topic=COORDINATORS,
        of_what="transactional ids",
    )
    found = responses.found
    errors = {number: rows for number, rows in found.items() if isinstance(rows, KcliError)}
    if errors and len(errors) == len(found):
        raise next(iter(errors.values()))
    rows = {
        row.transactional_id: ListedTransaction(
            row.transactional_id, row.producer_id, row.transaction_state, number
        )
        for number, states_of in found.items()
        if not isinstance(states_of, KcliError)
        for row in states_of
    }
    if responses.nobody and responses.offline is not None and not rows:
        raise responses.offline
    return TransactionListing(tuple(rows[name] for name in sorted(rows)), errors, responses.offline)


def describe_transactions(
    cluster: Cluster, coordinators: Coordinators, names: Sequence[str], deadline: float
) -> dict[str, TransactionDescription | KcliError]:
    """The state of each transactional id, from its coordinator; NotFoundError if no coordinator has it."""

    def ask(_broker: Broker, items: Items[str, None]) -> list[Part[str]]:
        ids = [name for name, _ in items]
        return [Part(described.DescribeTransactionsRequest(transactional_ids=ids), ids)]

    def read(
        response: described.DescribeTransactionsResponse, _part: Part[str]
    ) -> Iterator[tuple[str, int | KcliError, TransactionDescription]]:
        for row in response.transaction_states:
            name = row.transactional_id
            outcome: int | KcliError = row.error_code
            if row.error_code == TRANSACTIONAL_ID_NOT_FOUND:
                outcome = unknown_id(name)
            node = coordinators.known(KeyType.TRANSACTION, name)
            yield name, outcome, _transaction(row, -1 if node is None else node)

    route = ToCoordinator[str](cluster, coordinators, str, KeyType.TRANSACTION)
    what = "describing transactional id"
    return fan_out(
        cluster,
        dict.fromkeys(names),
        route,
        ask,
        read,
        deadline,
        what,
        needs=lambda name: [on_transactional_id(name)],
    )


def _transaction(row: described.TransactionState, coordinator: int) -> TransactionDescription:
    return TransactionDescription(
        transactional_id=row.transactional_id,
        state=row.transaction_state,
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        timeout_ms=row.transaction_timeout_ms,
        start_ms=row.transaction_start_time_ms,
        partitions=tuple(TopicPartition(t.topic, number) for t in row.topics for number in t.partitions),
        coordinator=coordinator,
    )


def describe_producers(
    cluster: Cluster, partitions: Collection[TopicPartition], deadline: float
) -> dict[TopicPartition, list[ProducerDescription] | KcliError]:
    """The active producers according to each partition's leader: transactional and idempotent ones."""

    def ask(items: Items[TopicPartition, None]) -> producers.DescribeProducersRequest:
        topics = [
            producers.TopicRequest(name=name, partition_indexes=numbers)
            for name, numbers in by_topic(tp for tp, _ in items).items()
        ]
        return producers.DescribeProducersRequest(topics=topics)

    what = "describing the producers of"
    return by_leader(cluster, dict.fromkeys(partitions), ask, _read_producers, deadline, what)


def _read_producers(
    response: producers.DescribeProducersResponse,
) -> Iterator[tuple[TopicPartition, int | KcliError, list[ProducerDescription]]]:
    for topic in response.topics:
        for row in topic.partitions:
            tp = TopicPartition(topic.name, row.partition_index)
            needs = [on_topic("READ", tp.topic)]
            outcome = verdict(row.error_code, f"describing the producers of {tp}", row.error_message, needs)
            yield tp, outcome, [_producer(state) for state in row.active_producers]


def _producer(row: producers.ProducerState) -> ProducerDescription:
    return ProducerDescription(
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        last_sequence=row.last_sequence,
        last_timestamp=row.last_timestamp,
        coordinator_epoch=row.coordinator_epoch,
        open_since=row.current_txn_start_offset,
    )


def unknown_id(name: str) -> NotFoundError:
    """The error for a transactional id that does not exist."""
    return NotFoundError(
        f"transactional id {name} does not exist",
        why="no producer used it, or not for so long that it was forgotten",
        do="`kcli txn list` lists the open transactions",
    )
