"""A cluster of which a part does not answer: the rest is done, what is missing is said, and who is to blame for it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from tests.batches import batch_of
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import commit
from tests.fake.cluster import FakeCluster
from tests.fake.script import FOREVER
from tests.run import Done, kcli

LIMIT = ("--timeout", "2s")
CONTROLLER = "brokers pass the request on to the active controller, which has not answered"


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """``t`` has five records in each of its six partitions, of which 1 and 4, those of broker 2, have no leader."""
    with FakeCluster(3, topics={"__consumer_offsets": 1}) as found:
        found.create_topic("t", 6, replicas={number: [number % 3 + 1] for number in range(6)})
        now = int(time.time() * 1000)
        for number in range(6):
            rows = [Record("t", number, n, now, 0, b"k", b"%d-%d" % (number, n)) for n in range(5)]
            found.append("t", number, bytes(batch_of(rows).raw))
        commit(found, "g", {TopicPartition("t", number): OffsetAndMetadata(1) for number in range(6)})
        found.stop(2, fail_over=True)
        yield found


def run(cluster: FakeCluster, line: str, code: int) -> Done:
    done = kcli(*line.split(), *LIMIT, bootstrap=cluster.address(1))
    assert done.code == code, done.out + done.err
    return done


READ = [value for number in (0, 2, 3, 5) for value in (f"{number}-{n}" for n in range(5))]


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("consume t -e", READ),
        ("consume t --tail 100", READ),
        ("consume t -g readers -e", READ),
        ("consume t -g readers -e --offset @-1h", READ),
        ("consume t --since 1h -e", READ),
        ("consume t -e --exact-times --since 1h --until 0s", READ),
        ("consume t --latest-per-key -e", [f"{number}-4" for number in (0, 2, 3, 5)]),
        ("consume t --count", ["20"]),
    ],
)
def test_partitions_that_can_be_read_are_read_and_the_others_are_missing(
    cluster: FakeCluster, line: str, printed: list[str]
) -> None:
    done = run(cluster, line, 6)
    assert sorted(done.out.split()) == printed
    assert done.err.count("kcli: the records of t-1,4 were not read\n") == done.err.count("kcli: ") == 1
    assert "has no leader" in done.err


def test_a_group_has_no_offset_of_what_was_not_read(cluster: FakeCluster) -> None:
    run(cluster, "consume t -g readers -e", 6)
    committed = cluster.committed_offsets("readers")
    assert {tp.partition for tp in committed} == {0, 2, 3, 5}


def test_a_dry_run_lacks_what_the_act_would(cluster: FakeCluster) -> None:
    document = json.loads(run(cluster, "consume t -e --dry-run -o json", 6).out)
    assert [item["partition"] for item in document["items"]] == [0, 2, 3, 5]
    assert (document["complete"], len(document["missing"])) == (False, 1)


@pytest.mark.parametrize("line", ["consume t -p 1,4 -e", "consume t -p 1 --tail 1", "consume t -p 4 --count"])
def test_where_nothing_can_be_read_that_is_3(cluster: FakeCluster, line: str) -> None:
    assert run(cluster, line, 3).out == ""


def test_an_export_is_whole_or_is_none(cluster: FakeCluster) -> None:
    assert run(cluster, "pipeline profile t --runner inline", 3).out == ""


def test_a_group_is_explained_in_one_wait(cluster: FakeCluster) -> None:
    """What one look has waited for in vain is not asked for again."""
    rule = cluster.drop(
        ListOffsetsRequest,
        then="silence",
        times=FOREVER,
        node=3,
        when=lambda request: request.replica_id == -1,
    )
    done = run(cluster, "groups why g", 6)
    times = [p.timestamp for seen in rule.requests for t in seen.request.topics for p in t.partitions]
    assert all(time < 0 for time in times), "a moment was asked for of a partition that has not answered"
    assert "offsets of t-2,5 are unknown" in done.err


def test_records_that_are_not_known_are_no_records(cluster: FakeCluster) -> None:
    done = run(cluster, "topics delete t --dry-run", 0)
    assert "6 partitions, up to 20 records, and those of 2 partitions, which are unknown." in done.out
    (item,) = run(cluster, "topics delete t --dry-run -o json", 0).items
    assert item["records"] is None
    plan = run(cluster, "topics trim t --before latest --dry-run", 6).out
    assert "4 partitions, up to 20 records deleted; 2 partitions refused." in plan


def test_a_move_that_has_nobody_to_copy_from_is_told(cluster: FakeCluster, tmp_path: Path) -> None:
    path = f"{tmp_path}/plan.json"
    warning = "nothing can be copied of t-1,4 while it has no leader"
    assert warning in run(cluster, f"reassign plan --topic t --brokers 1,3 {path}", 0).err
    assert warning in run(cluster, f"reassign run {path} --dry-run", 0).err


def test_no_election_is_proposed_where_nobody_is_alive(cluster: FakeCluster) -> None:
    assert "--unclean" not in run(cluster, "elect-leaders --topic t --dry-run", 7).err


def test_a_controller_that_hangs_is_blamed_for_it(cluster: FakeCluster) -> None:
    for request in (ListPartitionReassignmentsRequest, DescribeQuorumRequest):
        cluster.hold(request)
    assert CONTROLLER in run(cluster, "reassign status", 3).err
    found = {item["check"]: item for item in run(cluster, "cluster check -o json", 8).items}
    unknown = {name for name, item in found.items() if item["status"] == "unknown"}
    assert unknown == {"reassignments"}, found
    assert CONTROLLER in found["reassignments"]["reason"]


@pytest.mark.parametrize(
    ("spec", "replicas", "left"),
    [
        ("replication_factor: 2", [1, 2], "-  replication_factor: 1"),
        ("assignment: {0: [1, 2]}", [1, 2], "0: [1]"),
        ("partitions: 1, assignment: {0: [2]}", [2], "0: [1]"),
    ],
)
def test_a_replica_that_is_still_copied_to_is_not_there(
    spec: str, replicas: list[int], left: str, tmp_path: Path
) -> None:
    """``diff`` waits for the end of a move, as ``apply`` does."""
    with FakeCluster(2, hold_reassignments=True) as moving:
        moving.create_topic("m", replicas={0: [1]})
        path = tmp_path / "m.yaml"
        path.write_text(f"apiVersion: kcli/v1\nkind: Topic\nmetadata: {{name: m}}\nspec: {{{spec}}}\n")
        plan = tmp_path / "plan.json"
        plan.write_text(
            json.dumps({"version": 1, "partitions": [{"topic": "m", "partition": 0, "replicas": replicas}]})
        )
        started = kcli("reassign", "run", str(plan), "--yes", bootstrap=moving.bootstrap)
        assert moving.reassignment("m", 0)[1] == [2], started.err
        done = kcli("diff", str(path), bootstrap=moving.bootstrap)
        assert (done.code, left in done.out) == (8, True), done.out
        moving.finish_reassignment("m", 0)
        done = kcli("diff", str(path), bootstrap=moving.bootstrap)
        assert (done.code, done.out) == (0, ""), done.out


def test_a_member_says_what_it_waits_for(cluster: FakeCluster) -> None:
    """Reading goes on as long as it takes, but not in silence."""
    cluster.hold(JoinGroupRequest)
    said = run(cluster, "consume t -g g -e --within 4s --expect 0", 0).err
    assert said.count("no partitions of group g") == 1
    type_remedy(
        "no partitions of group g for 2s, waiting: its coordinator does not answer, or a member has not rejoined; "
        "`kcli groups describe g --members` shows it",
        said,
        cluster.address(1),
    )


def test_a_record_for_a_partition_without_a_leader_says_so(cluster: FakeCluster) -> None:
    line = (
        "produce",
        "t",
        "-p",
        "1",
        "-X",
        "delivery.timeout.ms=1000",
        "-X",
        "linger.ms=0",
        "-X",
        "request.timeout.ms=900",
    )
    done = kcli(*line, bootstrap=cluster.address(1), stdin=b"x\n")
    assert done.code == 3, done.err
    assert "t-1 has no leader: no in-sync replica is alive: broker 2 is down" in done.err
    assert "`kcli topics describe t` shows its replicas" in done.err
