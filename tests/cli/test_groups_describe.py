"""``kcli groups describe`` as a process against the fake cluster: what brokers no longer tell costs nobody a line."""

import json
from collections.abc import Iterator
from struct import pack
from typing import Any

import pytest

from kcli.core.error_codes import NONE
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import GroupPartition, Record, TopicPartition
from kcli.flows.groups.commit_times import TOPIC, commit_key, offsets_partition
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.fake.groups import asks
from tests.fake.raw_client import RawClient
from tests.lasting import Moment, lasted
from tests.run import kcli, ok, start


def put(cluster: FakeCluster, tp: TopicPartition, *records: tuple[bytes, bytes]) -> None:
    end = cluster.log(*tp).end_offset
    rows = [Record(*tp, end + n, 1_000 * n, 0, key, value) for n, (key, value) in enumerate(records)]
    cluster.append(*tp, bytes(batch_of(rows).raw))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Group g has read up to offset 4 of ten in both partitions of t, and something of topic u."""
    with FakeCluster(1, topics={"t": 2, "u": 1}) as found:
        for number in range(2):
            put(found, TopicPartition("t", number), *((b"k", b"%d:%d" % (number, n)) for n in range(10)))
        with RawClient(found.address(1)) as client:
            for group in ("g", "h"):
                told = client.ask(asks.commit({"t": {0: 4, 1: 4}, "u": {0: 0}}, group=group), 7)
                assert asks.code(told) == NONE
        yield found


def rows(cluster: FakeCluster, *arguments: str, codes: tuple[int, ...] = (0,)) -> list[list[str]]:
    done = kcli("groups", "describe", *arguments, "-o", "tsv", "--no-headers", bootstrap=cluster.bootstrap)
    return [line.split("\t") for line in ok(done, codes).decode().splitlines()]


def noted(
    cluster: FakeCluster, *arguments: str, codes: tuple[int, ...] = (0,)
) -> list[tuple[str, str, str, str, str]]:
    """Topic and partition, commit, end, lag, note."""
    return [(f"{r[1]}-{r[2]}", *r[3:6], r[13]) for r in rows(cluster, *arguments, codes=codes)]


def test_every_partition_with_a_commit(cluster: FakeCluster) -> None:
    assert noted(cluster, "g") == [
        ("t-0", "4", "10", "6", ""),
        ("t-1", "4", "10", "6", ""),
        ("u-0", "0", "0", "0", ""),
    ]
    (fetched,) = cluster.seen(OffsetFetchRequest)
    assert all(fetched.number < asked.number for asked in cluster.seen(ListOffsetsRequest))


def test_a_commit_past_the_end_is_a_lag_below_0(cluster: FakeCluster) -> None:
    """As the schema says, with which ``kcli`` compares what is printed."""
    cluster.truncate("t", 1, 1)
    done = kcli("groups", "describe", "g", "-o", "json", bootstrap=cluster.bootstrap)
    (group,) = json.loads(ok(done))["items"]
    assert [one["lag_records"] for one in group["partitions"]] == [6, -4, 0]


def test_a_partition_without_a_leader_is_a_row_and_is_not_waited_for(cluster: FakeCluster) -> None:
    cluster.move_leader("t", 1, -1)
    began = Moment.now()
    assert noted(cluster, "g", codes=(6,))[:2] == [
        ("t-0", "4", "10", "6", ""),
        ("t-1", "4", "", "", "no leader"),
    ]
    assert lasted(began) < 8.0


def test_a_topic_that_vanishes_between_two_answers_is_a_row(cluster: FakeCluster) -> None:
    hold = cluster.hold(ListOffsetsRequest, at="request")
    run = start("groups", "describe", "g", "-o", "tsv", "--timeout", "1s", bootstrap=cluster.bootstrap)
    hold.wait()
    cluster.delete_topic("u")
    hold.release()
    out, err = run.communicate(timeout=60)
    assert run.returncode == 6
    assert b"offsets of u-0 are unknown" in err
    lines = [line.split("\t") for line in out.decode().splitlines()]
    assert lines[-1][1:6] == ["u", "0", "0", "", ""]
    assert "UNKNOWN_TOPIC_OR_PARTITION" in lines[-1][13]
    assert [line[5] for line in lines[1:3]] == ["6", "6"]


def test_a_missing_group_is_6_beside_another_and_1_alone(cluster: FakeCluster) -> None:
    done = kcli("groups", "describe", "g", "nosuch", "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(ok(done, (6,)))
    assert [item["group"] for item in document["items"]] == ["g"]
    error = json.loads(done.stderr.decode().splitlines()[0])
    assert (error["kind"], error["what"]) == ("Error", "group nosuch does not exist")
    alone = kcli("groups", "describe", "nosuch", bootstrap=cluster.bootstrap)
    assert (alone.returncode, alone.stdout) == (1, b"")


def test_all_excludes_names_and_patterns(cluster: FakeCluster) -> None:
    for words in (("g",), ("--match", "g*")):
        done = kcli("groups", "describe", "--all", *words, bootstrap=cluster.bootstrap)
        assert (done.returncode, b"groups describe: --all with" in done.stderr) == (2, True)


def test_records_around_a_commit_and_when_it_was_made(cluster: FakeCluster) -> None:
    cluster.create_topic(TOPIC, 3)
    commit = GroupPartition("g", TopicPartition("t", 0))
    told = [(commit_key(commit), pack(">hqihq", 3, 4, -1, 0, when)) for when in (1_000, 2_000)]
    put(cluster, offsets_partition("g", 3), *told)
    done = kcli("groups", "describe", "g", "--peek", "2", "-v", "-o", "json", bootstrap=cluster.bootstrap)
    place: dict[str, Any] = json.loads(ok(done))["items"][0]["partitions"][0]
    assert place["commit_time"] == "1970-01-01T00:00:02.000Z"
    assert ([r["value"] for r in place["read"]], [r["value"] for r in place["next"]]) == (["0:3"], ["0:4"])
    assert cluster.committed_offsets("g")[commit.tp] == 4
