"""What a transaction is at, and which request is due: every event in every phase, and the steps of both protocols."""

import itertools

import pytest

from kcli.core.errors import KcliError, TransactionAbortableError
from kcli.core.producer.transactions import TABLE, Event, GroupOffsets, Phase, Step, Transaction
from kcli.core.state_cell import StateCell
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from tests.unit.core.state_tables import check_event

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
OFFSETS = GroupOffsets(GroupMetadata("g"), {P0: OffsetAndMetadata(5)})


def at(phase: Phase, **fields: object) -> Transaction:
    transaction = Transaction(cell=StateCell(phase, TABLE))
    for name, value in fields.items():
        setattr(transaction, name, value)
    return transaction


@pytest.mark.parametrize(("phase", "event"), list(itertools.product(Phase, Event)))
def test_every_event_in_every_phase(phase: Phase, event: Event) -> None:
    check_event(TABLE, phase, event, TABLE.get((phase, event)))


def test_no_phase_is_a_dead_end_but_for_those_that_begin() -> None:
    for phase in Phase:
        ways_out = {event for (old, event), new in TABLE.items() if old is phase and new is not phase}
        assert ways_out, f"no way out of {phase.value}"


def test_nothing_is_sent_outside_of_a_transaction() -> None:
    for phase in set(Phase) - {Phase.OPEN, Phase.COMMITTING}:
        assert not at(phase, version_2=True).may_write(P0)
    assert at(Phase.OPEN, version_2=True).may_write(P0)
    assert at(Phase.COMMITTING, version_2=True).may_write(P0)
    assert not at(Phase.COMMITTING, version_2=True, end_sent=True).may_write(P0)


def test_the_old_protocol_adds_a_partition_before_its_first_record() -> None:
    transaction = at(Phase.OPEN)
    assert not transaction.may_write(P0)
    assert transaction.next_step(queued=True, in_flight=False) is Step.ADD_PARTITIONS
    transaction.wanted.clear()
    transaction.partitions.add(P0)
    assert transaction.may_write(P0)
    assert transaction.next_step(queued=True, in_flight=False) is None


@pytest.mark.parametrize(
    ("version_2", "steps"), [(False, [Step.ADD_GROUP, Step.COMMIT_OFFSETS]), (True, [Step.COMMIT_OFFSETS])]
)
def test_offsets_of_a_group(version_2: bool, steps: list[Step]) -> None:
    transaction = at(Phase.OPEN, version_2=version_2)
    transaction.offsets.append(OFFSETS)
    found = [transaction.next_step(queued=False, in_flight=False)]
    if not version_2:
        transaction.groups.add("g")
        found.append(transaction.next_step(queued=False, in_flight=False))
    assert found == steps


def test_the_end_comes_when_everything_is_written() -> None:
    transaction = at(Phase.COMMITTING, version_2=True)
    assert transaction.next_step(queued=False, in_flight=False) is Step.END_LOCALLY
    transaction.add_written(P0)
    assert transaction.next_step(queued=True, in_flight=False) is None
    assert transaction.next_step(queued=False, in_flight=True) is None
    assert transaction.next_step(queued=False, in_flight=False) is Step.END
    transaction.offsets.append(OFFSETS)
    assert transaction.next_step(queued=False, in_flight=False) is Step.COMMIT_OFFSETS


@pytest.mark.parametrize(
    ("version_2", "begun", "must_init", "end_refused", "step"),
    [
        (False, False, False, False, Step.END_LOCALLY),
        (False, True, False, False, Step.END),
        (False, True, True, False, Step.INIT),
        (False, False, True, False, Step.INIT),
        (True, True, False, False, Step.END),
        (True, True, True, False, Step.END),
        (True, True, True, True, Step.INIT),
        (False, True, False, True, Step.INIT),
    ],
)
def test_how_a_transaction_is_abandoned(
    version_2: bool,
    begun: bool,
    must_init: bool,
    end_refused: bool,
    step: Step,
) -> None:
    fields = {"version_2": version_2, "begun": begun, "must_init": must_init, "end_refused": end_refused}
    transaction = at(Phase.ABORTING, **fields)
    assert transaction.next_step(queued=False, in_flight=True) is None
    assert transaction.next_step(queued=False, in_flight=False) is step


def test_an_id_is_requested_when_nothing_is_in_flight() -> None:
    transaction = at(Phase.INITIALIZING)
    assert transaction.next_step(queued=True, in_flight=True) is None
    assert transaction.next_step(queued=True, in_flight=False) is Step.INIT


@pytest.mark.parametrize(
    "phase", [Phase.UNINITIALIZED, Phase.READY, Phase.MUST_ABORT, Phase.UNKNOWN, Phase.FENCED]
)
def test_otherwise_nothing_is_due(phase: Phase) -> None:
    assert at(phase, begun=True).next_step(queued=True, in_flight=False) is None


def test_the_first_failure_is_the_reason() -> None:
    transaction = at(Phase.OPEN)
    transaction.fail(KcliError("first"), must_init=False)
    assert not transaction.must_init
    transaction.fail(KcliError("second"))
    assert transaction.phase is Phase.MUST_ABORT
    assert transaction.must_init
    error = transaction.must_abort()
    assert isinstance(error, TransactionAbortableError)
    assert error.why == "first"
    transaction.cell.apply(Event.ABORT)
    transaction.fail(KcliError("third"))
    assert transaction.phase is Phase.ABORTING


def test_a_transaction_is_independent_of_the_last_one() -> None:
    transaction = at(Phase.OPEN)
    assert not transaction.may_write(P1)
    transaction.add_written(P0)
    transaction.groups.add("g")
    transaction.offsets.append(OFFSETS)
    transaction.fail(KcliError("x"))
    transaction.end_sent = transaction.end_refused = True
    transaction.clear()
    assert transaction == at(transaction.phase, cell=transaction.cell)
