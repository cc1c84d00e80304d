"""ListTransactions, DescribeTransactions and DescribeProducers: as ``__transaction_state`` and the logs have it."""

import re

from kcli.core import clock
from kcli.core.error_codes import INVALID_REQUEST, NONE, TRANSACTIONAL_ID_NOT_FOUND
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.offline.directories import Directories
from kcli.core.offline.metadata_log import NotHereError
from kcli.core.offline.producers import Producer, producers_of
from kcli.core.offline.reading import read
from kcli.core.offline.states import asked_node, coordinated, leader_of, nowhere, transactions
from kcli.core.offline.transaction_state import TOPIC, state_name
from kcli.core.protocol.messages import describe_producers as producers
from kcli.core.protocol.messages import describe_transactions as described
from kcli.core.protocol.messages import list_transactions as listed
from kcli.core.protocol.stored.kinds import TRANSACTION_STATES
from kcli.core.protocol.stored.transaction_records import TransactionLogValue
from kcli.core.types import TopicPartition

_DEAD = 6
_OPEN = (1, 2, 3)
_STATES = frozenset(TRANSACTION_STATES.values())


def list_transactions(
    directories: Directories, request: listed.ListTransactionsRequest, _version: int
) -> listed.ListTransactionsResponse:
    """Those of the partitions that the asked node led last, by the filters (KIP-664, KIP-994, KIP-1152)."""
    unknown = [state for state in request.state_filters if state not in _STATES]
    try:
        known = coordinated(directories, TOPIC)
        if not known.partitions and TOPIC in directories.topics:
            raise nowhere("transactions", TOPIC)
        found = transactions(directories).transactions
        pattern = re.compile(request.transactional_id_pattern) if request.transactional_id_pattern else None
    except re.error:
        return _listing(INVALID_REQUEST, unknown)
    now = clock.wall_ms()
    rows = [
        listed.TransactionState(
            transactional_id=name, producer_id=value.producer_id, transaction_state=state_name(value)
        )
        for name, value in found.items()
        if _wanted(value, request, now)
        and (pattern is None or pattern.fullmatch(name))
        and leader_of(directories, TopicPartition(TOPIC, known.home_of(name))) == asked_node(directories)
    ]
    return _listing(NONE, unknown, rows)


def _listing(
    code: int, unknown: list[str], rows: list[listed.TransactionState] | None = None
) -> listed.ListTransactionsResponse:
    return listed.ListTransactionsResponse(
        throttle_time_ms=0, error_code=code, unknown_state_filters=unknown, transaction_states=rows or []
    )


def _wanted(value: TransactionLogValue, request: listed.ListTransactionsRequest, now: int) -> bool:
    if value.transaction_status == _DEAD:
        return False
    if request.state_filters and state_name(value) not in request.state_filters:
        return False
    if request.producer_id_filters and value.producer_id not in request.producer_id_filters:
        return False
    if request.duration_filter < 0:
        return True
    return (
        value.transaction_status in _OPEN
        and now - value.transaction_start_timestamp_ms > request.duration_filter
    )


def describe_transactions(
    directories: Directories, request: described.DescribeTransactionsRequest, _version: int
) -> described.DescribeTransactionsResponse:
    """The newest state of each id."""
    return described.DescribeTransactionsResponse(
        throttle_time_ms=0,
        transaction_states=[_described(directories, name) for name in request.transactional_ids],
    )


def _described(directories: Directories, name: str) -> described.TransactionState:
    code, value = NONE, None
    try:
        lacks = coordinated(directories, TOPIC).lacks(name)
        if lacks is not None:
            raise lacks
        value = transactions(directories).transactions.get(name)
    except NotHereError as error:
        code = error.code
    if value is None or value.transaction_status == _DEAD:
        return described.TransactionState(
            error_code=code or TRANSACTIONAL_ID_NOT_FOUND,
            transactional_id=name,
            transaction_state="",
            transaction_timeout_ms=0,
            transaction_start_time_ms=0,
            producer_id=0,
            producer_epoch=0,
            topics=[],
        )
    return described.TransactionState(
        error_code=NONE,
        transactional_id=name,
        transaction_state=state_name(value),
        transaction_timeout_ms=value.transaction_timeout_ms,
        transaction_start_time_ms=value.transaction_start_timestamp_ms,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        topics=[
            described.TopicData(topic=row.topic, partitions=row.partition_ids)
            for row in value.transaction_partitions or ()
        ],
    )


def describe_producers(
    directories: Directories, request: producers.DescribeProducersRequest, _version: int
) -> producers.DescribeProducersResponse:
    """The producers of partitions, from their newest snapshot and the batches behind it."""
    return producers.DescribeProducersResponse(
        throttle_time_ms=0,
        topics=[
            producers.TopicResponse(
                name=topic.name,
                partitions=[
                    _producers(directories, TopicPartition(topic.name, number))
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ],
    )


def _producers(directories: Directories, tp: TopicPartition) -> producers.PartitionResponse:
    def find(log: PartitionLog) -> list[Producer]:
        return producers_of(log)

    code, found = read(directories, tp, find)
    return producers.PartitionResponse(
        partition_index=tp.partition,
        error_code=code,
        active_producers=[
            producers.ProducerState(
                producer_id=one.producer_id,
                producer_epoch=one.epoch,
                last_sequence=one.last_sequence,
                last_timestamp=one.timestamp,
                coordinator_epoch=one.coordinator_epoch,
                current_txn_start_offset=one.first_offset,
            )
            for one in found or ()
        ],
    )
