"""``kcli groups why``: what a group stands at, and remedies that work."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.types import Record, TopicPartition
from tests.batches import batch_of
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fake.script import FOREVER
from tests.run import Done, kcli

JSON, POISON = b'{"a":1}', b"not JSON at all"


def put(cluster: FakeCluster, tp: TopicPartition, *values: bytes) -> None:
    end, now = cluster.log(*tp).end_offset, int(time.time() * 1000)
    rows = [Record(*tp, end + n, now, 0, b"k", value) for n, value in enumerate(values)]
    cluster.append(*tp, bytes(batch_of(rows).raw))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Group g has read three of five records of t-0, and stands at one that is not JSON; in t-1 it has read all."""
    with FakeCluster(1, topics={"t": 2, "__consumer_offsets": 1}) as found:
        put(found, TopicPartition("t", 0), JSON, JSON, JSON, POISON, JSON)
        put(found, TopicPartition("t", 1), JSON)
        commit(found, "g", {0: 3, 1: 1})
        yield found


def commit(cluster: FakeCluster, group: str, offsets: dict[int, int]) -> None:
    with RawClient(cluster.address(1)) as client:
        assert asks.code(client.ask(asks.commit({"t": offsets}, group=group), 7)) == 0


def why(cluster: FakeCluster, *words: str, code: int = 0) -> Done:
    done = kcli("groups", "why", *words, bootstrap=cluster.bootstrap)
    assert done.code == code, done
    return done


def item(cluster: FakeCluster, *words: str, code: int = 0) -> dict[str, Any]:
    (found,) = json.loads(why(cluster, *words, "-o", "json", code=code).out)["items"]
    return dict(found)


def test_the_next_record_that_does_not_look_like_the_one_before(cluster: FakeCluster) -> None:
    found = item(cluster, "g")
    assert (found["verdict"], found["lag_records"], found["member_count"]) == ("stopped", 2, 0)
    (part,) = found["partitions"]
    assert (part["topic"], part["partition"], part["committed"], part["verdict"]) == ("t", 0, 3, "stopped")
    assert part["next"] | {"time": ""} == {
        "offset": 3, "time": "", "key": "k", "size_bytes": 16, "looks": "text", "decodable": None,
        "trouble": "it is text, and the record before it is json",
    }  # fmt: skip
    page = why(cluster, "g").out
    assert "verdict: stopped: 1 of 2: t-0 2 unread" in page
    type_remedy(
        "to see its next record: `kcli consume t -p 0 --offset 3 -n 1 -o ndjson`", page, cluster.bootstrap
    )
    type_remedy("to skip that record: `kcli groups rewind g --topic t:0 --to 4`", page, cluster.bootstrap)
    assert "the group has no members: start its consumers" in page


@pytest.mark.parametrize(
    ("serde", "decodable", "trouble"),
    [
        ("value=json", False, "its value cannot be decoded: the value is not JSON"),
        ("value=str", True, "it is text,"),
    ],
)
def test_a_serde_says_whether_it_decodes(
    cluster: FakeCluster, serde: str, decodable: bool, trouble: str
) -> None:
    (part,) = item(cluster, "g", "-s", serde)["partitions"]
    assert part["next"]["decodable"] is decodable
    assert part["next"]["trouble"].startswith(trouble)


