"""Which transactions are listed: all of coordinators, and of partitions those that none of them ends."""

import pytest

from kcli.core.admin.transactions import ProducerDescription, TransactionDescription
from kcli.core.types import TopicPartition
from kcli.flows.transactions.coordinated import Coordinated
from kcli.flows.transactions.held import (
    ENDING,
    HANGING,
    OPEN,
    UNKNOWN,
    PartitionState,
    PartitionTransaction,
    Survey,
)
from kcli.flows.transactions.listed import OpenTransaction, listed

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
KNOWN = TransactionDescription("known", "Ongoing", 7, 2, 60_000, 5_000, (OTHER,), 3)


def survey(state: str, transaction: TransactionDescription | None = None) -> Survey:
    producer = ProducerDescription(7, 2, 0, 9_000, 0, 40)
    held = PartitionTransaction(TP, producer, transaction, state, 4_000)
    return Survey((PartitionState(TP, 40, 50, (held,)),), Coordinated(()))


@pytest.mark.parametrize(("state", "word"), [(HANGING, "Hanging"), (UNKNOWN, "Unknown")])
def test_what_no_coordinator_ends_is_listed_by_partition(state: str, word: str) -> None:
    (found,) = listed(Coordinated(()), survey(state))
    assert found == OpenTransaction(None, word, 7, 2, -1, 4_000, -1, (TP,))
    assert found.hangs == (state == HANGING)


def test_it_has_the_id_under_which_the_producer_is_known() -> None:
    rows = listed(Coordinated((KNOWN,)), survey(HANGING, KNOWN))
    assert rows == [
        OpenTransaction("known", "Ongoing", 7, 2, 3, 5_000, 60_000, (OTHER,)),
        OpenTransaction("known", "Hanging", 7, 2, 3, 4_000, -1, (TP,)),
    ]


@pytest.mark.parametrize("state", [OPEN, ENDING])
def test_what_its_coordinator_ends_is_listed_once(state: str) -> None:
    assert [one.state for one in listed(Coordinated((KNOWN,)), survey(state, KNOWN))] == ["Ongoing"]


def test_without_a_survey_those_of_coordinators_are_left() -> None:
    assert [one.transactional_id for one in listed(Coordinated((KNOWN,)), None)] == ["known"]
