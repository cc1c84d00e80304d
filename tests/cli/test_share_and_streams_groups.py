"""Share groups (KIP-932) and streams groups (KIP-1071) in list, lag and describe, where all is well and where not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from kcli.core.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kcli.core.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.groups.other_groups import ShareGroup, SharePlace, StreamsGroup, StreamsMember
from tests.fake.raw_client import batch
from tests.run import Done, kcli

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
NAMES = {"classic", "shared", "idle-share", "app"}


def made(nodes: int = 1) -> FakeCluster:
    """``t`` has ten records in each of three partitions."""
    cluster = FakeCluster(nodes, topics={"t": 3, "small": 1})
    for number in range(3):
        cluster.append("t", number, batch(*[b"v"] * 10))
    shared = {T0: SharePlace(2, 5), T1: SharePlace(10), T2: SharePlace()}
    cluster.add_group(ShareGroup("shared", shared, {"a": [T0, T1], "b": [T1, T2]}))
    cluster.add_group(ShareGroup("idle-share", {T0: SharePlace(0, 10)}))
    members = {
        "m": StreamsMember({"0": [0, 1]}, {"0": [2]}),
        "n": StreamsMember({"0": [2]}, {}, {"0": [0]}),
    }
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        commits = {T0: OffsetAndMetadata(4), T1: OffsetAndMetadata(10)}
        admin.commit_offsets({"classic": commits, "app": commits})
    cluster.with_groups(lambda groups: groups._do.registry.drop("app"))
    cluster.add_group(StreamsGroup("app", {"0": ["t", "small"]}, members, topology_epoch=3))
    return cluster


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with made() as cluster:
        yield cluster


def run(cluster: FakeCluster, line: str) -> Done:
    return kcli("--timeout", "1", *line.split(), bootstrap=cluster.bootstrap)


def test_the_list_has_their_types_and_their_lag(cluster: FakeCluster) -> None:
    done = run(cluster, "groups list --with-lag -o json")
    assert done.code == 0
    assert {row["group"]: (row["type"], row["state"], row["lag_records"]) for row in done.items} == {
        "app": ("streams", "Stable", 6),
        "classic": ("classic", "Empty", 6),
        "idle-share": ("share", "Empty", 0),
        "shared": ("share", "Stable", 3),
    }


def test_the_list_filters_by_type(cluster: FakeCluster) -> None:
    assert run(cluster, "groups list --type share,streams -o name").out.split() == [
        "app", "idle-share", "shared"
    ]  # fmt: skip


def test_the_list_filters_by_topic(cluster: FakeCluster) -> None:
    assert set(run(cluster, "groups list --topic t -o name").out.split()) == NAMES
    assert run(cluster, "groups list --topic small -o name").out.split() == ["app"]


def test_lag_by_group_has_a_type_and_a_verdict(cluster: FakeCluster) -> None:
    done = run(cluster, "groups lag -o json")
    assert done.code == 0
    assert {row["group"]: (row["type"], row["lag_records"], row["verdict"]) for row in done.items} == {
        "app": ("streams", 6, None),
        "classic": ("classic", 6, "stopped"),
        "idle-share": ("share", 0, "empty"),
        "shared": ("share", 3, None),
    }


def test_lag_by_partition_of_a_share_group(cluster: FakeCluster) -> None:
    """A partition that two members read belongs to neither."""
    rows = run(cluster, "groups lag shared -o json").rows
    keys = "committed", "end", "lag_records", "client_id", "type", "note"
    assert {tp: tuple(row[key] for key in keys) for tp, row in rows.items()} == {
        T0: (2, 10, 3, "client-a", "share", None),
        T1: (10, 10, 0, None, "share", None),
        T2: (None, 10, None, "client-b", "share", "no start offset yet"),
    }


def test_lag_by_partition_of_a_streams_group_has_the_owners_of_tasks(cluster: FakeCluster) -> None:
    """Task 0_0 reads both topics, the others only the one that has so many partitions."""
    done = run(cluster, "groups lag app --by partition -o json")
    found = {tp: (row["committed"], row["lag_records"], row["client_id"]) for tp, row in done.rows.items()}
    assert found == {
        TopicPartition("small", 0): (None, None, "client-m"),
        T0: (4, 6, "client-m"),
        T1: (10, 0, "client-m"),
        T2: (None, None, "client-n"),
    }


def test_describe_shows_tasks_topology_and_start_offsets(cluster: FakeCluster) -> None:
    done = run(cluster, "groups describe app shared -o json")
    assert done.code == 0
    app, shared = done.items
    assert (app["type"], app["topology_epoch"], app["member_count"]) == ("streams", 3, 2)
    m, n = app["members"]
    assert m["active_tasks"] == [{"subtopology": "0", "partition": 0}, {"subtopology": "0", "partition": 1}]
    assert (m["standby_tasks"], n["warmup_tasks"]) == (
        [{"subtopology": "0", "partition": 2}], [{"subtopology": "0", "partition": 0}]
    )  # fmt: skip
    assert shared["members"][0]["active_tasks"] is None
    assert [(row["committed"], row["lag_records"], row["note"]) for row in shared["partitions"]] == [
        (2, 3, None),
        (10, 0, "read by 2 members"),
        (None, None, "no start offset yet"),
    ]
    text = run(cluster, "groups describe app --members -o tsv").out
    assert "0_0,0_1\t0_2" in text
    assert "topology epoch 3, 2 members" in run(cluster, "groups describe app -o table").out


def test_kafkas_form_has_groups_of_all_types(cluster: FakeCluster) -> None:
    done = run(cluster, "groups describe classic shared app -o kafka")
    assert done.code == 0
    rows = [line.split() for line in done.out.splitlines() if line.startswith("app ")]
    # The lag is the size of the log where nothing is committed.
    assert rows == [
        ["app", "small", "0", "0"],
        ["app", "t", "0", "6"],
        ["app", "t", "1", "0"],
        ["app", "t", "2", "10"],
    ]
    members = run(cluster, "groups describe app --members -o kafka").out
    assert [line.split(maxsplit=4)[4].rstrip() for line in members.splitlines()] == [
        "ASSIGNMENTS",
        "ACTIVE: 0:[0,1]; STANDBY: 0:[2];",
        "ACTIVE: 0:[2]; WARMUP: 0:[0];",
    ]
    for section in ("config", "tasks", "topology"):
        assert "leave out -o kafka" in run(cluster, f"groups describe app --{section} -o kafka").err


@pytest.mark.parametrize(
    ("chosen", "shown", "said"),
    [
        ("--match *a*", NAMES, ""),
        ("--match *share*", {"shared", "idle-share"}, ""),
        ("--all --type share,streams", NAMES - {"classic"}, ""),
        ("--all", {"classic"}, "warning: 3 groups left out, as kafka-consumer-groups.sh does"),
    ],
)
def test_kafkas_form_leaves_out_no_group_unsaid(
    cluster: FakeCluster, chosen: str, shown: set[str], said: str
) -> None:
    """Of all groups it has those that Kafka's script has."""
    done = run(cluster, f"groups describe {chosen} -o kafka")
    rows = [line.split()[0] for line in done.out.splitlines() if line]
    assert {name for name in rows if name != "GROUP"} == shown
    assert [line[: len(said)] for line in done.err.splitlines() if "left out" in line] == (
        [said] if said else []
    )


