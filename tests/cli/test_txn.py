"""``kcli txn`` on the fake cluster: what holds partitions back is found, explained and ended, and nothing else."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kcli.core import Producer
from kcli.core.permissions import AclOperation
from kcli.core.protocol import compiler
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest
from kcli.core.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kcli.core.protocol.stored.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from kcli.core.types import ProducerRecord
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.producer_admin import no_markers
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fake.script import FOREVER
from tests.fake.settings import Settings
from tests.run import Done, Noun

_BEFORE_IMPLICIT = 9


class World:
    """A cluster with transactions, and ``kcli txn`` in it."""

    def __init__(self, cluster: FakeCluster, stack: ExitStack) -> None:
        self.cluster = cluster
        self.txn = Noun("txn", cluster)
        self._stack = stack

    def __call__(self, line: str, code: int = 0) -> Done:
        return self.txn(line, code)

    def open(self, name: str, partition: int = 0, timeout: int = 600_000) -> RawTransaction:
        """A transaction with two records in t."""
        made = self._begun(name, timeout)
        made.client = self._client(self.cluster.leader("t", partition))
        assert made.produce(0, b"a", b"b", partition=partition) == 0
        return made

    def hang(self, name: str, partition: int = 1) -> RawTransaction:
        """Two records that the coordinator knows nothing of."""
        made = self._begun(name, 600_000)
        made.client = self._client(self.cluster.leader("t", partition))
        self.cluster.settings.verify_transactions = False
        assert made.produce(0, b"a", b"b", partition=partition, version=_BEFORE_IMPLICIT) == 0
        self.cluster.settings.verify_transactions = True
        return made

    def idle(self, name: str) -> RawTransaction:
        """A producer without a transaction; its client is at the coordinator."""
        return self._begun(name, 600_000)

    def stable(self, partition: int) -> int:
        """The last stable offset."""
        return self.cluster.log("t", partition).last_stable_offset

    def sent(self, kind: type[Request]) -> int:
        return len(self.cluster.seen(kind))

    def _begun(self, name: str, timeout: int) -> RawTransaction:
        coordinator = self.cluster.coordinator("transaction", name)
        made = RawTransaction(self._client(coordinator), name, timeout=timeout)
        assert made.init() == 0
        return made

    def _client(self, node: int) -> RawClient:
        return self._stack.enter_context(RawClient(self.cluster.address(node)))


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


@pytest.fixture
def world(shared: FakeCluster) -> Iterator[World]:
    """t-0 and t-1 have three records, t-2 none."""
    shared.create_topic("t", 3)
    for partition in (0, 1):
        put(shared, "t", partition, 3)
    with ExitStack() as stack:
        yield World(shared, stack)
    shared.heal()
    shared.settings.cluster_operations = Settings().cluster_operations
    for name in shared.transactions:
        shared.expire_transaction(name)
    shared.delete_topic("t")


# --- list ---------------------------------------------------------------------------------------------------------


def test_an_empty_list_is_said(world: World) -> None:
    assert "no transaction is open or hanging" in world("list").err
    assert "no transaction is that old" in world("list --older-than 1h").err


def test_open_and_hanging_transactions_are_listed(world: World) -> None:
    pay, ghost = world.open("pay"), world.hang("ghost")
    rows = world("list --topic t -o json").items
    assert [(row["transactional_id"], row["state"], row["partitions"]) for row in rows] == [
        ("pay", "Ongoing", ["t-0"]),
        ("ghost", "Hanging", ["t-1"]),
    ]
    assert [row["producer_id"] for row in rows] == [pay.id, ghost.id]
    assert [row["timeout_seconds"] for row in rows] == [600, None]
    assert all(0 <= row["age_seconds"] < 60 for row in rows)
    assert [row["transactional_id"] for row in world("list -o json").items] == ["pay", "ghost"]


def test_topic_partitions_and_age_narrow_the_list(world: World) -> None:
    world.open("pay")
    world.hang("ghost")
    names = {
        line: [row["transactional_id"] for row in world(f"list {line} -o json").items]
        for line in (
            "--topic t -p 0",
            "--topic t -p 1",
            "--topic t -p 2",
            "--older-than 1h",
            "--older-than 0s",
            "--match p*",
            "--match x*",
        )
    }
    assert list(names.values()) == [["pay"], ["ghost"], [], [], ["pay", "ghost"], ["pay"], []]
    said = world("list --match x* --older-than 1h").err
    assert "no transaction is that old and has an id that matches x*" in said


def test_what_ends_between_two_requests_is_not_said_to_hang(world: World) -> None:
    """Its producer is described first, then its coordinator is asked, which by then has no such transaction."""
    pay = world.open("pay")

    def commit(*_seen: object) -> None:
        world.cluster.expire_transaction("pay")

    world.cluster.intercept(ListTransactionsRequest, commit, after=2, times=1)
    assert pay.id >= 0
    assert [row["state"] for row in world("list -o json").items] == ["Ongoing"]
    assert world.cluster.transactions["pay"].state.value == "CompleteAbort"


def test_a_coordinator_that_does_not_respond_is_named_and_nothing_is_said_to_hang(world: World) -> None:
    ghost = world.hang("ghost")
    other = next(node for node in (1, 2) if node != world.cluster.coordinator("transaction", "ghost"))
    world.cluster.fail(ListTransactionsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, node=other, times=FOREVER)
    done = world("list --topic t -o json", 6)
    assert f"listing the transactions of broker {other}" in done.err
    assert [(row["producer_id"], row["state"]) for row in done.items] == [(ghost.id, "Hanging")], (
        "it is known"
    )
    world.cluster.heal()
    mine = world.cluster.coordinator("transaction", "ghost")
    world.cluster.fail(ListTransactionsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, node=mine, times=FOREVER)
    assert [row["state"] for row in world("list --topic t -o json", 6).items] == ["Unknown"]
    done = world("abort --topic t -p 1 --yes", 4)
    assert "not all coordinators responded" in done.err
    assert world.sent(WriteTxnMarkersRequest) == 0


def test_nothing_is_said_to_hang_if_transactional_ids_may_be_hidden(world: World) -> None:
    """Brokers leave out of the list what the client may not describe: its live transactions look like hanging ones."""
    world.hang("ghost")
    world.cluster.forget_transaction("ghost")
    listed = world("list --topic t -o json")
    assert [row["state"] for row in listed.items] == ["Hanging"]
    type_remedy(
        "nothing ends it but `kcli txn abort --topic t -p 1`",
        listed.err,
        world.cluster.bootstrap,
    )
    world.cluster.fail(DescribeTransactionsRequest, Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, times=FOREVER)
    done = world("list --topic t -o json", 6)
    assert [row["state"] for row in done.items] == ["Unknown"]
    assert "may not describe all transactional ids" in done.err
    type_remedy(
        "have it granted: `kcli acls create --principal User:NAME --operation describe --transactional-id '*'`",
        done.err,
        world.cluster.bootstrap,
    )
    assert [row["state"] for row in world("describe --topic t -p 1 -o json", 6).items] == ["unknown"]
    world("abort --topic t -p 1 --yes", 4)
    assert world.sent(WriteTxnMarkersRequest) == 0


def test_an_id_that_nobody_uses_is_not_what_could_not_be_read(world: World) -> None:
    """It is described only to see whether ids are hidden."""
    world.hang("ghost")
    world.cluster.forget_transaction("ghost")
    world.cluster.fail(DescribeTransactionsRequest, Code.COORDINATOR_NOT_AVAILABLE, times=FOREVER)
    done = world("list --topic t -o json --timeout 1s", 6)
    assert [part["what"] for part in json.loads(done.out)["missing"]] == ["transactional ids"]
    assert "whether transactions hang is unknown" in done.err
    assert "kcli-" not in done.err


# --- describe -----------------------------------------------------------------------------------------------------


def test_a_partition_is_explained_with_its_remedy(world: World) -> None:
    world.open("pay")
    put(world.cluster, "t", 0, 2)
    done = world("describe --topic t -p 0 -o json")
    (row,) = done.items
    assert (row["state"], row["transactional_id"]) == ("open", "pay")
    assert (row["start_offset"], row["last_stable"], row["end"], row["waiting"]) == (3, 3, 7, 4)
    text = world("describe --topic t -p 0")
    assert "to end it now: `kcli txn abort --topic t -p 0`" in text.err
    assert row["ends_at"][:16] in text.err


def test_partitions_that_are_free_are_only_counted(world: World) -> None:
    world.hang("ghost")
    done = world("describe --topic t")
    assert [line.split()[1:3] for line in done.out.splitlines()[1:]] == [["1", "hanging"]]
    assert "2 of 3 partitions are not held back" in done.err
    assert "whose transactional id ghost has no such transaction" in done.err
    assert [row["state"] for row in world("describe --topic t -o json").items] == ["free", "hanging", "free"]


def test_a_transactional_id_is_shown_with_its_partitions(world: World) -> None:
    pay = world.open("pay")
    text = world("describe pay")
    assert text.out.startswith("transactional id pay: Ongoing, begun ")
    assert f"producer {pay.id}, epoch {pay.epoch}" in text.out
    assert "timeout 10m: its coordinator aborts it at 20" in text.out
    (item,) = world("describe pay -o json").items
    assert [(part["topic"], part["partition"], part["waiting"]) for part in item["partitions"]] == [
        ("t", 0, 2)
    ]


def test_several_transactions_of_a_partition_are_shown_the_first_one_first(world: World) -> None:
    first, second = world.open("first"), world.open("second")
    rows = world("describe --topic t -p 0 -o json").items
    assert [(row["producer_id"], row["start_offset"]) for row in rows] == [(first.id, 3), (second.id, 5)]
    done = world("abort --topic t -p 0 --yes -o json")
    (row,) = done.items
    assert (row["transactional_id"], row["status"], row["last_stable"]) == ("first", "done", 5)
    assert row["note"] == "another transaction holds it back at 5"
    assert second.client is not None


# --- abort --------------------------------------------------------------------------------------------------------


@pytest.mark.case("P17")
def test_a_hanging_transaction_is_ended_by_a_marker(world: World) -> None:
    ghost = world.hang("ghost")
    (row,) = world("abort --topic t -p 1 --yes -o json").items
    assert (row["action"], row["status"], row["last_stable"], row["end"]) == ("marker", "done", 6, 6)
    (seen,) = world.cluster.seen(WriteTxnMarkersRequest)[-1:]
    (marker,) = seen.request.markers
    assert (marker.producer_id, marker.producer_epoch, marker.transaction_result) == (
        ghost.id,
        ghost.epoch,
        False,
    )
    assert world.stable(1) == 6
    assert world("abort --topic t -p 1 --yes").err.endswith("nothing is to be aborted\n")


@pytest.mark.case("P17")
def test_an_open_transaction_is_ended_by_fencing_its_producer(world: World) -> None:
    pay = world.open("pay")
    markers = world.sent(WriteTxnMarkersRequest)
    (row,) = world("abort pay --yes -o json").items
    assert (row["action"], row["status"], row["last_stable"]) == ("fence", "done", 6)
    assert world.sent(WriteTxnMarkersRequest) == markers
    assert world.cluster.seen(InitProducerIdRequest)[-1].request.transaction_timeout_ms == 600_000
    assert pay.produce(2, b"c") == Code.INVALID_PRODUCER_EPOCH
    done = world("abort pay --yes")
    assert "pay has no open transaction (Empty)" in done.err


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("abort --topic t", 2, "confirmation required"),
        ("abort --topic t --confirm pay", 2, "does not name what would be changed"),
        ("abort pay --confirm t", 2, "use --confirm pay"),
        ("abort pay --dry-run", 0, ""),
        ("abort --topic t --dry-run", 0, ""),
        ("abort --topic t --older-than 1h --yes", 0, "nothing is to be aborted"),
        ("abort pay --older-than 1h --yes", 0, "its transaction is not that old"),
        ("abort nobody --yes", 1, "transactional id nobody does not exist"),
        ("abort", 2, "no transaction is selected"),
        ("abort --older-than 1h", 2, "no transaction is selected"),
        ("abort pay --topic t", 2, "both a transactional id and --topic are given"),
        ("abort -p 0", 2, "-p without a topic"),
        ("abort --topic t -p 9 --yes", 1, "topic t has no partition 9"),
        ("abort --topic tt --yes", 1, "did you mean t?"),
        ("describe", 2, "no transaction is selected"),
        ("list -p 1", 2, "kcli txn list --topic TOPIC -p 1"),
    ],
)
def test_nothing_is_sent_that_was_not_asked_for(world: World, line: str, code: int, says: str) -> None:
    world.open("pay")
    world.hang("ghost")
    before = world.sent(WriteTxnMarkersRequest), world.sent(InitProducerIdRequest)
    done = world(line, code)
    assert says in done.err
    assert (world.sent(WriteTxnMarkersRequest), world.sent(InitProducerIdRequest)) == before
    assert (world.stable(0), world.stable(1)) == (3, 3)


def test_the_plan_says_what_happens_to_a_client(world: World) -> None:
    world.open("pay")
    world.hang("ghost")
    plan = world("abort --topic t --dry-run").out
    assert "The producer of pay is fenced" in plan
    assert "A client that still runs gets PRODUCER_FENCED" in plan
    assert "No coordinator ends what is open in t-1" in plan
    assert "t-1 was written to 0s ago: its client may still be at work" in plan


def test_a_transaction_that_ends_after_the_plan_is_left_alone(world: World) -> None:
    """Its successor of the same id is not fenced in its place."""
    pay = world.open("pay")
    renewed = []

    def again(*_seen: object) -> None:
        if not renewed:
            world.cluster.expire_transaction("pay")
            renewed.append(world.sent(InitProducerIdRequest))

    world.cluster.intercept(DescribeTransactionsRequest, again, after=2, times=1)
    done = world("abort pay --yes -o json")
    assert [(row["status"], row["note"]) for row in done.items] == [("unchanged", "it had ended before")]
    assert "had ended before, and nothing was sent" in done.err
    assert world.sent(InitProducerIdRequest) == renewed[0]
    assert pay.id >= 0


def test_a_transaction_that_is_being_ended_is_not_touched(world: World) -> None:
    pay = world.open("pay")
    world.cluster.settings.completion_delay = float("inf")
    pay.client = RawClient(world.cluster.address(world.cluster.coordinator("transaction", "pay")))
    try:
        assert pay.end() == 0
        for line in ("abort pay --yes", "abort --topic t --yes"):
            done = world(line, 7)
            assert "its state is PrepareCommit: it was told to commit" in done.err
        type_remedy(
            "check that the leaders of all its partitions are running: `kcli txn describe pay`",
            done.err,
            world.cluster.bootstrap,
        )
        assert [row["state"] for row in world("describe --topic t -p 0 -o json").items] == ["ending"]
    finally:
        pay.client.close()
        world.cluster.settings.completion_delay = 0.0
        world.cluster.complete_transaction("pay")


def deny(world: World, *operations: AclOperation) -> None:
    for operation in operations:
        world.cluster.settings.cluster_operations &= ~(1 << operation)


@pytest.mark.parametrize(
    ("line", "code", "statuses"),
    [
        ("--topic t", 0, ["done", "done"]),
        ("pay", 0, ["done"]),
        ("idle", 0, ["unchanged"]),
        ("pay --older-than 1h", 0, ["unchanged"]),
        ("--topic t -p 2", 0, []),
    ],
)
def test_a_dry_run_ends_as_the_act_does(world: World, line: str, code: int, statuses: list[str]) -> None:
    world.open("pay")
    world.hang("ghost")
    world.idle("idle")
    for more, word in (("--dry-run", "planned"), ("--yes", "done")):
        items = world(f"abort {line} {more} -o json", code).items
        assert [row["status"] for row in items] == [one.replace("done", word) for one in statuses]


@pytest.mark.parametrize("form", ["json", "ndjson", "yaml", "csv", "tsv"])
def test_a_client_that_may_not_write_markers_sees_it_in_the_plan(world: World, form: str) -> None:
    """ALTER on the cluster is needed, or CLUSTER_ACTION."""
    world.hang("ghost")
    markers = world.sent(WriteTxnMarkersRequest)
    deny(world, AclOperation.ALTER, AclOperation.CLUSTER_ACTION)
    for more in ("--dry-run", "--yes"):
        done = world(f"abort --topic t {more} -o {form}", 4)
        assert "no ALTER permission on the cluster" in done.err
        assert done.out.count("refused") == 1
    assert world.sent(WriteTxnMarkersRequest) == markers


def test_cluster_action_is_sufficient_for_a_marker(world: World) -> None:
    world.hang("ghost")
    deny(world, AclOperation.ALTER)
    assert [row["status"] for row in world("abort --topic t --yes -o json").items] == ["done"]


def test_an_open_transaction_is_fenced_where_a_marker_is_not_permitted(world: World) -> None:
    world.open("pay")
    world.hang("ghost")
    deny(world, AclOperation.ALTER, AclOperation.CLUSTER_ACTION)
    for more, word in (("--dry-run", "planned"), ("--yes", "done")):
        items = world(f"abort --topic t {more} -o json", 6).items
        assert [row["status"] for row in items] == [word, "refused"]


@pytest.mark.parametrize("more", ["", "lost"])
def test_a_transaction_without_records_is_read_back_from_its_coordinator(world: World, more: str) -> None:
    world.idle("idle").add(0)
    (planned,) = world("abort idle --dry-run -o json").items
    assert (planned["topic"], planned["action"], planned["status"]) == (None, "fence", "planned")
    if more:
        world.cluster.swallow(InitProducerIdRequest, then="reset", times=FOREVER)
    done = world("abort idle --yes --timeout 2s -o json")
    assert [(row["topic"], row["status"]) for row in done.items] == [(None, "done")]
    assert "fenced idle; it had no records in partitions that can be read back" in done.err


def test_a_fence_whose_answer_is_lost_is_judged_by_the_partition(world: World) -> None:
    world.open("pay")
    world.cluster.swallow(InitProducerIdRequest, then="reset")
    assert [row["status"] for row in world("abort pay --yes -o json").items] == ["done"]


def test_a_transaction_that_its_coordinator_begins_to_end_after_the_plan_is_left_alone(world: World) -> None:
    world.open("pay")
    world.cluster.settings.completion_delay = float("inf")
    world.cluster.intercept(
        DescribeTransactionsRequest,
        lambda _request: world.cluster.expire_transaction("pay"),
        after=2,
        times=1,
    )
    fenced = world.sent(InitProducerIdRequest)
    try:
        done = world("abort pay --yes -o json", 7)
        assert [(row["partition"], row["status"]) for row in done.items] == [(0, "refused")]
        assert "its state is PrepareAbort: it was told to abort" in done.err
        assert world.sent(InitProducerIdRequest) == fenced
    finally:
        world.cluster.settings.completion_delay = 0.0
        world.cluster.complete_transaction("pay")


@pytest.mark.parametrize(
    ("kind", "code", "status"),
    [
        (WriteTxnMarkersRequest, Code.CLUSTER_AUTHORIZATION_FAILED, 4),
        (WriteTxnMarkersRequest, Code.INVALID_PRODUCER_EPOCH, 7),
        (InitProducerIdRequest, Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 4),
        (DescribeProducersRequest, Code.TOPIC_AUTHORIZATION_FAILED, 4),
    ],
)
def test_what_a_broker_refuses_is_reported(
    world: World, kind: type[Request], code: Code, status: int
) -> None:
    world.open("pay")
    world.hang("ghost")
    world.cluster.fail(kind, code, times=FOREVER)
    number = 0 if kind is InitProducerIdRequest else 1
    done = world(f"abort --topic t -p {number} --yes", status)
    assert code.name in done.err
    assert "do:" in done.err
    assert world.stable(number) == 3


@pytest.mark.parametrize(("line", "status"), [("--dry-run", "planned"), ("--yes", "done")])
def test_a_partition_that_cannot_be_read_is_refused_while_another_is_ended(
    world: World, line: str, status: str
) -> None:
    world.open("pay")
    world.hang("ghost")
    other = world.cluster.leader("t", 1)
    assert world.cluster.leader("t", 0) != other
    world.cluster.fail(DescribeProducersRequest, Code.TOPIC_AUTHORIZATION_FAILED, node=other, times=FOREVER)
    done = world(f"abort --topic t {line} -o json", 6)
    assert [(row["partition"], row["status"], row["producer_id"] is None) for row in done.items] == [
        (0, status, False),
        (1, "refused", True),
    ]
    assert "t-1 could not be checked" in done.err
    assert json.loads(done.out)["missing"] == []
    done = world(f"abort --topic t -p 1 {line}", 4)
    assert "nothing is to be aborted" not in done.err
    assert world.stable(1) == 3


def test_one_of_two_that_cannot_be_ended_makes_it_partly(world: World) -> None:
    world.open("pay")
    world.hang("ghost")
    world.cluster.fail(WriteTxnMarkersRequest, Code.INVALID_PRODUCER_EPOCH, times=FOREVER)
    done = world("abort --topic t --confirm t -o json", 6)
    assert [row["status"] for row in done.items] == ["done", "failed"]
    assert world.stable(0) == 6


def test_a_marker_whose_answer_is_lost_is_judged_by_the_partition(world: World) -> None:
    world.hang("ghost")
    world.cluster.swallow(WriteTxnMarkersRequest, then="reset")
    (row,) = world("abort --topic t -p 1 --yes -o json").items
    assert row["status"] == "done"


def test_a_marker_that_does_not_show_is_a_failure(world: World) -> None:
    world.hang("ghost")
    world.cluster.intercept(WriteTxnMarkersRequest, lambda request: no_markers(request, 0))
    done = world("abort --topic t -p 1 --yes --timeout 300ms -o json", 7)
    assert [row["status"] for row in done.items] == ["failed"]
    assert "its marker did not show" in done.err
    type_remedy("`kcli txn describe --topic t -p 1` shows its state", done.err, world.cluster.bootstrap)


# --- brokers that lack something ----------------------------------------------------------------------------------


def test_brokers_that_cannot_describe_producers_are_named() -> None:
    with FakeCluster(1, topics={"t": 1}) as old, ExitStack() as stack:
        old.hide(DescribeProducersRequest)
        here = World(old, stack)
        here.open("pay")
        done = here("describe --topic t", 7)
    assert "DescribeProducers" in done.err


def test_names_only_are_printed_for_a_script(world: World) -> None:
    world.open("pay")
    world.hang("ghost")
    assert world("list -o name").out.split() == ["pay", "ghost"]


def test_times_in_json_are_text(world: World) -> None:
    world.open("pay")
    document = json.loads(world("describe pay -o json").out)
    assert document["kind"] == "TransactionDescriptionList"
    (item,) = document["items"]
    assert item["since"].endswith("Z")
    assert item["partitions"][0]["since"] == item["since"]


def logged(cluster: FakeCluster, txn: RawTransaction, status: int, partitions: list[int]) -> None:
    """What a coordinator writes to its log."""
    rows = [PartitionsSchema(topic="t", partition_ids=partitions)] if partitions else None
    value = TransactionLogValue(
        producer_id=txn.id,
        producer_epoch=txn.epoch,
        transaction_timeout_ms=60_000,
        transaction_status=status,
        transaction_partitions=rows,
        transaction_last_update_timestamp_ms=5,
        transaction_start_timestamp_ms=int(time.time() * 1000) if partitions else -1,
    )
    key = b"".join(compiler.encode(TransactionLogKey(transactional_id=txn.name), 0, flexible=False)[:1])
    data = b"".join(compiler.encode(value, 0, flexible=False)[:1])
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        record = ProducerRecord("__transaction_state", b"\0\0" + data, key=b"\0\0" + key)
        producer.send(record).result(120)


def test_before_3_0_the_log_of_the_coordinators_is_read() -> None:
    """Its last record of an id counts; one whose transaction has ended there hangs."""
    topics = {"t": 3, "__transaction_state": 2}
    with FakeCluster(1, topics=topics) as old, ExitStack() as stack:
        here = World(old, stack)
        pay, ghost = here.open("pay"), here.hang("ghost")
        logged(old, pay, 0, [])
        logged(old, pay, 1, [0])
        logged(old, ghost, 1, [1])
        logged(old, ghost, 5, [])
        old.hide(ListTransactionsRequest, DescribeTransactionsRequest)
        done = here("list -o json")
        assert "do not list transactions: reading __transaction_state" in done.err
        assert [(row["transactional_id"], row["state"]) for row in done.items] == [
            ("pay", "Ongoing"),
            ("ghost", "Hanging"),
        ]
        rows = here("describe --topic t -o json").items
        assert [row["state"] for row in rows] == ["open", "hanging", "free"]
        assert [row["status"] for row in here("abort --topic t -p 1 --yes -o json").items] == ["done"]
        assert [row["action"] for row in here("abort pay --dry-run -o json").items] == ["fence"]
        assert "does not exist" in here("describe nobody", 1).err
