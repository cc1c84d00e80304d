"""``kcli groups reset-app``: what is planned, in which order it is done, and what becomes of it when something fails."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.protocol.messages.delete_topics import DeleteTopicsRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.groups.other_groups import ShareGroup, SharePlace, StreamsGroup, StreamsMember
from tests.fake.raw_client import batch
from tests.run import Done, kcli

CHANGELOG, REPARTITION = "app-counts-changelog", "app-words-repartition"
INTERNAL = {CHANGELOG, REPARTITION}
TOPICS = {"lines": 2, "more": 1, "through": 1, CHANGELOG: 2, REPARTITION: 2}
STREAM_TIME = "AgAAAaInKeHU"
COMMITS = {
    TopicPartition("lines", 0): 7,
    TopicPartition("lines", 1): 10,
    TopicPartition(REPARTITION, 0): 4,
}
KINDS = pytest.mark.parametrize("kind", ["streams", "classic"])


def app(**more: Any) -> StreamsGroup:
    return StreamsGroup(
        "app",
        {"0": ["lines"], "1": []},
        repartition={"1": [REPARTITION]},
        changelogs={"1": [CHANGELOG]},
        **more,
    )


def made(
    kind: str = "streams",
    more: Mapping[str, int] = {},
    nodes: int = 1,
) -> FakeCluster:
    """Ten records in each partition of ``lines``, three in ``through`` and in each internal partition."""
    cluster = FakeCluster(nodes, topics={**TOPICS, **more})
    for number in range(2):
        cluster.append("lines", number, batch(*[b"v"] * 10))
        cluster.append(CHANGELOG, number, batch(*[b"v"] * 3))
    cluster.append("through", 0, batch(*[b"v"] * 3))
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.commit_offsets({"app": {tp: OffsetAndMetadata(at, STREAM_TIME) for tp, at in COMMITS.items()}})
    if kind == "streams":
        cluster.with_groups(lambda groups: groups._do.registry.drop("app"))
        cluster.add_group(app())
    return cluster


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with made() as cluster:
        yield cluster


def run(cluster: FakeCluster, line: str, code: int = 0) -> Done:
    done = kcli("--timeout", "2", "groups", *line.split(), "-o", "json", bootstrap=cluster.bootstrap)
    assert done.code == code, done.err
    return done


def topics(cluster: FakeCluster) -> set[str]:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        return {topic.name for topic in admin.list_topics()}


def offsets(cluster: FakeCluster) -> dict[tuple[str, int], tuple[int, str]]:
    found = cluster.with_groups(lambda groups: dict(groups.committed("app")))
    return {(tp.topic, tp.partition): (one.offset, one.metadata) for tp, one in found.items()}


def rows(done: Done) -> dict[tuple[str, int | None], dict[str, Any]]:
    return {(row["topic"], row["partition"]): row for row in json.loads(done.stdout)["items"]}


def statuses(done: Done) -> dict[tuple[str, int | None], str]:
    return {key: row["status"] for key, row in rows(done).items()}


# --- what is done ----------------------------------------------------------------------------------------------------


@KINDS
def test_offsets_are_set_and_internal_topics_deleted(kind: str) -> None:
    with made(kind) as cluster:
        done = run(cluster, "reset-app app --yes")
        keys = "committed", "new", "found", "records", "status", "action"
        assert {key: tuple(row[one] for one in keys) for key, row in rows(done).items()} == {
            ("lines", 0): (7, 0, 0, 7, "done", "commit"),
            ("lines", 1): (10, 0, 0, 10, "done", "commit"),
            (CHANGELOG, None): (None, None, None, 6, "done", "delete_topic"),
            (REPARTITION, None): (None, None, None, 0, "done", "delete_topic"),
        }
        assert not topics(cluster) & INTERNAL
        undo = rows(done)["lines", 0]["undo"]
        marked = f"kcli-rewind={undo}"
        assert offsets(cluster) == {("lines", 0): (0, marked), ("lines", 1): (0, marked)}


def test_the_metadata_of_old_commits_goes_although_the_offset_stays(cluster: FakeCluster) -> None:
    """Kafka Streams has the stream time in it, from which a new application would be late."""
    run(cluster, "reset-app app --to current --yes")
    assert {offset for offset, _ in offsets(cluster).values()} == {7, 10}
    assert STREAM_TIME not in {metadata for _, metadata in offsets(cluster).values()}


def test_the_undo_restores_offsets_and_metadata(cluster: FakeCluster) -> None:
    undo = rows(run(cluster, "reset-app app --yes"))["lines", 0]["undo"]
    run(cluster, f"rewind app --undo={undo} --yes")
    assert offsets(cluster) == {("lines", 0): (7, STREAM_TIME), ("lines", 1): (10, STREAM_TIME)}


def test_a_dry_run_changes_nothing(cluster: FakeCluster) -> None:
    done = run(cluster, "reset-app app --dry-run")
    assert set(statuses(done).values()) == {"planned"}
    assert topics(cluster) >= INTERNAL
    assert offsets(cluster)["lines", 0] == (7, STREAM_TIME)
    assert not cluster.seen(OffsetCommitRequest)[1:]  # the first one has made the group
    assert not cluster.seen(DeleteTopicsRequest)


def test_the_plan_says_what_cannot_be_undone(cluster: FakeCluster) -> None:
    done = kcli("groups", "reset-app", "app", "--dry-run", bootstrap=cluster.bootstrap)
    text = " ".join(done.out.split())
    assert (
        "2 internal topics will be deleted, with up to 6 records. That cannot be undone; the offsets can."
        in text
    )
    assert "delete state.dir of each instance" in text
    assert "kcli groups rewind app --undo" in text


def test_its_name_has_to_be_typed(cluster: FakeCluster) -> None:
    assert run(cluster, "reset-app app", code=2).stdout == b""
    run(cluster, "reset-app app --confirm other", code=2)
    assert topics(cluster) >= INTERNAL
    run(cluster, "reset-app app --confirm app")
    assert not topics(cluster) & INTERNAL


# --- which topics ----------------------------------------------------------------------------------------------------


def test_inputs_may_be_named_by_partition(cluster: FakeCluster) -> None:
    done = run(cluster, "reset-app app --input-topic lines:1 --input-topic more --to latest --yes")
    assert {key: row["new"] for key, row in rows(done).items() if key[1] is not None} == {
        ("lines", 1): 10,
        ("more", 0): 0,
    }
    assert offsets(cluster)["lines", 0] == (7, STREAM_TIME)


def test_an_intermediate_topic_is_skipped_to_its_end(cluster: FakeCluster) -> None:
    done = run(cluster, "reset-app app --intermediate-topic through --yes")
    assert rows(done)["through", 0]["new"] == 3
    assert rows(done)["lines", 0]["new"] == 0


def test_offsets_from_a_file(cluster: FakeCluster, tmp_path: Any) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("lines,0,5\n")
    done = run(cluster, f"reset-app app --from-file {file} --yes")
    assert {key: row["new"] for key, row in rows(done).items() if key[1] is not None} == {("lines", 0): 5}


def test_a_shift_concerns_partitions_with_a_commit(cluster: FakeCluster) -> None:
    cluster.add_group(app())
    done = run(cluster, "reset-app app --to -2 --yes")
    assert {key: row["new"] for key, row in rows(done).items() if key[1] is not None} == {
        ("lines", 0): 5,
        ("lines", 1): 8,
    }


def test_only_the_internal_topics_that_are_named_are_deleted(cluster: FakeCluster) -> None:
    done = run(cluster, f"reset-app app --internal-topic {CHANGELOG} --yes")
    assert (CHANGELOG, None) in rows(done)
    assert topics(cluster) & INTERNAL == {REPARTITION}
    assert f"{REPARTITION} stays" in done.err


def test_a_topic_that_is_not_internal_is_refused_and_nothing_done(cluster: FakeCluster) -> None:
    done = run(cluster, "reset-app app --internal-topic lines --yes", code=7)
    assert set(statuses(done).values()) == {"refused"}
    assert "lines is no internal topic of app" in done.err
    assert topics(cluster) >= INTERNAL
    assert offsets(cluster)["lines", 0] == (7, STREAM_TIME)


def test_a_topic_that_is_not_in_the_topology_stays() -> None:
    with made(more={"app-old-changelog": 1, "app-2-x-changelog": 1}) as cluster:
        done = run(cluster, "reset-app app --yes")
        assert topics(cluster) >= {"app-old-changelog", "app-2-x-changelog"}
        assert "topic app-old-changelog stays: it is not in the topology of app" in done.err


def test_without_a_topology_a_name_that_fits_another_group_is_refused() -> None:
    alike = "app-2-x-changelog"
    with made("classic", more={alike: 1}) as cluster:
        with Admin(bootstrap_servers=cluster.bootstrap) as admin:
            admin.commit_offsets({"app-2": {TopicPartition("more", 0): OffsetAndMetadata(0)}})
        done = run(cluster, "reset-app app --yes", code=7)
        assert set(statuses(done).values()) == {"refused"}
        words = f"kcli groups reset-app app --internal-topic {CHANGELOG} --internal-topic {REPARTITION}"
        assert f"`{words}`" in done.err
        assert "group app-2" in done.err
        assert topics(cluster) >= {alike, *INTERNAL}
        run(cluster, words.removeprefix("kcli groups ") + " --yes")
        assert topics(cluster) & {alike, *INTERNAL} == {alike}


def test_the_topology_of_the_other_group_settles_whose_topic_it_is() -> None:
    alike = "app-2-x-changelog"
    with made("classic", more={alike: 1}) as cluster:
        cluster.add_group(StreamsGroup("app-2", {"0": ["more"]}, changelogs={"0": [alike]}))
        done = run(cluster, "reset-app app --yes")
        assert topics(cluster) & {alike, *INTERNAL} == {alike}
        assert f"topic {alike} stays: it is in the topology of group app-2" in done.err


def test_where_the_coordinator_does_not_know_the_topology_names_decide() -> None:
    with made() as cluster:
        cluster.add_group(app(unknown=True))
        run(cluster, "reset-app app --yes")
        assert not topics(cluster) & INTERNAL
        assert {offset for offset, _ in offsets(cluster).values()} == {0}


def test_names_do_not_decide_while_groups_cannot_be_listed() -> None:
    """One of them may be that of another application."""
    with made("classic", nodes=2) as cluster:
        here = cluster.coordinator("group", "app")
        cluster.fail(ListGroupsRequest, Code.COORDINATOR_NOT_AVAILABLE, times=99, node=3 - here)
        done = run(cluster, "reset-app app --yes", code=7)
        assert set(statuses(done).values()) == {"refused"}
        assert "not all groups could be listed" in done.err
        assert topics(cluster) >= INTERNAL
        cluster.with_groups(lambda groups: groups._do.registry.drop("app"))
        cluster.add_group(app())
        run(cluster, "reset-app app --yes")


def test_an_application_without_a_group_has_its_topics_deleted() -> None:
    with made("classic") as cluster:
        cluster.with_groups(lambda groups: groups._do.deletions.delete_group("app"))
        done = run(cluster, "reset-app app --yes")
        assert statuses(done) == {(CHANGELOG, None): "done", (REPARTITION, None): "done"}


def test_an_application_that_does_not_exist(cluster: FakeCluster) -> None:
    done = run(cluster, "reset-app ap --yes", code=1)
    assert "did you mean app" in done.err


# --- never live ------------------------------------------------------------------------------------------------------


def test_an_application_that_runs_is_refused(cluster: FakeCluster) -> None:
    cluster.add_group(app(members={"m": StreamsMember({"0": [0, 1]})}))
    for end in ("--dry-run", "--yes"):
        done = run(cluster, f"reset-app app {end}", code=7)
        assert set(statuses(done).values()) == {"refused"}
        assert "client-m at 127.0.0.1" in done.err
        assert "kcli groups remove-members app" in done.err
    assert topics(cluster) >= INTERNAL


def test_its_members_may_be_removed(cluster: FakeCluster) -> None:
    cluster.add_group(app(members={"m": StreamsMember({"0": [0, 1]}), "n": StreamsMember()}))
    done = run(cluster, "remove-members app m --yes")
    assert [(row["member_id"], row["status"]) for row in done.items] == [("m", "done")]
    (seen,) = cluster.seen(StreamsGroupHeartbeatRequest)
    request: Any = seen.request
    assert (request.member_id, request.member_epoch) == ("m", -1)
    run(cluster, "remove-members app --yes")
    run(cluster, "reset-app app --yes")


def test_a_member_that_joins_before_the_commit_has_the_topics_kept(cluster: FakeCluster) -> None:
    """The coordinator refuses the commit; nothing is deleted then."""
    cluster.fail(OffsetCommitRequest, Code.UNKNOWN_MEMBER_ID, times=9)
    done = run(cluster, "reset-app app --yes", code=7)
    assert statuses(done) == {
        ("lines", 0): "failed",
        ("lines", 1): "failed",
        (CHANGELOG, None): "refused",
        (REPARTITION, None): "refused",
    }
    assert topics(cluster) >= INTERNAL


def test_a_member_that_joins_after_the_commit_has_the_topics_kept(cluster: FakeCluster) -> None:
    """The offsets are set by then; the same line finishes it once the member is gone."""

    group = app()
    cluster.add_group(group)

    def joins(_request: Any, _answer: Any) -> None:
        group.members["m"] = StreamsMember({"0": [0, 1]})

    cluster.replace(OffsetCommitRequest, joins, times=1)
    done = run(cluster, "reset-app app --yes", code=7)
    assert statuses(done)[CHANGELOG, None] == "refused"
    assert topics(cluster) >= INTERNAL
    cluster.add_group(app())
    again = run(cluster, "reset-app app --yes")
    assert statuses(again)[CHANGELOG, None] == "done"
    assert not topics(cluster) & INTERNAL


# --- faults ----------------------------------------------------------------------------------------------------------


def test_a_partition_that_cannot_be_planned_has_all_of_it_refused(cluster: FakeCluster) -> None:
    cluster.fail(ListOffsetsRequest, Code.TOPIC_AUTHORIZATION_FAILED, where="lines", times=99)
    done = run(cluster, "reset-app app --yes", code=4)
    assert set(statuses(done).values()) == {"refused"}
    assert topics(cluster) >= INTERNAL
    assert offsets(cluster)["lines", 0] == (7, STREAM_TIME)


def test_a_topic_that_is_not_deleted_is_finished_by_the_same_line(cluster: FakeCluster) -> None:
    rule = cluster.fail(DeleteTopicsRequest, Code.TOPIC_DELETION_DISABLED, where=CHANGELOG, times=99)
    done = run(cluster, "reset-app app --yes", code=6)
    assert statuses(done) == {
        ("lines", 0): "done",
        ("lines", 1): "done",
        (CHANGELOG, None): "failed",
        (REPARTITION, None): "done",
    }
    rule.remove()
    again = run(cluster, "reset-app app --yes")
    assert statuses(again) == {
        ("lines", 0): "unchanged",
        ("lines", 1): "unchanged",
        (CHANGELOG, None): "done",
    }


def test_named_topics_that_are_gone_are_as_requested(cluster: FakeCluster) -> None:
    line = f"reset-app app --internal-topic {CHANGELOG} --internal-topic {REPARTITION} --yes"
    run(cluster, line)
    again = run(cluster, line)
    assert set(statuses(again).values()) == {"unchanged"}


def test_a_lost_answer_is_settled_by_what_is_read_back(cluster: FakeCluster) -> None:
    cluster.swallow(DeleteTopicsRequest)
    done = run(cluster, "reset-app app --yes")
    assert statuses(done)[CHANGELOG, None] == "done"
    assert not topics(cluster) & INTERNAL


# --- other verbs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [{}, {"m": StreamsMember({"0": [0, 1]})}], ids=["stopped", "running"])
def test_offsets_of_inputs_are_not_changed_alone(
    cluster: FakeCluster, tmp_path: Any, members: dict[str, StreamsMember]
) -> None:
    """Nor is anybody told to stop an application, or waited for, where that would not help."""
    cluster.add_group(app(members=members))
    file = tmp_path / "offsets.csv"
    file.write_text("lines,0,5\n")
    for line in (
        "rewind app --topic lines --to earliest",
        "rewind app --topic lines --to earliest --wait",
        "rewind app --topic lines --to earliest --live",
        "delete-offsets app -t lines",
        f"import {file} --group app",
    ):
        for end in ("--dry-run", "--yes"):
            done = run(cluster, f"{line} {end}", code=7)
            assert "kcli groups reset-app app" in done.err
            assert CHANGELOG in done.err
            assert "stop" not in done.err
            assert "waiting" not in done.err
    type_remedy(
        "`kcli groups reset-app app` sets the offsets of its inputs, and deletes these topics",
        done.err,
        cluster.bootstrap,
        then="7" if members else "0",
    )
    assert offsets(cluster)["lines", 0] == (7, STREAM_TIME)


def test_a_share_group_is_no_application(cluster: FakeCluster) -> None:
    cluster.add_group(ShareGroup("queue", {TopicPartition("lines", 0): SharePlace(5)}))
    done = run(cluster, "reset-app queue --yes", code=7)
    type_remedy("`kcli groups rewind queue --to SPEC` sets its start offsets", done.err, cluster.bootstrap)


def test_without_internal_topics_inputs_are_rewound_without_the_stream_time() -> None:
    with made() as cluster:
        cluster.add_group(StreamsGroup("app", {"0": ["lines"]}))
        with Admin(bootstrap_servers=cluster.bootstrap) as admin:
            admin.delete_topics(list(INTERNAL))
        run(cluster, "rewind app --topic lines --to earliest --yes")
        assert {offset for offset, _ in offsets(cluster).values()} == {0}
        run(cluster, "rewind app --undo --yes")
        assert offsets(cluster) == {("lines", 0): (7, STREAM_TIME), ("lines", 1): (10, STREAM_TIME)}
        run(cluster, "delete-offsets app -t lines:0 --yes")
        assert offsets(cluster) == {("lines", 1): (10, STREAM_TIME)}


def test_a_streams_group_that_runs_is_not_rewound_live(cluster: FakeCluster) -> None:
    """One without internal topics, which is rewound when it has stopped."""
    cluster.add_group(StreamsGroup("app", {"0": ["lines"]}, {"m": StreamsMember({"0": [0, 1]})}))
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.delete_topics(list(INTERNAL))
    refused = run(cluster, "rewind app --topic lines --to earliest --live --yes", code=7).err
    type_remedy("stop it; `kcli groups reset-app app` resets both", refused, cluster.bootstrap, then="7")
    refused = run(cluster, "rewind app --topic lines --to earliest --yes", code=7).err
    assert "--live" not in refused


def test_a_streams_group_is_deleted_and_its_offsets_restored(cluster: FakeCluster) -> None:
    done = run(cluster, "delete app --yes")
    assert [(row["type"], row["committed_offsets"], row["status"]) for row in done.items] == [
        ("streams", 3, "done")
    ]
    assert topics(cluster) >= INTERNAL
    undo = json.loads(done.stdout)["undo"]
    assert kcli("undo", undo, "--yes", bootstrap=cluster.bootstrap).code == 0
    assert offsets(cluster)["lines", 0] == (7, STREAM_TIME)


# --- describe --------------------------------------------------------------------------------------------------------


def test_topology_and_tasks_are_described(cluster: FakeCluster) -> None:
    tasks = StreamsMember({"0": [0], "1": [0]}, {"1": [1]}, {"0": [1]})
    cluster.add_group(app(members={"m": tasks}))
    (item,) = run(cluster, "describe app").items
    assert item["subtopologies"][1] == {
        "subtopology": "1",
        "source_topics": [],
        "repartition_source_topics": [REPARTITION],
        "repartition_sink_topics": [REPARTITION],
        "changelog_topics": [CHANGELOG],
    }
    assert [(one["task"], one["role"], one["lag_records"]) for one in item["tasks"]] == [
        ("0_0", "active", 3),
        ("0_1", "warmup", None),
        ("1_0", "active", -4),
        ("1_1", "standby", None),
    ]
    assert item["members"][0]["process_id"] == "process-m"
    for form in ("table", "plain", "csv", "tsv", "wide"):
        for flag in ("--tasks", "--topology"):
            done = kcli("groups", "describe", "app", flag, "-o", form, bootstrap=cluster.bootstrap)
            assert done.code == 0
            assert (CHANGELOG if flag == "--topology" else "0_1") in done.out


def test_what_has_no_topology_says_so(cluster: FakeCluster) -> None:
    cluster.add_group(app(unknown=True))
    done = run(cluster, "describe app --topology")
    assert done.items[0]["subtopologies"] is None
    text = kcli("groups", "describe", "app", "--topology", bootstrap=cluster.bootstrap).err
    assert "not known to its coordinator" in text
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.commit_offsets({"g": {TopicPartition("more", 0): OffsetAndMetadata(0)}})
    text = kcli("groups", "describe", "g", "--tasks", bootstrap=cluster.bootstrap).err
    assert "group g has no tasks: it is a classic group" in text
