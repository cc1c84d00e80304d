"""``kcli topics who``: producers, readers, ACLs, and what of them could not be read."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core import Consumer, Producer
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import ProducerRecord
from tests.cli.test_acls import acl
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fake.script import FOREVER
from tests.run import Done, kcli

ACLS = """
User:alice allow read topic t literal *
User:bob allow write topic t prefixed *
User:bob deny write topic t literal 192.0.2.7
User:carl allow read topic t literal 192.0.2.8
User:* allow read topic * literal *
User:dora deny read topic t literal *
User:eve allow alter topic t literal *
User:fred allow write topic other literal *
"""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """One idempotent producer, one with an open transaction; groups g and h have commits, h has none on t."""
    with FakeCluster(1, topics={"t": 2, "u": 1}) as found:
        with Producer(bootstrap_servers=found.bootstrap) as producer:
            for value in (b"1", b"2", b"3"):
                producer.send(ProducerRecord("t", value, partition=0))
            producer.flush(10)
        with RawClient(found.address(1)) as client:
            for group, offsets in (("g", {"t": {0: 1}}), ("h", {"u": {0: 0}})):
                assert asks.code(client.ask(asks.commit(offsets, group=group), 7)) == 0
        with RawClient(found.address(1)) as client:
            transaction = RawTransaction(client, "pay", timeout=600_000)
            assert transaction.init() == 0
            assert transaction.produce(0, b"a", b"b", partition=1) == 0
            yield found


def who(cluster: FakeCluster, *words: str, code: int = 0) -> Done:
    done = kcli("topics", "who", *words, bootstrap=cluster.bootstrap)
    assert done.code == code, done
    return done


def document(cluster: FakeCluster, *words: str, code: int = 0) -> dict[str, Any]:
    return dict(json.loads(who(cluster, *words, "-o", "json", code=code).out))


def test_producers_that_leaders_know(cluster: FakeCluster) -> None:
    (found,) = document(cluster, "t")["items"]
    first, second = found["producers"]
    assert (first["partition"], first["transactional_id"], first["transaction"]) == (0, None, None)
    assert (second["partition"], second["transactional_id"], second["transaction"]) == (1, "pay", "open")
    assert (first["last_sequence"], second["last_sequence"], second["start_offset"]) == (2, 1, 0)
    assert second["last_write"] is None or second["last_write"].endswith("Z")


def test_groups_with_commits_and_members(cluster: FakeCluster) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="live", client_id="app") as member:
        member.subscribe(["t"])
        for _ in range(300):
            member.poll(0.1)
            if member.assignment:
                break
        (found,) = document(cluster, "t")["items"]
    rows = {row["group"]: row for row in found["readers"]}
    assert set(rows) == {"g", "live"}
    assert (rows["g"]["client_id"], rows["g"]["partitions"], rows["g"]["lag_records"]) == (None, [0], 2)
    assert (rows["live"]["client_id"], rows["live"]["partitions"]) == ("app", [0, 1])
    assert rows["live"]["lag_records"] is None, "nothing is committed"


def test_whom_acls_allow_and_deny(cluster: FakeCluster) -> None:
    cluster.acls.update(acl(line) for line in ACLS.split("\n") if line)
    (found,) = document(cluster, "t")["items"]
    rows = {(row["principal"], row["operation"], row["host"], row["verdict"]) for row in found["acls"]}
    assert rows == {
        ("User:*", "read", "*", "allowed"),
        ("User:alice", "read", "*", "allowed"),
        ("User:bob", "write", "*", "allowed"),
        ("User:bob", "write", "192.0.2.7", "denied"),
        ("User:dora", "read", "*", "denied"),
    }
    assert "superusers may do everything; brokers do not tell who they are" in who(cluster, "t").err


def test_tables_below_what_they_are(cluster: FakeCluster) -> None:
    out = who(cluster, "t", "u").out
    titles = [line for line in out.splitlines() if line.startswith(("t:", "u:"))]
    assert titles == [
        "t: producers", "t: readers", "t: ACLs: nobody, by ACLs", "u: producers: none that leaders remember",
        "u: readers", "u: ACLs: nobody, by ACLs",
    ]  # fmt: skip


def test_a_cluster_without_an_authorizer(cluster: FakeCluster) -> None:
    cluster.fail(DescribeAclsRequest, Code.SECURITY_DISABLED, times=FOREVER)
    (found,) = document(cluster, "t")["items"]
    assert (found["acls"], found["authorizer"]) == (None, False)
    assert "t: ACLs: the cluster has no authorizer: everybody may do everything" in who(cluster, "t").out


@pytest.mark.parametrize(
    ("request_", "error", "what", "key"),
    [
        (DescribeProducersRequest, Code.TOPIC_AUTHORIZATION_FAILED, "producers of t-0", "producers"),
        (ListGroupsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, "the groups of broker 1", "readers"),
        (DescribeAclsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, "ACLs of topic t", "acls"),
    ],
)
def test_what_cannot_be_read_is_missing(
    cluster: FakeCluster, request_: type[Any], error: Code, what: str, key: str
) -> None:
    cluster.fail(request_, error, times=FOREVER)
    found = document(cluster, "t", code=6)
    assert found["complete"] is False
    assert what in [part["what"] for part in found["missing"]]
    assert found["items"][0][key] is None
    assert "not read" in who(cluster, "t", code=6).out


def test_a_group_of_which_it_is_not_known_is_missing(cluster: FakeCluster) -> None:
    cluster.fail(OffsetFetchRequest, Code.GROUP_AUTHORIZATION_FAILED, times=FOREVER)
    found = document(cluster, "t", code=6)
    assert "whether group g reads t" in [part["what"] for part in found["missing"]]


def test_topics_that_do_not_exist(cluster: FakeCluster) -> None:
    assert "nope does not exist" in who(cluster, "nope", code=1).err
    assert [one["name"] for one in document(cluster, "t", "nope", code=6)["items"]] == ["t"]
