"""``kcli groups rewind`` as a process against the fake cluster: plan, journal, commits, and how it ends."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, ProducerRecord, Record, TopicPartition
from tests.batches import batch_of
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import MINUTE, STAMP, Kcli, commit, committed, offsets, put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.groups.other_groups import StreamsGroup
from tests.fake.knobs import Hold
from tests.fake.script import FOREVER
from tests.run import KCLI, run

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
OLD = {T0: OffsetAndMetadata(20, "by hand", 0), T1: OffsetAndMetadata(15), T2: OffsetAndMetadata(20, "", 0)}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 3, "u": 1}) as made:
        for partition in range(3):
            put(made, "t", partition)
        put(made, "u", 0)
        commit(made, "g", OLD)
        yield made


@pytest.fixture
def rewind(cluster: FakeCluster, tmp_path: Path) -> Kcli:
    return Kcli(cluster, tmp_path / "state", "groups", "rewind")


def plain(request: OffsetFetchRequest) -> bool:
    """Not one that looks for open transactions."""
    return not request.require_stable


# --- the plan ----------------------------------------------------------------------------------------


def test_the_dry_run_prints_the_plan_and_changes_nothing(cluster: FakeCluster, rewind: Kcli) -> None:
    when = f"@{STAMP + 5 * MINUTE}"
    done = rewind("g", "--to", when, "--dry-run")
    lines = done.out.splitlines()
    assert lines[0].startswith("Rewind group g on 127.0.0.1:")
    assert lines[1] == "  to: 2023-11-14T22:18:20Z (2023-11-14 23:18:20 +01:00)".replace(
        "2023-11-14 23", "23"
    )
    assert lines[2].split() == [
        "TOPIC",
        "PART",
        "COMMITTED",
        "→",
        "NEW",
        "CHANGE",
        "RECORDS",
        "RE-READ",
        "NOTE",
    ]
    assert [line.split() for line in lines[3:6]] == [
        ["t", "0", "20", "→", "5", "−15", "15"],
        ["t", "1", "15", "→", "5", "−10", "10"],
        ["t", "2", "20", "→", "5", "−15", "15"],
    ]
    assert lines[6] == "  3 partitions, at most 40 records will be read again (14m of data)."
    assert lines[7] == "Group state: Empty. Undo afterwards with: kcli groups rewind g --undo"
    assert not rewind.journals()
    assert not cluster.seen(JoinGroupRequest)
    assert len(cluster.seen(OffsetCommitRequest)) == 1  # the fixture's
    assert offsets(cluster) == [20, 15, 20]


def test_the_plan_for_programs(rewind: Kcli) -> None:
    first = rewind.items("g", "--to", "-16", "--dry-run")[1]
    assert first == {
        "group": "g", "topic": "t", "partition": 1, "committed": 15, "new": 0, "change": -15, "records": 15,
        "note": "clamped to log start", "action": "commit", "span_seconds": 840.0, "status": "planned",
    }  # fmt: skip


@pytest.mark.case("C18")
def test_without_a_terminal_and_without_yes_the_plan_is_shown_and_nothing_done(
    cluster: FakeCluster, rewind: Kcli
) -> None:
    """"""
    done = rewind("g", "--to", "earliest", code=2)
    assert done.out == ""
    assert "Rewind group g" in done.err
    assert "confirmation required, and there is no terminal: Proceed?" in done.err
    assert offsets(cluster) == [20, 15, 20]
    planned = rewind.items("g", "--to", "earliest", "--dry-run")
    reported = rewind.items("g", "--to", "earliest", "--yes")
    keys = ("topic", "partition", "committed", "new")
    assert [[row[key] for key in keys] for row in planned] == [[row[key] for key in keys] for row in reported]
    assert offsets(cluster) == [0, 0, 0]


@pytest.mark.case("X25")
def test_a_rewind_is_journalled_read_back_and_undone_and_redone(cluster: FakeCluster, rewind: Kcli) -> None:
    before = committed(cluster)
    done = rewind("g", "--to", "earliest", "--yes")
    assert [line.split()[-1] for line in done.out.splitlines()[1:]] == ["-"] * 3
    assert "group g: 3 partitions set and read back; undo with: kcli groups rewind g --undo=" in done.err
    (journal,) = rewind.journals()
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.parent.stat().st_mode) == 0o700
    assert committed(cluster)[T0] == OffsetAndMetadata(0, "by hand", 0)
    rewind("g", "--undo", "--yes")
    assert committed(cluster) == before
    rewind("g", "--undo", "--yes")
    assert offsets(cluster) == [0, 0, 0]
    rewind("g", f"--undo={journal.stem}", "--yes")
    assert committed(cluster) == before
    listed = rewind.items("--journal")
    assert [row["undoes"] for row in listed] == [None, listed[0]["id"], listed[1]["id"], listed[0]["id"]]
    assert listed[0]["offsets"][0] == {
        "topic": "t", "partition": 0, "committed": 20, "leader_epoch": 0, "metadata": "by hand", "new": 0,
        "status": None,
    }  # fmt: skip


def test_undo_deletes_commits_that_were_not_there(cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "h", {T0: OffsetAndMetadata(3)})
    rows = rewind.items("h", "--to", "latest", "--yes")
    assert [row["note"] for row in rows] == [None, "no commit before", "no commit before"]
    assert offsets(cluster, "h") == [20, 20, 20]
    done = rewind("h", "--undo", "--yes")
    assert "The commits of 2 partitions will be deleted." in done.err
    assert committed(cluster, "h") == {T0: OffsetAndMetadata(3)}
    rewind("h", "--undo", "--yes")
    assert offsets(cluster, "h") == [20, 20, 20]


def test_what_has_no_commit_as_before_is_undone_although_the_topic_is_gone(
    cluster: FakeCluster, rewind: Kcli
) -> None:
    commit(cluster, "h", {TopicPartition("u", 0): OffsetAndMetadata(0)})
    rewind("h", "--to", "latest", "--topic", "t", "--yes")
    (journal,) = rewind.journals()
    cluster.delete_topic("t")
    rows = rewind.items("h", f"--undo={journal.stem}", "--yes")
    assert [(row["status"], row["note"]) for row in rows] == [("unchanged", "had no commit")] * 3


def test_undo_reverts_the_last_commit_of_a_group_and_redo_restores_it(
    cluster: FakeCluster, rewind: Kcli
) -> None:
    """Coordinators before 4.0 drop a group with its last offset."""
    member(cluster, "new").close()
    rewind("new", "--to", "earliest", "--topic", "t", "--yes")
    assert offsets(cluster, "new") == [0, 0, 0]
    rewind("new", "--undo", "--yes")
    assert offsets(cluster, "new") == []
    rewind("new", "--undo", "--yes")
    assert offsets(cluster, "new") == [0, 0, 0]


def test_undo_of_what_is_not_there_is_1_and_of_another_group_2(cluster: FakeCluster, rewind: Kcli) -> None:
    assert "no rewind of group g" in rewind("g", "--undo", code=1).err
    rewind("g", "--to", "earliest", "--yes")
    (journal,) = rewind.journals()
    said = rewind("u", f"--undo={journal.stem}", code=2).err
    assert "is of group g" in said
    unjudged = rewind("g", f"--check={journal.stem}", code=7).err
    type_remedy("see what is committed now: `kcli groups describe g --offsets`", unjudged, cluster.bootstrap)
    type_remedy(
        f"`kcli groups rewind g --undo={journal.stem}`", said, cluster.bootstrap, state=str(rewind.state)
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--to", "earliest"), [0, 0, 0]),
        (("--to-latest",), [20, 20, 20]),
        (("--to", "current"), [20, 15, 20]),
        (("--to-offset", "7"), [7, 7, 7]),
        (("--to", "7"), [7, 7, 7]),
        (("--shift-by", "-4"), [16, 11, 16]),
        (("--to", "-4"), [16, 11, 16]),
        (("--to", "+4"), [20, 19, 20]),
        (("--to-datetime", "2023-11-14T22:18:20.000"), [5, 5, 5]),
        (("--to", "2023-11-14T22:18:20Z"), [5, 5, 5]),
        (("--to", "2023-11-14T22:18:20.001Z"), [6, 6, 6]),
        (("--by-duration", "P7DT0H0M0S"), [20, 20, 20]),
        (("--to", "3h"), [20, 20, 20]),
        (("--to-earliest", "--topic", "t:0,2"), [0, 15, 0]),
    ],
)
def test_targets(arguments: tuple[str, ...], expected: list[int], cluster: FakeCluster, rewind: Kcli) -> None:
    rewind("g", *arguments, "--reset-offsets", "--execute")
    assert offsets(cluster) == expected


def test_to_another_groups_offsets_and_those_of_a_file(
    cluster: FakeCluster, rewind: Kcli, tmp_path: Path
) -> None:
    commit(
        cluster,
        "other",
        {T0: OffsetAndMetadata(2), T1: OffsetAndMetadata(3), TopicPartition("u", 0): OLD[T1]},
    )
    rewind("g", "--to-group", "other", "--topic", "t", "--yes")
    assert offsets(cluster) == [2, 3, 20]
    file = tmp_path / "offsets.csv"
    file.write_text("topic,partition,offset\nt,0,9\nt,2,99\n")
    rows = rewind.items("g", "--from-file", str(file), "--execute")
    assert [(row["new"], row["note"]) for row in rows] == [(9, None), (20, "clamped to log end")]
    assert offsets(cluster) == [9, 3, 20]
    exported = rewind("g", "other", "--to", "earliest", "--topic", "t:0", "--export").out
    assert exported == "g,t,0,0\nother,t,0,0\n"
    assert offsets(cluster) == [9, 3, 20]
    file.write_text(exported)
    rewind("g", "other", "--from-file", str(file), "--yes")
    assert (offsets(cluster), offsets(cluster, "other")) == ([0, 3, 20], [0, 3, 15])


def test_topics_must_be_named_where_there_are_several(cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "g", {TopicPartition("u", 0): OffsetAndMetadata(5)})
    assert "it has committed offsets of t, u" in rewind("g", "--to", "earliest", "--yes", code=2).err
    done = rewind("g", "--to", "earliest", "--topic", "u", "--yes")
    assert "Other topics of the group: untouched (1)." in done.err
    rewind("g", "--to", "7", "--exclude-topic", "u", "--yes")
    assert offsets(cluster) == [7, 7, 7, 0]
    rewind("g", "--to", "8", "--all-topics", "--yes")
    assert offsets(cluster) == [8, 8, 8, 8]
    done = rewind("g", "--to", "9", "--exclude-topic", "uu", "--yes", code=1)
    assert "--exclude-topic uu excludes nothing" in done.err
    assert offsets(cluster) == [8, 8, 8, 8]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("g",), "no target given"),
        (("g", "--to", "earliest", "--undo"), "more than one target given"),
        (("--to", "earliest"), "missing argument GROUP"),
        (("g", "--to", "sometime"), "is not a target"),
        (("g", "--to", "2023-11-14T22:18"), "has no time zone"),
        (("g", "--to", "10:30", "--dry-run"), "has no time zone"),
        (("g", "--to", "1", "--topic", "t:x"), "--topic is not understood"),
        (("g", "--to", "1", "--topic", "t", "--all-topics"), "cannot be used together"),
        (("g", "--from-file", "/no/such/file"), "cannot read /no/such/file"),
        (("g", "--to", "1", "--live", "--wait"), "cannot be used together"),
        (("g", "--to", "1", "--hold=61s"), "is not between 0 and 60 s"),
        (("g", "--to", "1", "--hold=x"), "is not a duration"),
        (("",), "the group name is empty"),
        (("--journal", "--to", "1"), "--journal with --to"),
        (("--journal", "--export", "--execute"), "--journal with --export, --execute"),
        (("--to", "1", "--journal", "--all-groups"), "--journal with --to, --all-groups"),
        (("--journal", "--topic", "t"), "--journal with --topic"),
        (("--journal", "--undo"), "--journal with --undo"),
    ],
)
def test_usage(arguments: tuple[str, ...], said: str, rewind: Kcli) -> None:
    assert said in rewind(*arguments, code=2).err


def test_what_does_not_exist(cluster: FakeCluster, rewind: Kcli) -> None:
    assert "group nobody does not exist" in rewind("nobody", "--to", "1", "--topic", "t", "--yes", code=1).err
    rewind("nobody", "g", "--to", "1", "--yes", code=6)
    assert offsets(cluster) == [1, 1, 1]
    assert "topic x does not exist" in rewind("g", "--to", "1", "--topic", "x", "--yes", code=1).err
    rows = rewind.items("g", "--to", "2", "--topic", "t:2-3", "--yes", code=6)
    assert [(row["status"], row["note"]) for row in rows] == [
        ("done", None),
        ("refused", "topic t has no partition 3: the topic has 3 partitions, numbered from 0"),
    ]
    assert offsets(cluster) == [1, 1, 2]
    done = rewind("g", "--to", "2", "--topic", "t:3", "--yes", code=1)
    assert "refused: the topic has 3 partitions, numbered from 0" in done.err
    assert "kcli: topic t has no partition 3\n" in done.err
    rewind("g", "--to", "2", "--topic", "t:3", "--dry-run", code=1)
    assert (
        "kcli: t-3 and 1 more do not exist\n"
        in rewind("g", "--to", "2", "--topic", "t:3-4", "--yes", code=1).err
    )


def test_a_partition_without_a_commit_cannot_be_shifted(cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "h", {T0: OffsetAndMetadata(3)})
    assert len(rewind.items("h", "--to", "-1", "--yes")) == 1
    rows = rewind.items("h", "--to", "-1", "--topic", "t", "--yes", code=6)
    assert [row["status"] for row in rows] == ["done", "refused", "refused"]
    assert offsets(cluster, "h") == [1]


# --- groups with members -----------------------------------------------------------------------------


def member(cluster: FakeCluster, group: str = "g") -> Consumer:
    consumer = Consumer(
        bootstrap_servers=cluster.bootstrap, group_id=group, client_id="reader", heartbeat_interval_ms=100,
        enable_auto_commit=False,
    )  # fmt: skip
    consumer.subscribe("t")
    while not consumer.assignment:
        consumer.poll(0.2)
    return consumer


def test_a_group_with_members_is_refused_and_they_are_named(cluster: FakeCluster, rewind: Kcli) -> None:
    with member(cluster):
        for extra in ("--dry-run", "--yes"):
            done = rewind("g", "--to", "earliest", extra, code=7)
            assert "Group state: Stable. Refused: " in done.out + done.err
            assert "group g has members (1), it is Stable" in done.err
            assert "reader at 127.0.0.1" in done.err
        assert offsets(cluster) == [20, 15, 20]
        assert not rewind.journals()
        done = rewind("g", "--to", "earliest", "--yes", "--wait=300ms", code=7)
        assert "do: stop its members; or wait longer, as in --wait=1h" in done.err
        assert "waiting until g has no members" in done.err


def test_wait_continues_when_the_last_member_has_left(cluster: FakeCluster, rewind: Kcli) -> None:
    consumer = member(cluster)
    with rewind.start("g", "--to", "earliest", "--yes", "--wait") as process:
        assert process.stderr is not None
        assert "waiting until g has no members" in process.stderr.readline()
        consumer.close()
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert offsets(cluster) == [0, 0, 0]


@pytest.mark.case("O10", "S0-58")
def test_a_group_that_becomes_live_after_the_plan_is_refused(cluster: FakeCluster, rewind: Kcli) -> None:
    """Between the last look at the state and the commit: the broker refuses, and nothing is left behind."""
    hold: Hold = cluster.hold(OffsetCommitRequest)
    with rewind.start("g", "--to", "earliest", "--yes", "-o", "json") as process:
        hold.wait()
        with member(cluster):
            hold.release()
            out, err = process.communicate(timeout=30)
    assert process.returncode == 7
    assert "became live while it was being rewound" in err
    assert [(row["status"], row["reason"]) for row in json.loads(out)["items"]] == [("failed", None)] * 3
    assert offsets(cluster) == [20, 15, 20]
    assert not rewind.journals()


@pytest.mark.case("O10", "X25")
def test_state_is_read_again_before_the_journal(cluster: FakeCluster, rewind: Kcli) -> None:
    """A member that comes between plan and execution."""
    hold: Hold = cluster.hold(OffsetFetchRequest, when=plain)
    with rewind.start("g", "--to", "earliest", "--yes") as process:
        hold.wait()
        with member(cluster):
            hold.release()
            _, err = process.communicate(timeout=30)
    assert process.returncode == 7
    assert "group g has members (1)" in err
    assert len(cluster.seen(OffsetCommitRequest)) == 1
    assert not rewind.journals()


# --- what can happen on the way ----------------------------------------------------------------------


@pytest.mark.case("O15", "X25")
@pytest.mark.parametrize("moment", ["journal written", "after the first commit", "before the read-back"])
def test_a_killed_rewind_can_be_undone_exactly(moment: str, cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "h", {T0: OffsetAndMetadata(3, "x"), T2: OffsetAndMetadata(4)})
    before = committed(cluster), committed(cluster, "h")
    hold = {
        "journal written": lambda: cluster.hold(OffsetCommitRequest),
        "after the first commit": lambda: cluster.hold(OffsetCommitRequest, after=1),
        "before the read-back": lambda: cluster.hold(OffsetFetchRequest, after=4, when=plain),
    }[moment]()
    with rewind.start("g", "h", "--to", "earliest", "--topic", "t", "--yes") as process:
        hold.wait()
        process.send_signal(signal.SIGKILL)
        process.wait(120)
    hold.lose()
    if moment == "before the read-back":
        assert (offsets(cluster), offsets(cluster, "h")) == ([0, 0, 0], [0, 0, 0])
    assert len(rewind.journals()) == 2
    rewind("g", "h", "--undo", "--yes")
    assert (committed(cluster), committed(cluster, "h")) == before


@pytest.mark.case("O16")
def test_of_two_rewinds_at_once_one_wins(cluster: FakeCluster, rewind: Kcli) -> None:
    """The first is held at its read-back: between its look and its commit a slow machine would leave it in doubt."""
    hold: Hold = cluster.hold(OffsetFetchRequest, after=3, when=plain)
    with rewind.start("g", "--to", "earliest", "--yes") as first:
        hold.wait()
        second = rewind("g", "--to", "7", "--yes", code=7)
        assert "another kcli process is rewinding group g" in second.err
        hold.release()
        first.communicate(timeout=30)
    assert first.returncode == 0
    assert offsets(cluster) == [0, 0, 0]
    assert len(rewind.journals()) == 1


@pytest.mark.case("O16")
def test_a_plan_overtaken_by_another_commit_is_not_executed(cluster: FakeCluster, rewind: Kcli) -> None:
    hold: Hold = cluster.hold(OffsetFetchRequest, after=1, when=plain)
    with rewind.start("g", "--to", "earliest", "--yes") as process:
        hold.wait()
        commit(cluster, "g", {T1: OffsetAndMetadata(9)})
        hold.release()
        _, err = process.communicate(timeout=30)
    assert process.returncode == 7
    assert "have changed since the plan was made" in err
    assert "t-1 was at 15, now it is at 9" in err
    assert offsets(cluster) == [20, 9, 20]


@pytest.mark.case("O16")
def test_another_machines_commit_is_seen_by_the_read_back(cluster: FakeCluster, rewind: Kcli) -> None:
    hold: Hold = cluster.hold(OffsetFetchRequest, after=3, when=plain)
    with rewind.start("g", "--to", "earliest", "--yes", "-o", "json") as process:
        hold.wait()
        commit(cluster, "g", {T1: OffsetAndMetadata(9)})
        hold.release()
        out, err = process.communicate(timeout=30)
    assert process.returncode == 7
    assert "1 of 3 partitions of group g were overwritten" in err
    assert [(row["status"], row["reason"], row["found"]) for row in json.loads(out)["items"]] == [
        ("done", None, 0),
        ("failed", "overwritten", 9),
        ("done", None, 0),
    ]


def without_metadata(_request: Any, answer: Any) -> None:
    for topic in [*answer.topics, *(topic for group in answer.groups for topic in group.topics)]:
        for row in topic.partitions:
            row.metadata = ""


@pytest.mark.case("O16", "O17")
def test_a_broker_that_stores_no_metadata_is_not_another_client(cluster: FakeCluster, rewind: Kcli) -> None:
    """As tansu: the offsets are as requested, and there is no mark."""
    cluster.replace(OffsetFetchRequest, without_metadata)
    done = rewind("g", "--to", "earliest", "--yes", "-o", "json")
    assert "overwritten" not in done.err
    assert "group g: the broker keeps no metadata of commits; the offsets are as requested" in done.err
    found = json.loads(done.out)["items"]
    assert [(row["status"], row["found"], row["note"]) for row in found] == [
        ("done", 0, "set, without its metadata")
    ] * 3
    rewind("g", "--undo", "--yes")
    assert offsets(cluster) == [20, 15, 20]


@pytest.mark.case("O17")
def test_metadata_of_an_application_that_is_lost_is_an_error(cluster: FakeCluster, rewind: Kcli) -> None:
    """It was there when the plan was made. The offset is as requested."""

    def after_the_commit(request: Any, answer: Any) -> None:
        if len(cluster.seen(OffsetCommitRequest)) > before:
            without_metadata(request, answer)

    before = len(cluster.seen(OffsetCommitRequest))
    cluster.replace(OffsetFetchRequest, after_the_commit)
    done = rewind("g", "--to", "earliest", "--yes", "-o", "json", code=6)
    assert '"what": "the metadata of 1 commit of group g is lost"' in done.err
    assert [(row["status"], row["reason"]) for row in json.loads(done.out)["items"]] == [
        ("failed", "metadata_lost"), ("done", None), ("done", None),
    ]  # fmt: skip
    assert "the new offset of t-0 as requested, without its metadata" in done.err
    assert "overwritten" not in done.err
    assert offsets(cluster) == [0, 0, 0]


@pytest.mark.case("O17")
def test_metadata_that_the_broker_refuses_fails_its_partition_alone(
    cluster: FakeCluster, rewind: Kcli
) -> None:
    cluster.fail(OffsetCommitRequest, Code.OFFSET_METADATA_TOO_LARGE, where=T0)
    done = rewind("g", "--to", "earliest", "--yes", code=6)
    assert "OFFSET_METADATA_TOO_LARGE" in done.err
    assert "2 partitions set and read back, 1 failed" in done.err
    assert offsets(cluster) == [20, 0, 0]
    rewind("g", "--undo", "--yes")
    assert offsets(cluster) == [20, 15, 20]


@pytest.mark.case("O17")
def test_expired_offsets_are_reported(cluster: FakeCluster, rewind: Kcli) -> None:
    """A partition whose commit is gone has no old offset; those with one are as ever."""
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.delete_offsets({"g": [T1]})
    rows = rewind.items("g", "--to", "3", "--yes")
    assert [(row["committed"], row["note"]) for row in rows] == [
        (20, None),
        (None, "no commit before"),
        (20, None),
    ]


def test_the_report_keeps_the_order_of_the_plan(cluster: FakeCluster, rewind: Kcli) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.delete_offsets({"g": [T0]})
    rows = rewind.items("g", "--to", "-1", "--topic", "t", "--yes", code=6)
    assert [(row["partition"], row["status"]) for row in rows] == [
        (0, "refused"),
        (1, "done"),
        (2, "done"),
    ]


def test_a_full_disk_does_not_hide_how_to_undo_it(cluster: FakeCluster, rewind: Kcli) -> None:
    with open("/dev/full", "wb") as full:
        done = run(
            [*KCLI, "groups", "rewind", "g", "--to", "1", "--yes"],
            stdout=full, stderr=subprocess.PIPE, text=True, env=rewind.environment, timeout=60,
        )  # fmt: skip
    assert done.returncode == 1
    said, error = done.stderr.split("kcli: cannot write output")
    assert "3 partitions set and read back; undo with: kcli groups rewind g --undo=" in said
    assert "No space left" in error
    assert offsets(cluster) == [1, 1, 1]


def test_a_broker_that_is_silent_is_named(cluster: FakeCluster, rewind: Kcli) -> None:
    cluster.drop(OffsetFetchRequest, "silence", times=FOREVER)
    done = rewind("g", "--to", "1", "--yes", "--timeout", "1s", code=3)
    assert f"why: no response from {cluster.bootstrap} (node 1) in time" in done.err
    assert "wait longer with --timeout" in done.err


def test_a_lost_answer_is_no_failure(cluster: FakeCluster, rewind: Kcli) -> None:
    cluster.swallow(OffsetCommitRequest, then="reset")
    rewind("g", "--to", "earliest", "--yes")
    assert offsets(cluster) == [0, 0, 0]


def test_a_journal_that_cannot_be_written_keeps_everything_as_it_is(
    cluster: FakeCluster, rewind: Kcli, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("in the way")
    done = rewind("g", "--to", "earliest", "--yes", code=1)
    assert "cannot create the directory" in done.err
    assert offsets(cluster) == [20, 15, 20]


# --- times and numbers -------------------------------------------------------------------------------


@pytest.mark.case("O8")
def test_a_time_after_the_last_record_goes_to_the_end_and_says_so(cluster: FakeCluster, rewind: Kcli) -> None:
    done = rewind("g", "--to", f"@{STAMP + 60 * MINUTE}", "--dry-run")
    notes = [line.split("   ")[-1].strip() for line in done.out.splitlines()[3:6]]
    assert notes == [
        "no record since; stays at end",
        "no record since; goes to end",
        "no record since; stays at end",
    ]
    assert "RECORDS SKIPPED" in done.out
    assert "at most 5 records will be skipped (4m of data)" in done.out


@pytest.mark.case("O8")
def test_of_equal_timestamps_the_first_offset_counts(cluster: FakeCluster, rewind: Kcli) -> None:
    cluster.create_topic("same", 2)
    for partition, kind in ((0, 0), (1, 1)):
        rows = [Record("same", partition, n, STAMP + n // 5 * 1000, kind, None, b"v", ()) for n in range(20)]
        batches = [rows] if kind == 0 else [rows[at : at + 5] for at in range(0, 20, 5)]
        for one in batches:
            cluster.append("same", partition, bytes(batch_of(one).raw))
    commit(cluster, "e", {TopicPartition("same", n): OffsetAndMetadata(20) for n in range(2)})
    rewind("e", "--to", f"@{STAMP + 1000}", "--yes")
    assert offsets(cluster, "e") == [5, 5]
    rewind("e", "--to", f"@{STAMP + 1001}", "--yes")
    assert offsets(cluster, "e") == [10, 10]


@pytest.mark.case("O9")
def test_a_rewind_by_a_number_counts_offsets_and_says_so(cluster: FakeCluster, rewind: Kcli) -> None:
    """In a compacted log ten offsets back may be one record; what is read again is reported as ``at most``."""
    cluster.create_topic("compacted", 1)
    rows = [Record("compacted", 0, n, STAMP + n * MINUTE, 0, b"k%d" % n, b"v", ()) for n in (0, 5, 19)]
    cluster.append("compacted", 0, bytes(batch_of(rows).raw))
    assert len(cluster.log("compacted", 0).records()) == 3
    commit(cluster, "c", {TopicPartition("compacted", 0): OffsetAndMetadata(20)})
    done = rewind("c", "--to", "-16", "--dry-run")
    assert "  to: 16 offsets back from the commit\n" in done.out
    assert "at most 16 records will be read again (14m of data)" in done.out  # two: 5 and 19
    assert "The change counts offsets, not records." in done.out


@pytest.mark.case("O9")
def test_markers_of_transactions_are_offsets_too(cluster: FakeCluster, rewind: Kcli) -> None:
    cluster.create_topic("paid", 1)
    with Producer(bootstrap_servers=cluster.bootstrap, transactional_id="till") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for number in range(5):
            producer.send(ProducerRecord("paid", b"v", timestamp=STAMP + number * MINUTE))
        producer.commit_transaction()
    commit(cluster, "p", {TopicPartition("paid", 0): OffsetAndMetadata(6)})
    done = rewind("p", "--to", "-6", "--dry-run")
    assert "at most 6 records will be read again (4m of data). The change counts offsets" in done.out


def test_an_interrupted_rewind_reports_how_to_undo_it(cluster: FakeCluster, rewind: Kcli) -> None:
    hold: Hold = cluster.hold(OffsetCommitRequest, at="answer")
    with rewind.start("g", "--to", "earliest", "--yes") as process:
        hold.wait()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    hold.lose()
    assert process.returncode == 130
    (journal,) = rewind.journals()
    assert f"offsets may have been set; undo with: kcli groups rewind g --undo={journal.stem}" in err
    rewind("g", "--undo", "--yes")
    assert offsets(cluster) == [20, 15, 20]


@pytest.mark.case("O1")
def test_offset_deletes_are_made_again_when_the_answer_is_lost(cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "h", {T0: OffsetAndMetadata(3)})
    rewind("h", "--to", "latest", "--yes")
    cluster.swallow(OffsetDeleteRequest, then="reset")
    rewind("h", "--undo", "--yes")
    assert committed(cluster, "h") == {T0: OffsetAndMetadata(3)}


def test_the_confirmation_prompt_follows_the_plan(cluster: FakeCluster, rewind: Kcli) -> None:
    """On a terminal: y/N, and no is nothing done, 1."""
    for answer, code, expected in (("n", 1, [20, 15, 20]), ("y", 0, [0, 0, 0])):
        script = (
            "import os, pty, sys\n"
            f"sys.exit(os.waitstatus_to_exitcode(pty.spawn({[*KCLI, 'groups', 'rewind', 'g', '--to', 'earliest']!r})))"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=rewind.environment,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        shown = b""
        while b"Proceed? [y/N] " not in shown:
            shown += os.read(process.stdout.fileno(), 4096)
        process.stdin.write(answer.encode() + b"\n")
        process.stdin.flush()
        process.communicate(timeout=30)
        assert process.returncode == code
        assert offsets(cluster) == expected


# --- lines of Kafka's own script ---------------------------------------------------------------------


def test_a_line_of_kafkas_script_works(cluster: FakeCluster, rewind: Kcli) -> None:
    done = rewind("--group", "g", "--reset-offsets", "--to-earliest", "--topic", "t", "--execute")
    assert done.returncode == 0
    assert offsets(cluster) == [0, 0, 0]


def test_group_may_be_repeated_and_is_the_same_as_a_name(cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "h", OLD)
    done = rewind(
        "g", "--group", "h", "--group", "g", "--to-earliest", "--topic", "t", "--execute", "-o", "json"
    )
    assert {item["group"] for item in json.loads(done.out)["items"]} == {"g", "h"}


def test_all_groups_are_those_that_have_committed_something_there(cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "h", OLD)
    commit(cluster, "elsewhere", {TopicPartition("u", 0): OffsetAndMetadata(3)})
    done = rewind(
        "--all-groups", "--reset-offsets", "--to-earliest", "--topic", "t", "--execute", "-o", "json"
    )
    assert {item["group"] for item in json.loads(done.out)["items"]} == {"g", "h"}
    assert committed(cluster, "elsewhere")[TopicPartition("u", 0)].offset == 3
    assert "left out" not in done.err
    none = rewind("--all-groups", "--to-earliest", "--topic", "unread", "--execute")
    assert (none.returncode, none.out) == (0, "")
    assert "nothing to rewind" in none.err


def test_all_groups_says_how_many_are_not_of_consumers(cluster: FakeCluster, rewind: Kcli) -> None:
    cluster.add_group(StreamsGroup("app", {"0": ["t"]}))
    done = rewind("--all-groups", "--to", "earliest", "--topic", "t", "--dry-run", "-o", "json")
    assert {item["group"] for item in json.loads(done.out)["items"]} == {"g"}
    assert "1 group left out, not of consumers: name them to rewind them" in done.err


@pytest.mark.parametrize("more", [("g",), ("--undo",), ("--live",), ("--wait",)])
def test_all_groups_excludes_options_for_single_groups(more: tuple[str, ...], rewind: Kcli) -> None:
    target = () if more == ("--undo",) else ("--to", "earliest")
    done = rewind("--all-groups", *target, *more, "--yes", code=2)
    assert "--all-groups with" in done.err


def test_an_empty_journal_says_so(rewind: Kcli) -> None:
    done = rewind("--journal")
    assert "no rewind of this cluster was made from this machine" in done.err


# --- what is said of an undo, and of values behind a blank ------------------------------------------------


def test_no_undo_is_offered_where_nothing_will_change(cluster: FakeCluster, rewind: Kcli) -> None:
    for flag in ("--dry-run", "--yes"):
        done = rewind("g", "--to", "current", flag)
        assert "there will be nothing to undo" in done.out + done.err
        assert "Undo afterwards" not in done.out + done.err
        assert "--undo" not in done.out + done.err
    assert not rewind.journals()


@pytest.mark.parametrize("more", [(), ("--no-input",), ("-o", "json"), ("-q",)])
def test_nobody_is_asked_where_nothing_will_change(
    more: tuple[str, ...], cluster: FakeCluster, rewind: Kcli
) -> None:
    """No confirmation is due, so there need be no terminal; nothing is committed, and what was read confirms it."""
    before = len(cluster.seen(OffsetCommitRequest))
    done = rewind("g", "--to", "current", *more)
    assert "Proceed?" not in done.err
    assert ("nothing is to be changed: group g is as requested" in done.err) is ("-q" not in more)
    assert done.out.count("unchanged") == len(offsets(cluster))
    assert len(cluster.seen(OffsetCommitRequest)) == before
    assert not rewind.journals()


def test_a_question_follows_where_one_partition_changes(cluster: FakeCluster, rewind: Kcli) -> None:
    done = rewind("g", "--to", "20", "--topic", "t", code=2)
    assert "confirmation required" in done.err


def test_no_undo_is_left_on_offer_after_a_refusal(cluster: FakeCluster, rewind: Kcli) -> None:
    hold: Hold = cluster.hold(OffsetFetchRequest, when=plain, after=1)
    with rewind.start("g", "--to", "earliest", "--yes") as process:
        hold.wait()
        commit(cluster, "g", {T1: OffsetAndMetadata(17)})
        hold.release()
        _, err = process.communicate(timeout=30)
    assert process.returncode == 7
    assert "nothing was done, and there is nothing to undo" in err
    assert not rewind.journals()


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("--wait", "3s"), "--wait=3s"),
        (("--wait", "1h30m"), "--wait=1h30m"),
        (("--hold", "60s"), "--hold=60s"),
        (("--undo", "20261122-211135-e2d547"), "--undo=20261122-211135-e2d547"),
    ],
)
def test_a_value_behind_a_blank_is_no_group(rewind: Kcli, words: tuple[str, str], meant: str) -> None:
    done = rewind("g", "--to", "1", *words, code=2)
    assert f"did you mean {meant}?" in done.err


def test_a_group_with_such_a_name_is_given_before_the_flag(cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "3s", {T0: OffsetAndMetadata(7)})
    rewind("3s", "--to", "1", "--yes", "--wait")
    assert set(offsets(cluster, "3s")) == {1}


def test_names_are_checked_before_members_are_waited_for(cluster: FakeCluster, rewind: Kcli) -> None:
    with member(cluster):
        done = rewind("g", "gg", "--to", "1", "--yes", "--wait", code=1)
    assert "group gg does not exist" in done.err
    assert "did you mean g?" in done.err
    assert "waiting" not in done.err