def test_a_group_with_members_is_skipped_live_and_a_dead_one_is_removed(cluster: FakeCluster) -> None:
    """Two members for one partition: one has none."""
    cluster.create_topic("u", 1)
    put(cluster, TopicPartition("u", 0), JSON, POISON)
    members = [
        Consumer(bootstrap_servers=cluster.bootstrap, group_id="m", client_id=name, enable_auto_commit=False)
        for name in ("one", "two")
    ]
    try:
        for one in members:
            one.subscribe(["u"])
        found: dict[str, Any] = {"verdict": "rebalancing", "idle_members": []}
        until = time.monotonic() + 30
        while found["verdict"] == "rebalancing" or len(found["idle_members"]) != 1:
            assert time.monotonic() < until, found
            for one in members:
                one.poll(0.1)
            readers = [one for one in members if one.assignment]
            if len(readers) == 1:
                readers[0].commit({TopicPartition("u", 0): 1})
                found = item(cluster, "m")
        page = why(cluster, "m").out
        (part,) = found["partitions"]
        type_remedy(
            f"if that process is gone, `kcli groups remove-members m {part['member_id']}` frees its partitions",
            page,
            cluster.bootstrap,
        )
    finally:
        for one in members:
            one.close()
    (idle,) = found["idle_members"]
    assert {part["client_id"], idle["client_id"]} == {"one", "two"}
    assert part["verdict"] in (None, "ok"), "too early for more"
    assert f"without partitions: {idle['client_id']} at" in page
    assert any(line.endswith("--topic u:0 --to 2 --live`") for line in found["remedies"])
    assert any(f"`kcli groups remove-members m {part['member_id']}`" in line for line in found["remedies"])


def test_the_transaction_that_holds_a_partition_back(cluster: FakeCluster) -> None:
    with RawClient(cluster.address(1)) as client:
        transaction = RawTransaction(client, "pay", timeout=600_000)
        assert transaction.init() == 0
        assert transaction.produce(0, b"a", b"b", partition=1) == 0
        found = item(cluster, "g")
        held = next(part for part in found["partitions"] if part["partition"] == 1)
        assert held["next"] is None
        assert held["held"] | {"age_seconds": 0} == {
            "transactional_id": "pay", "producer_id": transaction.id, "producer_epoch": transaction.epoch,
            "state": "open", "start_offset": 1, "waiting": 2, "age_seconds": 0,
        }  # fmt: skip
        page = why(cluster, "g").out
        assert f"t-1: held from offset 1 by the transaction of producer {transaction.id} (epoch " in page
        type_remedy("to end it now: `kcli txn abort --topic t -p 1`", page, cluster.bootstrap)
        cluster.fail(ListTransactionsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
        lacking = json.loads(why(cluster, "g", "-o", "json", code=6).out)
        assert lacking["complete"] is False
        assert lacking["missing"]


def test_what_cannot_be_read_is_missing(cluster: FakeCluster) -> None:
    cluster.delete_topic("__consumer_offsets")
    document = json.loads(why(cluster, "g", "-o", "json", code=6).out)
    assert [part["what"] for part in document["missing"]] == ["recent commits and rebalances of group g"]
    assert document["items"][0]["membership_changes"] is None
    assert document["items"][0]["verdict"] == "stopped"
    cluster.fail(FetchRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    document = json.loads(why(cluster, "g", "-o", "json", code=6).out)
    assert "the next record of t-0" in [part["what"] for part in document["missing"]]


def test_a_damaged_record_hides_that_of_its_own_partition_alone(cluster: FakeCluster) -> None:
    tp = TopicPartition("t", 1)
    damaged = bytearray(batch_of([Record(*tp, 1, 0, 0, b"k", b"v")]).raw)
    damaged[-1] ^= 0xFF
    cluster.append(*tp, bytes(damaged))
    document = json.loads(why(cluster, "g", "-o", "json", code=6).out)
    assert [part["what"] for part in document["missing"]] == ["the next record of t-1"]
    shown = {part["partition"]: part["next"] for part in document["items"][0]["partitions"]}
    assert shown[1] is None
    assert shown[0]["offset"] == 3


def test_what_is_no_group(cluster: FakeCluster) -> None:
    done = why(cluster, "gg", code=1)
    assert "group gg does not exist" in done.err
    assert "did you mean g?" in done.err
    done = why(cluster, code=2)
    type_remedy("`kcli groups list` lists them", done.err, cluster.bootstrap)
    assert "groups why: missing argument GROUP" in done.err
