"""What ends an open transaction, from what its coordinator has. Pure."""

from itertools import product

import pytest

from kcli.core.admin.transactions import ProducerDescription, TransactionDescription
from kcli.core.protocol.stored.kinds import TRANSACTION_STATES
from kcli.core.types import TopicPartition
from kcli.flows.transactions.held import (
    ENDING,
    HANGING,
    OPEN,
    UNKNOWN,
    PartitionState,
    PartitionTransaction,
    state_of,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def transaction(state: str, *partitions: TopicPartition, start_ms: int = 1_000) -> TransactionDescription:
    return TransactionDescription("x", state, 7, 0, 60_000, start_ms, partitions, 1)


@pytest.mark.parametrize(
    ("state", "within", "complete"), list(product(TRANSACTION_STATES.values(), (True, False), (True, False)))
)
def test_every_state_of_a_coordinator_has_a_verdict(state: str, within: bool, complete: bool) -> None:
    """A transaction hangs if its coordinator has ended it, or has one without this partition."""
    found = state_of(T0, transaction(state, T0 if within else T1), complete=complete)
    if within and state == "Ongoing":
        assert found == OPEN
    elif within and state in ("PrepareCommit", "PrepareAbort", "PrepareEpochFence"):
        assert found == ENDING
    else:
        assert found == HANGING


def test_a_producer_that_no_coordinator_has_hangs_if_all_have_responded() -> None:
    assert state_of(T0, None, complete=True) == HANGING
    assert state_of(T0, None, complete=False) == UNKNOWN


def test_a_partition_waits_from_the_last_stable_offset_to_the_end() -> None:
    assert PartitionState(T0, 3, 10).waiting == 7
    assert PartitionState(T0, 10, 10).waiting == 0
    assert PartitionState(T0, None, 10).waiting is None


@pytest.mark.parametrize(
    ("state", "start_ms", "ends"), [(OPEN, 1_000, 61_000), (OPEN, -1, -1), (HANGING, 1_000, -1)]
)
def test_only_an_open_transaction_ends_by_itself(state: str, start_ms: int, ends: int) -> None:
    producer = ProducerDescription(7, 0, 1, 1_000, 0, 3)
    held = PartitionTransaction(T0, producer, transaction("Ongoing", T0, start_ms=start_ms), state, start_ms)
    assert held.ends_ms == ends