@pytest.mark.parametrize(
    ("group", "limit", "known"),
    [
        ("idle-share", "--max-lag 100", True),
        ("idle-share", "--max-lag-time 1000000h", True),
        ("classic", "--max-lag 100", False),  # it has committed nothing for a partition of its topic
        ("shared", "--max-lag 100", False),  # a partition has no start offset yet
        ("shared", "--max-lag-time 1000000h", False),
        ("app", "--max-lag 100", False),  # a member reads a partition without a commit
    ],
)
def test_a_limit_that_was_not_compared_with_all_lag_says_so(
    cluster: FakeCluster, group: str, limit: str, known: bool
) -> None:
    done = run(cluster, f"groups lag {group} {limit} -q")
    assert done.code == 0
    assert ("only lag that could be read was compared with the limit" in done.err) is not known
    assert bool(done.out) is not known


def test_a_sum_says_how_many_partitions_are_not_in_it(cluster: FakeCluster) -> None:
    (row,) = run(cluster, "groups lag shared --by group -o json").items
    assert row["lag_records"] == 3
    assert "1 of 3 partitions without a start offset" in row["note"]
    assert "in 1 of 3 partitions, not known in 1" in run(cluster, "groups why shared").out


def test_the_records_around_a_start_offset_are_shown_as_those_around_a_commit(cluster: FakeCluster) -> None:
    (shared,) = run(cluster, "groups describe shared --peek 4 -o json").items
    assert [
        [
            [record["offset"] for record in row[side]] if row[side] is not None else None
            for side in ("read", "next")
        ]
        for row in shared["partitions"]
    ] == [[[0, 1], [2, 3]], [[8, 9], []], [None, None]]
    assert "next" in run(cluster, "groups describe shared --peek 4").out


def test_openmetrics_has_start_offsets_under_a_name_of_their_own(cluster: FakeCluster) -> None:
    text = run(cluster, "groups lag --by partition -o openmetrics").out
    assert 'kcli_share_group_start_offset{group="shared",topic="t",partition="0"' in text
    assert 'kcli_group_committed_offset{group="shared"' not in text
    assert 'kcli_group_lag_records{group="shared",topic="t",partition="0"' in text


def test_groups_are_not_rewound_or_deleted_as_what_they_are_not(cluster: FakeCluster) -> None:
    done = run(cluster, "groups rewind shared --to earliest --topic t --yes")
    assert done.code == 7
    assert "share" in done.err


# --- what a broker does not serve, and what fails --------------------------------------------------------------------


