"""``kcli topics trim``: the plan, which records go, what is read back, what is refused, and the exit codes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.delete_records import DeleteRecordsRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.types import TopicPartition
from tests.committing import put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.run import Noun, start

T1 = TopicPartition("t", 1)


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"__consumer_offsets": 1}) as made:
        made.create_topic("compacted", configs={"cleanup.policy": "compact"})
        yield made


@pytest.fixture
def cluster(shared: FakeCluster) -> Iterator[FakeCluster]:
    """t-0 has 20 records, t-1 six, one a minute from STAMP on; t-2 is empty."""
    shared.create_topic("t", 3)
    put(shared, "t", 0, 20)
    put(shared, "t", 1, 6)
    yield shared
    shared.heal()
    shared.delete_topic("t")


@pytest.fixture
def topics(cluster: FakeCluster) -> Noun:
    return Noun("topics", cluster)


def starts(cluster: FakeCluster) -> list[int]:
    return [cluster.log("t", number).start_offset for number in range(3)]


def deletions(cluster: FakeCluster) -> int:
    return sum(seen.kind is DeleteRecordsRequest for seen in cluster.requests)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("4", [4, 4]),
        ("latest", [20, 6]),
        ("+5", [5, 5]),
        ("-5", [15, 1]),
        ("-10", [10, 0]),
        ("+10", [10, 6]),
        ("@1700000240000", [4, 4]),  # the fifth record's own time: it stays
        ("2023-11-14T22:18:20.5Z", [6, 6]),  # 300.5 s after the first
        ("@1700000600000", [10, 6]),  # after the last of t-1: all its records are older
        ("@-1h", [20, 6]),
        ("now", [20, 6]),
    ],
)
def test_records_before_an_offset_or_a_time_go(topics: Noun, before: str, expected: list[int]) -> None:
    plan = topics(f"trim t -p 0,1 --before {before} --dry-run -o json").items
    assert [row["new_log_start"] for row in plan] == expected
    assert starts(topics.cluster) == [0, 0, 0]
    report = topics(f"trim t -p 0,1 --before {before} --yes -o json").items
    assert [row["new_log_start"] for row in report] == expected
    assert [row["records"] for row in report] == expected
    assert starts(topics.cluster) == [*expected, 0]


@pytest.mark.parametrize("before", ["earliest", "0", "@1600000000000", "-20", "+0"])
def test_where_nothing_is_older_nothing_is_asked(topics: Noun, before: str) -> None:
    sent = deletions(topics.cluster)
    done = topics(f"trim t --before {before} -o json")
    assert "nothing is to be deleted" in done.err
    assert {row["status"] for row in done.items} == {"unchanged"}
    assert deletions(topics.cluster) == sent


@pytest.mark.parametrize("before", ["7d", "-1h30m", "@7d", "1.5H", "PT1H"])
def test_a_duration_is_a_time_before_now(topics: Noun, before: str) -> None:
    plan = topics(f"trim t --before {before} --dry-run").out
    assert "before now = " in plan


def test_the_plan_counts_the_records_of_each_partition(topics: Noun) -> None:
    plan = topics("trim t --before latest --dry-run").out.splitlines()[1:]
    assert plan[0] == "Trim topic t: delete the records before the end of the log."
    assert [line.split()[:5] for line in plan[2:5]] == [
        ["0", "0", "20", "20", "20"],
        ["1", "0", "6", "6", "6"],
        ["2", "0", "0", "0", "0"],
    ]
    assert plan[5] == "  2 partitions, up to 26 records deleted; 1 partition unchanged."


def test_a_file_of_kafkas_script_names_partitions_of_several_topics(topics: Noun, tmp_path: Path) -> None:
    topics.cluster.create_topic("u", 1)
    put(topics.cluster, "u", 0, 5)
    file = offsets_in(tmp_path, ("t", 1, 4), ("u", 0, -1), ("t", 0, 7))
    try:
        plan = topics(f"trim --from-file {file} --dry-run").out.splitlines()
        assert f"Trim topic t: delete the records before the offsets in {file}." in plan
        assert f"Trim topic u: delete the records before the offsets in {file}." in plan
        assert starts(topics.cluster) == [0, 0, 0]
        assert "does not name" in topics(f"trim --from-file {file} --confirm u", 2).err
        done = topics(f"trim --from-file {file} --yes -o json")
        found = [(row["topic"], row["partition"], row["new_log_start"], row["status"]) for row in done.items]
        assert found == [("t", 1, 4, "done"), ("u", 0, 5, "done"), ("t", 0, 7, "done")]
        assert starts(topics.cluster) == [7, 4, 0]
        assert topics.cluster.log("u").start_offset == 5
        assert "trimmed topic t: 11 offsets deleted in 2 partitions" in done.err
        assert "trimmed topic u: 5 offsets deleted in 1 partition" in done.err
    finally:
        topics.cluster.delete_topic("u")


@pytest.mark.parametrize(
    ("entries", "code", "what"),
    [
        ([("t", 0, 99), ("t", 1, 3)], 6, "records of t-0 were not deleted"),
        ([("t", 1, 3), ("compacted", 0, 1)], 6, "records of topic compacted are not deleted"),
        (
            [("compacted", 0, 1), ("__consumer_offsets", 0, 1)],
            7,
            "records of topic __consumer_offsets are not deleted",
        ),
        ([("t", 1, 3), ("missing", 0, 1)], 1, "topic missing does not exist"),
        ([("t", 1, 3), ("t", 9, 1)], 1, "topic t has no partition 9"),
        ([("t", 0, -2)], 2, "t-0 has no offset of 0 or more, or -1"),
        ([("t", 0, None)], 2, "t-0 has no offset"),
        ([("t", 0, 1), ("t", 0, 2)], 2, "it has t-0 twice"),
    ],
)
def test_what_of_a_file_cannot_be_done(
    topics: Noun, tmp_path: Path, entries: list[tuple[str, int, int]], code: int, what: str
) -> None:
    """A name that does not exist may be a mistake, so nothing is deleted then; what brokers refuse is refused alone."""
    done = topics(f"trim --from-file {offsets_in(tmp_path, *entries)} --yes", code)
    assert what in done.err
    assert starts(topics.cluster) == [0, 3 if code == 6 else 0, 0]


def test_a_file_names_what_is_trimmed_alone(topics: Noun) -> None:
    assert "leave one of them out" in topics("trim t --from-file x.json", 2).err
    assert "leave one of them out" in topics("trim --before 3 --from-file x.json", 2).err
    assert "cannot read x.json" in topics("trim --from-file x.json", 2).err
    assert "missing argument TOPIC" in topics("trim --before 3", 2).err


def offsets_in(folder: Path, *entries: tuple[str, int, int]) -> Path:
    """A file for kafka-delete-records.sh."""
    file = folder / "offsets.json"
    rows = [
        {"topic": topic, "partition": partition, "offset": offset} for topic, partition, offset in entries
    ]
    file.write_text(json.dumps({"partitions": rows, "version": 1}))
    return file


def test_only_the_chosen_partitions_are_trimmed(topics: Noun) -> None:
    topics("trim t -p 1 --before latest --confirm t")
    assert starts(topics.cluster) == [0, 6, 0]


@pytest.mark.parametrize(
    ("line", "code", "what", "do"),
    [
        ("t --before 99", 5, "t-0: offset 99 is beyond the end: its high watermark is 20", "--before latest"),
        (
            "compacted --before latest",
            7,
            "cleanup.policy is compact, without delete",
            "--append cleanup.policy=delete",
        ),
        ("__consumer_offsets --before latest", 7, "committed offsets of all groups", "delete-offsets"),
        ("t --before latest -p 9", 1, "topic t has no partition 9", "topics describe t"),
        ("tt --before latest", 1, "topic tt does not exist", "did you mean t?"),
        ("t* --before latest", 2, "looks like a pattern", "name one topic"),
        ("t u --before latest", 2, "unexpected extra argument", "--help"),
        ("t", 2, "missing option --before", "--before @-7d"),
        ("t --before soon", 2, "'soon' is not a target", "--before @-7d"),
        ("t --before stored", 2, "no group is given", "--before @-7d"),
        ("t --before 2026-11-21", 2, "has no time zone", "append Z"),
        ("t --before 4 --confirm u", 2, "does not name", "--confirm t"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_sent(
    topics: Noun, line: str, code: int, what: str, do: str
) -> None:
    sent = deletions(topics.cluster)
    done = topics(f"trim {line}{'' if 'confirm' in line else ' --yes'}", code)
    assert what in done.err
    assert do in done.err
    assert deletions(topics.cluster) == sent


def test_a_partition_that_ends_before_the_offset_is_refused_and_the_others_trimmed(topics: Noun) -> None:
    done = topics("trim t --before 10 --yes -o json", 6)
    assert [(row["status"], row["new_log_start"]) for row in done.items] == [
        ("done", 10),
        ("refused", 0),
        ("refused", 0),
    ]
    assert done.err.count("were not deleted") == 1, "one error for all partitions that end before it"
    assert "records of t-1,2 were not deleted" in done.err
    assert starts(topics.cluster) == [10, 0, 0]


def test_partitions_without_a_leader_are_left_out(topics: Noun) -> None:
    cluster = topics.cluster
    cluster.create_topic("spread", 2, replicas={0: [1], 1: [2]})
    try:
        put(cluster, "spread", 0, 5)
        cluster.stop(2, fail_over=True)
        done = topics("trim spread --before latest --yes -o json", 6)
        assert [(row["status"], row["new_log_start"]) for row in done.items] == [
            ("done", 5),
            ("refused", None),
        ]
        assert "spread-1 has no leader" in done.err
        assert "has no leader" in topics("trim spread -p 1 --before latest --yes", 3).err
    finally:
        cluster.start(2)
        cluster.delete_topic("spread")


def test_a_partition_that_the_broker_refuses_is_6_and_all_of_them_its_own_code(topics: Noun) -> None:
    topics.cluster.fail(DeleteRecordsRequest, Code.OFFSET_OUT_OF_RANGE, where=T1)
    done = topics("trim t -p 0,1 --before latest --yes -o json", 6)
    assert [(row["status"], row["new_log_start"]) for row in done.items] == [("done", 20), ("failed", 0)]
    assert "records of t-1 were not deleted" in done.err
    topics.cluster.fail(DeleteRecordsRequest, Code.TOPIC_AUTHORIZATION_FAILED)
    assert "--operation delete --topic t" in topics("trim t -p 1 --before latest --yes", 4).err
    assert starts(topics.cluster) == [20, 0, 0]


def test_the_broker_decides_where_the_policy_cannot_be_seen(topics: Noun) -> None:
    topics.cluster.fail(DescribeConfigsRequest, Code.TOPIC_AUTHORIZATION_FAILED)
    topics.cluster.append("compacted", 0, topics.cluster.log("t", 0).batches[0].raw)
    assert "POLICY_VIOLATION" in topics("trim compacted --before latest --yes", 7).err


def test_a_lost_response_is_resolved_by_the_read_back(topics: Noun) -> None:
    topics.cluster.swallow(DeleteRecordsRequest, "reset", times=1_000)
    done = topics("trim t -p 0 --before 4 --yes --timeout 1s -o json")
    assert [(row["status"], row["new_log_start"]) for row in done.items] == [("done", 4)]


def test_what_is_not_known_is_said(topics: Noun) -> None:
    topics.cluster.drop(DeleteRecordsRequest, "reset", times=1_000)
    done = topics("trim t -p 0 --before 4 --yes --timeout 1s -o json", 3)
    assert [(row["status"], row["new_log_start"]) for row in done.items] == [("unknown", 0)]
    assert "it is not known whether records of t-0 were deleted" in done.err


def test_a_start_that_did_not_move_is_reported(topics: Noun) -> None:
    def pretend(_request: object, answer: object) -> None:
        for topic in answer.topics:  # type: ignore[attr-defined]
            for row in topic.partitions:
                row.offset = 2

    topics.cluster.replace(ListOffsetsRequest, pretend, after=4)  # decided twice
    done = topics("trim t -p 0 --before 4 --yes -o json", 7)
    assert "was trimmed to 4, but starts at 2" in done.err
    assert [row["status"] for row in done.items] == ["failed"]


def test_a_topic_created_anew_since_the_plan_is_not_trimmed() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        put(cluster, "t", 0)
        held = cluster.hold(ListOffsetsRequest, at="answer", after=1)
        process = start(
            "topics", "trim", "t", "--before", "4", "--yes", "-o", "json", bootstrap=cluster.bootstrap
        )
        held.wait()
        cluster.recreate_topic("t")
        put(cluster, "t", 0)
        held.release()
        out, err = process.communicate(timeout=60)
        assert process.returncode == 5, err
        assert [item["status"] for item in json.loads(out)["items"]] == ["refused"]
        assert "deleted and created anew" in json.loads(err.splitlines()[-1])["why"]
        assert cluster.log("t").start_offset == 0
