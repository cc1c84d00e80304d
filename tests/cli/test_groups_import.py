"""``kcli groups import``, ``copy`` and ``create`` as processes against the fake cluster."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, Consumer
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import MINUTE, STAMP, Kcli, commit, committed, offsets, put
from tests.fake.cluster import FakeCluster
from tests.fake.knobs import Hold

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
U0 = TopicPartition("u", 0)
OLD = {T0: OffsetAndMetadata(20, "by hand", 0), T1: OffsetAndMetadata(15), T2: OffsetAndMetadata(2, "", 0)}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 3, "u": 1}) as made:
        for partition in range(3):
            put(made, "t", partition)
        put(made, "u", 0)
        commit(made, "g", OLD)
        yield made


@pytest.fixture
def kcli(cluster: FakeCluster, tmp_path: Path) -> Kcli:
    return Kcli(cluster, tmp_path / "state", "groups")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "offsets"


def forget(cluster: FakeCluster, group: str = "g") -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        assert admin.delete_groups([group]) == {group: None}


def changed(file: Path, **values: Any) -> None:
    """The same ndjson with other values."""
    lines = [json.loads(line) | values for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def member(cluster: FakeCluster, group: str) -> Consumer:
    consumer = Consumer(
        bootstrap_servers=cluster.bootstrap, group_id=group, client_id="reader", heartbeat_interval_ms=100,
        enable_auto_commit=False,
    )  # fmt: skip
    consumer.subscribe("t")
    while not consumer.assignment:
        consumer.poll(0.2)
    return consumer


# --- import ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "ndjson", "zookeeper"])
def test_what_was_exported_is_imported_as_it_was(
    form: str, cluster: FakeCluster, kcli: Kcli, file: Path
) -> None:
    commit(cluster, "h", {U0: OffsetAndMetadata(7, "h's")})
    before = committed(cluster), committed(cluster, "h")
    kcli("export", "g", "h", "--format", form, "--file", str(file))
    forget(cluster)
    done = kcli("import", str(file), "--yes")
    assert "Group state: does not exist. Undo afterwards with: kcli groups rewind g --undo=" in done.err
    assert "group g: 3 partitions set and read back; undo with: kcli groups rewind g --undo=" in done.err
    if form == "ndjson":
        assert (committed(cluster), committed(cluster, "h")) == before
    assert (offsets(cluster), offsets(cluster, "h")) == ([20, 15, 2], [7])
    again = file.with_suffix(".again")
    kcli("export", "g", "h", "--format", form, "--file", str(again))
    if form != "ndjson":
        assert again.read_text() == file.read_text()
    kcli("rewind", "g", "--undo", "--yes")
    assert offsets(cluster) == []


def test_the_report_and_the_plan_for_programs(cluster: FakeCluster, kcli: Kcli, file: Path) -> None:
    file.write_text("t,0,4\nt,2,5\n")
    plan = json.loads(kcli("import", str(file), "--group", "new", "--dry-run", "-o", "json", code=0).out)
    assert plan["kind"] == "OffsetImportPlan"
    assert offsets(cluster, "new") == []
    assert not kcli.journals()
    assert not cluster.seen(JoinGroupRequest)
    assert len(cluster.seen(OffsetCommitRequest)) == 1  # the fixture's
    report = json.loads(kcli("import", str(file), "--group", "new", "--yes", "-o", "json").out)
    assert report["kind"] == "OffsetImportReport"
    assert [row["new"] for row in report["items"]] == [row["new"] for row in plan["items"]] == [4, 5]
    first = report["items"][0]
    assert first.pop("undo") == kcli.journals()[0].stem
    assert first == {
        "group": "new", "topic": "t", "partition": 0, "committed": None, "new": 4, "found": 4,
        "status": "done", "reason": None, "note": None, "action": "commit",
    }  # fmt: skip
    line = json.loads(kcli("import", str(file), "--group", "new", "--yes", "-o", "ndjson").out.split("\n")[0])
    assert line["kind"] == "OffsetImportReportItem"


@pytest.mark.case("C18")
def test_without_a_terminal_and_without_yes_the_plan_is_shown_and_nothing_imported(
    cluster: FakeCluster, kcli: Kcli, file: Path
) -> None:
    """"""
    file.write_text("t,0,4\n")
    for arguments in (
        ("import", str(file), "--group", "g"),
        ("copy", "g", "new"),
        ("create", "new", "-t", "u", "--from", "earliest"),
    ):
        done = kcli(*arguments, code=2)
        assert done.out == ""
        assert "Undo afterwards with: kcli groups rewind " in done.err
        assert "confirmation required, and there is no terminal: Proceed?" in done.err
        assert not kcli.journals()
    assert offsets(cluster) == [20, 15, 2]
    assert offsets(cluster, "new") == []


def test_an_import_over_commits_shows_what_changes_and_is_undone(
    cluster: FakeCluster, kcli: Kcli, file: Path
) -> None:
    before = committed(cluster)
    file.write_text("t,0,4\nt,2,5\n")
    done = kcli("import", str(file), "--group", "g", "--yes")
    assert f"  to: the offsets in {file}\n" in done.err
    assert "at most 16 records will be read again" in done.err
    assert "at most 3 records will be skipped" in done.err
    assert committed(cluster)[T0] == OffsetAndMetadata(4, "by hand")  # the csv tells no metadata
    assert offsets(cluster) == [4, 15, 5]
    kcli("rewind", "g", "--undo", "--yes")
    assert committed(cluster) == before


def test_offsets_out_of_range_are_refused_one_by_one_unless_clamped(
    cluster: FakeCluster, kcli: Kcli, file: Path
) -> None:
    file.write_text("t,0,4\nt,1,99\nt,7,1\nnix,0,1\n")
    done = kcli("import", str(file), "--group", "new", "--yes", code=6)
    assert "refused: the log goes from 0 to 20" in done.err
    assert "warning: t-1 refused: the log goes from 0 to 20; --clamp uses the log end" in done.err
    assert "refused: the topic has 3 partitions, numbered from 0" in done.err
    assert offsets(cluster, "new") == [4]
    kcli("import", str(file), "--group", "new", "--topic", "t:1", "--yes", code=7)
    kcli("import", str(file), "--group", "new", "--topic", "t:1", "--dry-run", code=7)
    rows = kcli.items("import", str(file), "--group", "new", "-t", "t:0-1", "--clamp", "--yes")
    assert [(row["new"], row["note"]) for row in rows] == [(4, None), (20, "clamped to log end")]
    assert offsets(cluster, "new") == [4, 20]


def test_offsets_of_another_cluster_or_topic_need_force_or_a_time(
    cluster: FakeCluster, kcli: Kcli, file: Path
) -> None:
    kcli("export", "g", "--with-time", "--file", str(file))
    before = file.read_text()
    changed(file, cluster="elsewhere", topic_id=None)
    done = kcli("import", str(file), "--group", "new", "--yes", code=7)
    assert "the file is of cluster elsewhere" in done.err
    assert "do: --by time finds the offset by the time of its record" in done.err
    rows = kcli.items("import", str(file), "--group", "new", "--force", "--yes")
    assert [row["new"] for row in rows] == [20, 15, 2]
    assert rows[0]["note"].startswith("forced: the file is of cluster elsewhere")
    file.write_text(before)
    changed(file, topic_id="AAAAAAAAAAAAAAAAAAAAAQ")
    done = kcli("import", str(file), "--group", "other", "--yes", code=7)
    assert "topic t was deleted and recreated since" in done.err
    assert offsets(cluster, "other") == []


def test_by_time_into_another_topic(cluster: FakeCluster, kcli: Kcli, file: Path) -> None:
    """``copy`` has the records of ``t`` from its sixth on, so that offsets differ by five."""
    cluster.create_topic("copy", 3)
    for partition in range(3):
        put(cluster, "copy", partition, 15, first_minute=5)
    kcli("export", "g", "--with-time", "--file", str(file))
    kcli("import", str(file), "--group", "new", "--map-topic", "t=copy", "--yes", code=7)
    arguments = ("import", str(file), "--group", "new", "--map-topic", "t=copy", "--by", "time")
    rows = kcli.items(*arguments, "--yes")
    assert [(row["topic"], row["new"]) for row in rows] == [("copy", 15), ("copy", 10), ("copy", 0)]
    assert [row["note"] for row in rows] == ["no record since; goes to end", None, None]
    assert offsets(cluster, "new") == [15, 10, 0]


def test_several_times_of_one_partition_are_requested_one_after_the_other(
    cluster: FakeCluster, kcli: Kcli, file: Path
) -> None:
    for group, offset in (("a", 3), ("b", 8), ("c", 12)):
        commit(cluster, group, {U0: OffsetAndMetadata(offset)})
    kcli("export", "a", "b", "c", "--with-time", "--file", str(file))
    for group in "abc":
        forget(cluster, group)
    done = kcli("import", str(file), "--by", "time", "--yes")
    assert f"  to: the times in {file}\n" in done.err
    assert [offsets(cluster, group) for group in "abc"] == [[3], [8], [12]]
    asked = [
        part.timestamp
        for seen in cluster.seen(ListOffsetsRequest)
        for topic in seen.request.topics  # type: ignore[attr-defined]
        for part in topic.partitions
        if part.timestamp > 0
    ]
    assert sorted(asked) == [STAMP + n * MINUTE for n in (3, 8, 12)]


def test_the_file_may_come_from_stdin(cluster: FakeCluster, kcli: Kcli) -> None:
    done = kcli("import", "-", "--group", "new", "--yes", stdin="t 0 4\nt 2 5\n")
    assert "  to: the offsets in stdin\n" in done.err
    assert offsets(cluster, "new") == [4, 5]
    done = kcli("import", "-", "--group", "new", "--yes", code=2, stdin="t,zero,4\n")
    assert "stdin cannot be read: line 1" in done.err
    done = kcli("import", "-", "--group", "new", code=2, stdin="t,0,3\n")
    assert "confirmation required" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "the file does not name its group"),
        (("--group", ""), "the group name is empty"),
        (("--group", "n", "--topic", "t:0-1"), "has no offset of t:1"),
        (("--group", "n", "--map-topic", "x=y"), "the file has no offsets of topic x"),
        (("--group", "n", "--map-topic", "x"), "does not map one topic to another"),
        (("--group", "n", "--map-topic", "t=u", "--map-topic", "t=v"), "topic t is mapped twice"),
        (("--group", "n", "--by", "time", "--clamp"), "--by time and --clamp cannot be used together"),
        (("--group", "n", "--by", "time", "--force"), "--by time and --force cannot be used together"),
    ],
)
def test_usage_of_import(arguments: tuple[str, ...], said: str, kcli: Kcli, file: Path) -> None:
    file.write_text("t,0,4\n")
    assert said in kcli("import", str(file), *arguments, "--yes", code=2).err
    assert not kcli.journals()


def test_a_file_that_is_not_there(kcli: Kcli) -> None:
    assert "cannot read /no/such" in kcli("import", "/no/such", "--yes", code=2).err


def test_groups_with_members_are_refused(cluster: FakeCluster, kcli: Kcli, file: Path) -> None:
    commit(cluster, "source", {T0: OffsetAndMetadata(3)})
    kcli("export", "g", "--file", str(file))
    with member(cluster, "g"):
        live = "; or set them while it runs: `kcli groups rewind g"
        for arguments, instead in (
            (("import", str(file), "--group", "g"), f"{live} --from-file {file} --live`"),
            (("import", str(file), "--group", "g", "-t", "t"), ""),
            (("copy", "source", "g"), f"{live} --to-group source --live`"),
            (("create", "g", "-t", "u", "--from", "earliest"), ""),
        ):
            for extra in ("--dry-run", "--yes"):
                done = kcli(*arguments, extra, code=7)
                assert "Group state: Stable. Refused: " in done.out + done.err
                assert "group g has members (1), it is Stable" in done.err
                assert f"stop its members and try again{instead}\n" in done.err
                assert "--wait" not in done.err
        kcli("copy", "g", "another", "--yes")  # from a live one
    assert offsets(cluster) == [20, 15, 2]
    assert offsets(cluster, "another") == [20, 15, 2]


@pytest.mark.case("O10")
def test_a_new_group_that_gets_a_member_after_the_plan_is_refused(
    cluster: FakeCluster, kcli: Kcli, file: Path
) -> None:
    file.write_text("t,0,4\n")
    hold: Hold = cluster.hold(ListOffsetsRequest)
    with kcli.start("import", str(file), "--group", "new", "--yes") as process:
        hold.wait()
        with member(cluster, "new"):
            hold.release()
            _, err = process.communicate(timeout=30)
    assert process.returncode == 7
    assert "group new has members (1)" in err
    assert offsets(cluster, "new") == []


# --- copy --------------------------------------------------------------------------------------------


def test_a_copy_has_offsets_metadata_and_leader_epochs(cluster: FakeCluster, kcli: Kcli) -> None:
    commit(cluster, "b", {T0: OffsetAndMetadata(1, "b's"), U0: OffsetAndMetadata(9)})
    before = committed(cluster, "b")
    done = kcli("copy", "g", "b", "--yes")
    assert "Copy into group b on 127.0.0.1:" in done.err
    assert "  to: the committed offsets of group g\n" in done.err
    assert "Other topics of the group: untouched (1)." in done.err
    assert committed(cluster, "b") == OLD | {U0: OffsetAndMetadata(9)}
    kcli("rewind", "b", "--undo", "--yes")
    assert committed(cluster, "b") == before
    rows = kcli.items("copy", "g", "new", "--yes")
    assert [row["status"] for row in rows] == ["done"] * 3
    assert committed(cluster, "new") == OLD


def test_what_cannot_be_copied(cluster: FakeCluster, kcli: Kcli) -> None:
    assert "group nobody does not exist" in kcli("copy", "nobody", "b", "--yes", code=1).err
    assert "the same group" in kcli("copy", "g", "g", "--yes", code=2).err
    kcli("copy", "g", code=2)


# --- create ------------------------------------------------------------------------------------------


@pytest.mark.case("S0-42")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-t", "t", "--from", "earliest"), [0, 0, 0]),
        (("-t", "t", "-t", "u", "--from", "latest"), [20, 20, 20, 20]),
        (("-t", "t:0,2", "--from", "7"), [7, 7]),
        (("--topic", "u", "--from", f"@{STAMP + 5 * MINUTE}"), [5]),
        (("--topic", "u", "--from", "2023-11-14T22:18:20Z"), [5]),
    ],
)
def test_create(arguments: tuple[str, ...], expected: list[int], cluster: FakeCluster, kcli: Kcli) -> None:
    done = kcli("create", "new", *arguments, "--yes")
    assert "Create group new on 127.0.0.1:" in done.err
    assert "Group state: does not exist." in done.err
    assert offsets(cluster, "new") == expected
    again = kcli("create", "new", *arguments, "--yes", code=7)
    assert "group new already exists" in again.err
    assert "do: `kcli groups rewind new --to SPEC` moves them" in again.err
    kcli("rewind", "new", "--undo", "--yes")
    assert offsets(cluster, "new") == []


def test_a_group_without_commits_may_be_there_already(cluster: FakeCluster, kcli: Kcli) -> None:
    member(cluster, "joined").close()
    kcli("create", "joined", "-t", "u", "--from", "3", "--yes")
    assert offsets(cluster, "joined") == [3]


def test_commits_of_any_topic_say_that_it_exists(cluster: FakeCluster, kcli: Kcli) -> None:
    assert "already exists" in kcli("create", "g", "-t", "u", "--from", "3", "--dry-run", code=7).err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("new", "-t", "nix", "--from", "1"), 1, "topic nix does not exist"),
        (("new", "-t", "nix", "-t", "u", "--from", "1"), 6, "topic nix does not exist"),
        (("new", "-t", "t:3", "--from", "1"), 1, "topic t has no partition 3"),
        (("new", "-t", "t", "--from", "+1"), 2, "--from +1 is relative to a committed offset"),
        (("new", "-t", "t", "--from", "current"), 2, "--from current is relative to a committed offset"),
        (("new", "-t", "t", "--from", "10:30"), 2, "has no time zone"),
        (("new", "--from", "1"), 2, "--topic"),
        (("new", "-t", "t"), 2, "--from"),
        (("", "-t", "t", "--from", "1"), 2, "the group name is empty"),
    ],
)
def test_what_cannot_be_created(arguments: tuple[str, ...], code: int, said: str, kcli: Kcli) -> None:
    assert said in kcli("create", *arguments, "--yes", code=code).err


def test_what_changes_nothing_offers_no_undo(cluster: FakeCluster, kcli: Kcli, file: Path) -> None:
    """The rewind has marked its commits in their metadata, which neither file nor copy has: that is no change."""
    kcli("rewind", "g", "--to", "7", "--topic", "t", "--yes")
    (rewind,) = kcli.journals()
    before = committed(cluster)
    for name in ("csv", "ndjson"):
        kcli("export", "g", "--format", name, "--file", str(file.with_suffix(f".{name}")))
    kcli("copy", "g", "h", "--yes")
    kcli("rewind", "h", "--to", "9", "--yes")
    kcli("rewind", "h", "--to", "7", "--yes")
    known = kcli.journals()
    for arguments in (
        ("import", str(file.with_suffix(".csv")), "--group", "g"),
        ("import", str(file.with_suffix(".ndjson"))),
        ("copy", "g", "h"),
    ):
        done = kcli(*arguments, "--yes").err
        assert "Nothing will change, and there will be nothing to undo." in done, arguments
        assert "nothing has changed" in done
        assert "ndo with" not in done
    assert (kcli.journals(), committed(cluster)) == (known, before)
    kcli("rewind", "g", f"--undo={rewind.stem}", "--yes")
    assert committed(cluster)[T0] == OLD[T0]
