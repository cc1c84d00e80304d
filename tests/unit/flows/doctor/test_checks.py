"""The tables of checks about client, rights, groups and transactions: what is judged well, doubtful, or broken. Pure."""

from dataclasses import replace

import pytest

from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.transactions import ProducerDescription, TransactionDescription
from kcli.core.errors import BrokerError, KcliError
from kcli.core.permissions import AclOperation
from kcli.core.types import TopicPartition
from kcli.flows.doctor import client_checks, group_checks, rights, transaction_checks
from kcli.flows.doctor.client_checks import ClientFacts
from kcli.flows.doctor.findings import Finding
from kcli.flows.doctor.group_checks import GroupFacts
from kcli.flows.transactions.coordinated import Coordinated
from kcli.flows.transactions.held import (
    HANGING,
    OPEN,
    UNKNOWN,
    PartitionState,
    PartitionTransaction,
    Survey,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOW = 1_800_000_000_000
CLIENT = ClientFacts("kcli 1", "native", {"fast": True, "zookeeper": False}, 1024, [("a", "-X")], [], [])


def statuses(facts: ClientFacts) -> dict[str, str]:
    return {one.check: one.status for check in client_checks.CHECKS for one in check(facts)}


def test_a_good_client_is_well() -> None:
    assert set(statuses(CLIENT).values()) == {"ok"}
    (extras,) = client_checks.extras(CLIENT)
    assert extras.detail == "fast; not installed: zookeeper"


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"kernels": "pure"}, "kernels"),
        ({"open_files": 255}, "open files"),
        ({"ignored": ["linger"]}, "configuration"),
        ({"warnings": ["a secret on the command line"]}, "configuration"),
    ],
)
def test_what_is_doubtful_about_a_client_is_a_warning(change: dict[str, object], check: str) -> None:
    assert statuses(replace(CLIENT, **change))[check] == "warning"  # type: ignore[arg-type]


def test_no_limit_of_open_files_is_well() -> None:
    assert statuses(replace(CLIENT, open_files=None))["open files"] == "ok"


def bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


DESCRIBE, READ, WRITE = AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE


@pytest.mark.parametrize(
    ("allowed", "status", "code"),
    [
        (bits(DESCRIBE, READ, WRITE), "ok", 0),
        (bits(DESCRIBE, READ), "warning", 0),
        (bits(DESCRIBE, WRITE), "warning", 0),
        (bits(DESCRIBE), "failed", 4),
        (0, "failed", 4),
        (None, "skipped", 0),
    ],
)
def test_rights_on_a_topic(allowed: int | None, status: str, code: int) -> None:
    (found,) = rights.judge("topic t", "t", "topic", allowed, rights.TOPIC_RIGHTS)
    assert (found.status, found.code) == (status, code)


def test_the_remedy_names_the_rights_that_are_missing() -> None:
    (found,) = rights.judge("group g", "g", "group", bits(DESCRIBE), rights.GROUP_RIGHTS)
    assert (found.status, found.detail) == ("failed", "without READ")
    assert found.do.endswith("`kcli acls create --principal User:NAME --operation read --group g`")


@pytest.mark.parametrize(
    ("state", "status"),
    [("Stable", "ok"), ("Empty", "ok"), ("PreparingRebalance", "warning"), ("Dead", "failed")],
)
def test_the_state_of_a_group(state: str, status: str) -> None:
    described = GroupDescription("g", "classic", state, "consumer", "range", 1)
    (found,) = group_checks.state(GroupFacts("g", described, {}, {}))
    assert found.status == status


def test_offsets_that_cannot_be_read_are_a_failure() -> None:
    described = GroupDescription("g", "classic", "Stable", "consumer", "range", 1)
    error: KcliError = BrokerError(30, "reading the offsets of g")
    (found,) = group_checks.lag(GroupFacts("g", described, error, {}))
    assert (found.status, found.code) == ("failed", 4)


def held(tp: TopicPartition, state: str, since_ms: int = NOW - 1_000, producer: int = 7) -> PartitionState:
    known = TransactionDescription("pay", "Ongoing", producer, 0, 60_000, since_ms, (tp,), 1)
    one = PartitionTransaction(
        tp, ProducerDescription(producer, 0, 1, since_ms, 0, 3), known, state, since_ms
    )
    return PartitionState(tp, 3, 9, (one,))


def judged(*states: PartitionState, errors: tuple[KcliError, ...] = ()) -> list[Finding]:
    return list(transaction_checks.judge(Survey(states, Coordinated((), errors)), NOW))


def test_a_transaction_that_is_open_for_a_moment_is_well() -> None:
    (found,) = judged(held(T0, OPEN), PartitionState(T1, 5, 5))
    assert (found.status, found.detail) == ("ok", "none in 2 partitions; 1 wait for open ones")


def test_one_that_is_open_for_long_is_a_warning() -> None:
    long, rest = judged(held(T0, OPEN, NOW - 3_600_000))
    assert (long.status, long.detail) == ("warning", "t-0: that of pay, for 60 minutes")
    assert "kcli txn abort pay" in long.do
    assert rest.status == "ok"


def test_all_partitions_of_a_hanging_transaction_are_one_failure() -> None:
    (found,) = judged(held(T0, HANGING), held(T1, HANGING))
    assert (found.status, found.detail) == ("failed", "producer 7 in t-0, t-1")
    assert found.do == "`kcli txn abort --topic t -p 0,1`"


def test_nothing_is_said_to_hang_while_a_coordinator_is_away() -> None:
    found = judged(held(T0, UNKNOWN), errors=(KcliError("no response from broker 3"),))
    assert [one.status for one in found] == ["warning", "ok"]
    assert "broker 3" in found[0].why