def test_a_broker_without_these_requests_is_named_as_the_reason(cluster: FakeCluster) -> None:
    for api in (ShareGroupDescribeRequest, StreamsGroupDescribeRequest, DescribeShareGroupOffsetsRequest):
        cluster.hide(api)
    for line in ("groups lag", "groups list --with-lag"):
        done = run(cluster, f"{line} -o json")
        assert done.code == 6
        lags = {row["group"]: row["lag_records"] for row in done.items}
        missing = {part["what"]: part["why"] for part in document(done)["missing"]}
        assert lags["app"] == 6
        for name in ("shared", "idle-share"):
            assert lags.get(name) is None
            assert "does not offer DescribeShareGroupOffsets" in missing[f"group {name}"]
    described = run(cluster, "groups describe app shared -o json")
    assert described.code == 6
    assert [one["members"] for one in described.items] == [None, None]
    assert {part["what"] for part in document(described)["missing"]} == {"group app", "group shared"}
    named = run(cluster, "groups lag shared -o json")
    assert named.code != 0
    assert "does not offer ShareGroupDescribe" in document(named)["missing"][0]["why"]


def test_members_that_a_broker_does_not_describe_are_missing_and_the_lag_is_not(cluster: FakeCluster) -> None:
    cluster.hide(ShareGroupDescribeRequest)
    cluster.hide(StreamsGroupDescribeRequest)
    done = run(cluster, "groups lag --by member -o json")
    assert done.code == 6
    assert {row["group"] for row in done.items} == NAMES
    assert {part["what"] for part in document(done)["missing"]} == {
        "members of group app", "members of group shared", "members of group idle-share"
    }  # fmt: skip


def test_a_version_of_early_access_is_no_version(cluster: FakeCluster) -> None:
    cluster.cap_versions({ShareGroupDescribeRequest: 0})
    done = run(cluster, "groups describe shared -o json")
    assert done.code != 0
    assert "kcli share no version of ShareGroupDescribe" in document(done)["missing"][0]["why"]


def test_without_a_reported_lag_it_is_unknown_and_never_zero(cluster: FakeCluster) -> None:
    cluster.cap_versions({DescribeShareGroupOffsetsRequest: 0})
    rows = run(cluster, "groups lag shared -o json").rows
    assert rows[T0]["lag_records"] is None
    assert rows[T0]["note"] == "at most 8 unread, the broker does not report the lag of share groups"
    by_group = {row["group"]: row for row in run(cluster, "groups lag -o json").items}
    assert by_group["shared"]["lag_records"] is None
    assert "does not report the lag" in by_group["shared"]["note"]
    assert run(cluster, "groups lag shared --max-lag 0").code == 0


def test_a_partition_whose_state_cannot_be_read_is_missing(cluster: FakeCluster) -> None:
    cluster.add_group(
        ShareGroup(
            "shared", {T0: SharePlace(2), T1: SharePlace(4, code=Code.UNKNOWN_SERVER_ERROR)}, {"a": [T0, T1]}
        )
    )
    done = run(cluster, "groups lag shared -o json")
    assert done.code == 6
    assert (done.rows[T0]["lag_records"], done.rows[T1]["lag_records"]) == (8, None)
    assert done.rows[T1]["verdict"] == "unread"
    assert [part["what"] for part in document(done)["missing"]] == ["the commit of t-1 of group shared"]


def test_the_error_of_one_group_is_no_error_of_others(cluster: FakeCluster) -> None:
    cluster.fail(DescribeShareGroupOffsetsRequest, Code.GROUP_AUTHORIZATION_FAILED, where="shared", times=9)
    done = run(cluster, "groups lag -o json")
    assert done.code == 6
    assert {row["group"] for row in done.items} == NAMES - {"shared"}
    assert [part["what"] for part in document(done)["missing"]] == ["group shared"]


def test_groups_whose_coordinator_is_offline_are_missing_by_name() -> None:
    with made(3) as cluster:
        cluster.move_coordinator("group", "shared", -1)
        cluster.move_coordinator("group", "app", -1)
        done = run(cluster, "groups lag shared app idle-share -o json")
        assert done.code == 6
        assert {row["group"] for row in done.items} == {"idle-share"}
        assert {part["what"] for part in document(done)["missing"]} == {"group shared", "group app"}


def test_a_recording_shows_the_same(cluster: FakeCluster, tmp_path: Path) -> None:
    file = str(tmp_path / "record")
    for line in ("", "--by partition", "--by member"):
        now = run(cluster, f"groups lag {line} --time exact --record {file} -o json")
        then = kcli(*f"groups lag {line} --from-record {file} -o json".split())
        assert [{**row, "at": None} for row in then.items] == [{**row, "at": None} for row in now.items]


def test_what_a_recording_lacks_is_missing_when_it_is_played(cluster: FakeCluster, tmp_path: Path) -> None:
    file = str(tmp_path / "record")
    cluster.hide(StreamsGroupDescribeRequest)
    run(cluster, f"groups lag --by member --record {file}")
    then = kcli(*f"groups lag --from-record {file} -o json".split())
    assert then.code == 6
    assert [part["what"] for part in document(then)["missing"]] == ["members of group app"]


def document(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found
