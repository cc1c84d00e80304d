"""Start offsets of share groups (KIP-932) are set, deleted and restored: plans, documents, codes, journals, faults."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.permissions import AclOperation
from kcli.core.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from kcli.core.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import commit, committed, put
from tests.effects import changes
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.groups.other_groups import ShareGroup, SharePlace, StreamsGroup
from tests.run import Done, kcli

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
STARTS = {T0: 5, T1: 10, U0: 20}


class World:
    """Topics of 20 records; share groups ``s``, of which 4 records after the start offset of t-0 are acknowledged, and
    ``live``, which has a member; a classic group ``g``; a streams group ``app``.
    """

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        for tp in STARTS:
            put(cluster, *tp)
        places = {tp: SharePlace(start) for tp, start in STARTS.items()}
        places[T0].acknowledged = 4
        cluster.add_group(ShareGroup("s", places))
        cluster.add_group(ShareGroup("live", {T0: SharePlace(5), T1: SharePlace(5)}, {"m": [T0, T1]}))
        cluster.add_group(StreamsGroup("app", {"0": ["t"]}))
        commit(cluster, "g", {T0: OffsetAndMetadata(3, "mine")})

    def __call__(self, line: str, *, code: int = 0) -> Done:
        variables = {"XDG_STATE_HOME": str(self.folder / "state"), "XDG_CONFIG_HOME": str(self.folder)}
        done = kcli(*line.split(), bootstrap=self.cluster.bootstrap, **variables)
        assert done.code == code, done
        return done

    def starts(self, group: str = "s") -> dict[TopicPartition, Any]:
        with Admin(bootstrap_servers=self.cluster.bootstrap) as admin:
            found: Any = admin.share_offsets([group])[group]
            return {tp: one.start for tp, one in found.items()}

    def undo(self, *, code: int = 0) -> Done:
        found = (self.folder / "state/kcli/journal").glob("*/*.json")
        journal = max(found, key=lambda path: path.stat().st_mtime_ns)
        return self(f"undo {journal.stem} --yes -o json", code=code)

    def rewinds(self) -> list[Path]:
        return sorted((self.folder / "state/kcli/rewind").glob("*/*.json"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FakeCluster(1, topics={"t": 2, "u": 1}) as cluster:
        yield World(cluster, tmp_path)


def statuses(done: Done) -> list[str]:
    return [item["status"] for item in done.items]


# --- rewind ------------------------------------------------------------------------------------------------------


def test_a_rewind_is_planned_set_read_back_and_undone(world: World) -> None:
    plan = world("groups rewind s --to earliest --topic t --dry-run -o json")
    assert [(item["committed"], item["new"], item["change"], item["note"]) for item in plan.items] == [
        (5, 0, -5, "4 acknowledged after it, delivered again"), (10, 0, -10, None),
    ]  # fmt: skip
    assert world.starts() == STARTS
    done = world("groups rewind s --to earliest --topic t --yes -o json")
    assert [(item["found"], item["status"]) for item in done.items] == [(0, "done"), (0, "done")]
    assert world.starts() == {T0: 0, T1: 0, U0: 20}
    assert (
        "What is acknowledged after the start offsets is forgotten, also by an undo: 4 records." in done.err
    )
    undone = world("groups rewind s --undo --yes -o json")
    assert statuses(undone) == ["done", "done"]
    assert world.starts() == STARTS


TARGETS = [
    ("--to latest", {T0: 20, T1: 20}),
    ("--to 7", {T0: 7, T1: 7}),
    ("--to -2", {T0: 3, T1: 8}),
    ("--to +99", {T0: 20, T1: 20}),
    ("--to @2023-11-14T22:23:20Z", {T0: 10, T1: 10}),
    ("--to-group g", {T0: 3, T1: 10}),
]


@pytest.mark.parametrize(("to", "wanted"), TARGETS)
def test_every_target_of_other_groups_is_one_of_share_groups(
    world: World, to: str, wanted: dict[TopicPartition, int]
) -> None:
    topic = "" if "group" in to else "--topic t "
    assert set(statuses(world(f"groups rewind s {to} {topic}--yes -o json"))) <= {"done", "unchanged"}
    assert world.starts() == {**wanted, U0: 20}


def test_offsets_of_a_file_are_start_offsets(world: World, tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("t,0,1\nu,0,2\n")
    world(f"groups rewind s --from-file {file} --yes")
    assert world.starts() == {T0: 1, T1: 10, U0: 2}


def test_what_is_to_stay_is_not_sent_and_what_it_has_acknowledged_is_kept(world: World) -> None:
    """AlterShareGroupOffsets with the same offset would forget it."""
    since = len(world.cluster.requests)
    done = world("groups rewind s --to current --all-topics --yes -o json")
    assert set(statuses(done)) == {"unchanged"}
    assert changes(world.cluster.requests[since:]) == []
    assert world("groups lag s -o json").rows[T0]["lag_records"] == 11


def test_the_same_offset_by_its_number_is_set_where_something_is_acknowledged_after_it(world: World) -> None:
    done = world("groups rewind s --to 5 --topic t:0 --yes -o json")
    assert statuses(done) == ["done"]
    assert world("groups lag s -o json").rows[T0]["lag_records"] == 15
    again = world("groups rewind s --to 5 --topic t:0 --dry-run -o json")
    assert statuses(again) == ["unchanged"]


@pytest.mark.parametrize("how", ["", "--live", "--hold"])
def test_a_group_with_members_is_refused_with_the_way_out(world: World, how: str) -> None:
    done = world(f"groups rewind live --to earliest --topic t {how} --yes -o json", code=7)
    assert set(statuses(done)) == {"refused"}
    assert "brokers set start offsets only while a share group has no members" in done.err
    assert "--wait waits for their end" in done.err
    assert world.starts("live") == {T0: 5, T1: 5}


def test_a_wait_ends_when_the_members_have_left(world: World) -> None:
    world.cluster.add_group(ShareGroup("live", {T0: SharePlace(5)}, {"m": [T0]}))

    def leave(_request: Any) -> None:
        world.cluster.add_group(ShareGroup("live", {T0: SharePlace(5)}))

    world.cluster.intercept(DescribeShareGroupOffsetsRequest, leave, times=1)
    refused = world("groups rewind live --to earliest --topic t --wait=1ms --yes -o json", code=7)
    assert "or wait longer" in refused.err
    done = world("groups rewind live --to earliest --topic t:0 --wait --yes -o json")
    assert statuses(done) == ["done"]


def test_an_undo_deletes_start_offsets_of_a_topic_that_had_none(world: World) -> None:
    world.cluster.add_group(ShareGroup("s", {T0: SharePlace(5), T1: SharePlace(10)}))
    world("groups rewind s --to latest --topic u --yes")
    assert world.starts() == {T0: 5, T1: 10, U0: 20}
    done = world("groups rewind s --undo --yes -o json")
    assert [(item["action"], item["status"]) for item in done.items] == [("delete", "done")]
    assert world.starts() == {T0: 5, T1: 10}


def test_an_undo_that_would_delete_more_than_it_names_is_refused(world: World) -> None:
    world.cluster.add_group(ShareGroup("s", {T0: SharePlace(5)}))
    world("groups rewind s --to latest --topic t:1 --yes")
    done = world("groups rewind s --undo --yes -o json", code=7)
    assert statuses(done) == ["refused"]
    assert "delete the start offsets of a share group by topic" in done.err
    assert world.starts() == {T0: 5, T1: 20}


def test_a_rewind_is_undone_as_what_it_was(world: World) -> None:
    """The group was deleted, and a group of consumers has its name now."""
    world("groups rewind s --to latest --topic t --yes")
    world("groups delete s --yes")
    commit(world.cluster, "s", {T0: OffsetAndMetadata(1)})
    done = world("groups rewind s --undo --yes -o json", code=7)
    assert "group s is a classic group" in done.err
    assert committed(world.cluster, "s") == {T0: OffsetAndMetadata(1)}


def test_a_lost_response_is_settled_by_what_is_read_back(world: World) -> None:
    world.cluster.swallow(AlterShareGroupOffsetsRequest, "reset")
    done = world("groups rewind s --to latest --topic t --yes -o json")
    assert statuses(done) == ["done", "done"]
    assert world.starts() == {T0: 20, T1: 20, U0: 20}


def test_a_partition_that_fails_is_one_and_the_others_are_done(world: World) -> None:
    world.cluster.fail(AlterShareGroupOffsetsRequest, Code.INVALID_REQUEST, where=T1, times=99)
    done = world("groups rewind s --to latest --topic t --yes -o json", code=6)
    assert statuses(done) == ["done", "failed"]
    assert world.starts() == {T0: 20, T1: 10, U0: 20}


def test_a_member_that_joins_after_the_plan_is_no_defect(world: World) -> None:
    """The broker refuses, nothing is changed, and no journal is left."""

    def join(_request: Any) -> None:
        places = {tp: SharePlace(start) for tp, start in STARTS.items()}
        world.cluster.add_group(ShareGroup("s", places, {"m": [T0]}))

    world.cluster.intercept(AlterShareGroupOffsetsRequest, join)
    done = world("groups rewind s --to latest --topic t --yes -o json", code=7)
    assert set(statuses(done)) == {"failed"}
    assert "NON_EMPTY_GROUP" in done.err or "no members" in done.err
    assert world.rewinds() == []


def test_another_client_that_sets_the_offset_since_is_seen(world: World) -> None:
    held = iter(range(9))

    def move(_request: Any) -> None:
        if next(held) == 4:  # the later look
            places = {tp: SharePlace(start) for tp, start in STARTS.items()} | {T0: SharePlace(1)}
            world.cluster.add_group(ShareGroup("s", places))

    world.cluster.intercept(DescribeShareGroupOffsetsRequest, move, times=9)
    done = world("groups rewind s --to latest --topic t:0 --yes -o json", code=7)
    assert [(item["status"], item["reason"], item["found"]) for item in done.items] == [
        ("failed", "overwritten", 1)
    ]


def test_a_read_back_that_fails_is_unknown(world: World) -> None:
    world.cluster.fail(
        DescribeShareGroupOffsetsRequest, Code.UNKNOWN_SERVER_ERROR, where="s", times=99, after=3
    )
    done = world("groups rewind s --to latest --topic t --yes -o json --timeout 1", code=1)
    assert set(statuses(done)) == {"unknown"}
    assert len(world.rewinds()) == 1


def test_brokers_that_cannot_set_them_refuse_the_plan(world: World) -> None:
    world.cluster.hide(AlterShareGroupOffsetsRequest)
    for how in ("--dry-run", "--yes"):
        done = world(f"groups rewind s --to latest --topic t {how} -o json", code=7)
        assert set(statuses(done)) == {"refused"}
        assert "AlterShareGroupOffsets" in done.err


def test_what_brokers_would_deny_is_refused_in_the_plan(world: World) -> None:
    world.cluster.configure_groups(operations=1 << AclOperation.DESCRIBE)
    for line in (
        "rewind s --to latest --topic t",
        "delete s",
        "delete-offsets s -t t",
        "create s --type share -t t --from 1",
    ):
        for how in ("--dry-run", "--yes"):
            done = world(f"groups {line} {how} -o json", code=4)
            assert set(statuses(done)) == {"refused"}
    assert world.starts() == STARTS


# --- create and copy ---------------------------------------------------------------------------------------------


def test_a_share_group_exists_with_its_first_start_offset(world: World) -> None:
    done = world("groups create new --type share -t t -t u --from latest --yes -o json")
    assert statuses(done) == ["done"] * 3
    (row,) = world("groups list --match new -o json").items
    assert (row["type"], row["state"]) == ("share", "Empty")
    assert world.starts("new") == {T0: 20, T1: 20, U0: 20}
    undone = world("groups rewind new --undo --yes -o json")
    assert {item["action"] for item in undone.items} == {"delete"}
    assert world.starts("new") == {}


CREATIONS = [
    ("groups create s --type share -t t --from latest", "group s already exists"),
    ("groups create s -t t --from latest", "group s is a share group"),
    ("groups create g --type share -t t --from latest", "group g is a classic group"),
    ("groups create live --type share -t t --from latest", "group live has members (1)"),
    ("groups create app --type share -t t --from latest", "group app is a streams group"),
]


@pytest.mark.parametrize(("line", "why"), CREATIONS)
def test_a_name_that_is_taken_is_refused(world: World, line: str, why: str) -> None:
    done = world(f"{line} --yes -o json", code=7)
    assert set(statuses(done)) == {"refused"}
    assert why in done.err
    assert "--wait" not in done.err


def test_a_copy_has_the_type_of_its_source_or_keeps_its_own(world: World) -> None:
    world("groups copy s fresh --yes")
    assert world.starts("fresh") == STARTS
    world("groups copy g s --yes")
    assert world.starts() == {**STARTS, T0: 3}
    world("groups copy fresh g --yes")
    assert {tp: one.offset for tp, one in committed(world.cluster).items()} == STARTS


def test_an_export_is_imported_as_a_share_group(world: World, tmp_path: Path) -> None:
    file = tmp_path / "all.ndjson"
    world(f"groups export --all --format ndjson --file {file}")
    saved = [json.loads(line) for line in file.read_text().splitlines()]
    assert {(one["group"], one["group_type"]) for one in saved} >= {("s", "share"), ("g", "classic")}
    world("groups delete s --yes")
    world(f"groups import {file} --yes", code=7)  # live is live
    assert world.starts() == STARTS
    (row,) = world("groups list --match s -o json").items
    assert row["type"] == "share"


# --- delete ------------------------------------------------------------------------------------------------------


def test_a_deleted_group_is_restored_with_its_start_offsets(world: World) -> None:
    done = world("groups delete s g --yes -o json")
    assert [(item["group"], item["type"], item["committed_offsets"], item["status"]) for item in done.items] == [
        ("s", "share", 3, "done"), ("g", "classic", 1, "done"),
    ]  # fmt: skip
    assert "delivered again" in done.err
    (row,) = world("undo -o json").items
    assert {entry["what"] for entry in row["entries"]} == {"share_offset", "offset"}
    assert statuses(world.undo()) == ["done"] * 4
    assert (world.starts(), committed(world.cluster)) == (STARTS, {T0: OffsetAndMetadata(3, "mine", -1)})
    assert set(statuses(world.undo())) == {"unchanged"}


def test_start_offsets_are_not_restored_in_a_group_of_another_type(world: World) -> None:
    world("groups delete s --yes")
    commit(world.cluster, "s", {T0: OffsetAndMetadata(1)})
    done = world.undo(code=7)
    assert set(statuses(done)) == {"refused"}
    assert "it is a classic group now" in done.err
    assert committed(world.cluster, "s") == {T0: OffsetAndMetadata(1)}


def test_committed_offsets_are_not_restored_in_a_share_group(world: World) -> None:
    world("groups delete g --yes")
    world("groups create g --type share -t u --from 1 --yes")
    assert "it is a share group now" in world.undo(code=7).err
    assert world.starts("g") == {U0: 1}


def test_start_offsets_of_a_topic_are_deleted_and_restored(world: World) -> None:
    done = world("groups delete-offsets s -t t --yes -o json")
    assert [(item["committed"], item["status"]) for item in done.items] == [(5, "done"), (10, "done")]
    assert "share.auto.offset.reset" in done.err
    assert world.starts() == {U0: 20}
    assert statuses(world.undo()) == ["done", "done"]
    assert world.starts() == STARTS


DELETIONS = [
    ("groups delete-offsets s -t t:0", 7, "by topic"),
    ("groups delete-offsets s -t t:0 -t t:1", 0, ""),
    ("groups delete-offsets s -t t:0 -t u", 7, "by topic"),
    ("groups delete-offsets live -t t", 7, "it has 1 member"),
    ("groups delete-offsets s -t v", 1, "group s has no start offset of v"),
    ("groups delete live", 7, "it has 1 member"),
]


@pytest.mark.parametrize(("line", "code", "why"), DELETIONS)
def test_what_cannot_be_deleted_is_refused_alike(world: World, line: str, code: int, why: str) -> None:
    dry, acted = world(f"{line} --dry-run -o json", code=code), world(f"{line} --yes -o json", code=code)
    assert why in acted.err
    assert statuses(dry) == [status.replace("done", "planned") for status in statuses(acted)]


@pytest.mark.parametrize(
    ("line", "api"),
    [
        ("groups delete s", DeleteGroupsRequest),
        ("groups delete-offsets s -t t", DeleteShareGroupOffsetsRequest),
    ],
)
def test_a_lost_response_of_a_deletion_is_settled_by_what_is_read_back(
    world: World, line: str, api: Any
) -> None:
    world.cluster.swallow(api, "reset")
    assert set(statuses(world(f"{line} --yes -o json"))) == {"done"}
    assert T0 not in world.starts()


def test_brokers_that_cannot_delete_them_refuse_the_plan(world: World) -> None:
    world.cluster.hide(DeleteShareGroupOffsetsRequest)
    assert "DeleteShareGroupOffsets" in world("groups delete-offsets s -t t --yes -o json", code=7).err
    assert world.starts() == STARTS


def test_members_are_not_removed_and_the_remedy_shows_when_they_are_gone(world: World) -> None:
    done = world("groups remove-members live --yes", code=7)
    type_remedy(
        "one that has died is gone after share.session.timeout.ms: `kcli groups describe live --config` shows it",
        done.err,
        world.cluster.bootstrap,
    )


# --- describe ----------------------------------------------------------------------------------------------------


def test_a_partition_that_several_members_read_belongs_to_none_of_them(world: World) -> None:
    world.cluster.add_group(
        ShareGroup("live", {T0: SharePlace(5), T1: SharePlace(5)}, {"m": [T0, T1], "n": [T1]})
    )
    (item,) = world("groups describe live -o json").items
    assert [(row["client_id"], row["note"]) for row in item["partitions"]] == [
        ("client-m", None), (None, "read by 2 members"),
    ]  # fmt: skip


def test_the_form_of_kafkas_script_is_that_of_share_groups(world: World) -> None:
    done = world("groups describe s -o kafka")
    assert [line.split() for line in done.out.splitlines() if line] == [
        ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"],
        ["s", "t", "0", "5", "11"], ["s", "t", "1", "10", "10"], ["s", "u", "0", "20", "0"],
    ]  # fmt: skip
    assert (
        world("groups describe s --members -o kafka").err.strip() == "Share group 's' has no active members."
    )
    assert not world("groups describe app -o kafka").err  # which has neither members nor offsets
    every = world("groups describe --all --type share -o kafka")
    assert {line.split()[0] for line in every.out.splitlines() if line} == {"GROUP", "s", "live"}


def test_the_configuration_has_the_keys_of_the_type(world: World) -> None:
    world("configs alter groups s --set share.auto.offset.reset=earliest --yes")
    (item,) = world("groups describe s --config -o json").items
    found = {row["key"]: (row["value"], row["source"]) for row in item["configs"]}
    assert found["share.auto.offset.reset"] == ("earliest", "group")
    assert all(key.startswith(("share.", "errors.deadletterqueue.")) for key in found)
    (classic,) = world("groups describe g --config -o json").items
    assert classic["configs"] == []
    assert world.undo().code == 0
    (item,) = world("groups describe s --config -o json").items
    assert {row["source"] for row in item["configs"]} == {"default"}


# --- documents of offsets ------------------------------------------------------------------------------------------


def offsets_document(group: str, offsets: dict[TopicPartition, int]) -> dict[str, Any]:
    topics: dict[str, dict[str, int]] = {}
    for tp, offset in offsets.items():
        topics.setdefault(tp.topic, {})[str(tp.partition)] = offset
    return {
        "apiVersion": "kcli/v1", "kind": "GroupOffsets", "metadata": {"name": group}, "spec": {"offsets": topics}
    }  # fmt: skip


def test_offsets_of_streams_groups_are_exported_and_share_groups_are_left_out_by_number(world: World) -> None:
    """A document has no type, and would make a classic group of the name of a share group."""
    commit(world.cluster, "app", {T1: OffsetAndMetadata(7)})
    world.cluster.add_group(StreamsGroup("app", {"0": ["t"]}))
    for chosen, groups, left_out in (
        ("", ["app", "g"], 2),
        ("--match app", ["app"], 0),
        ("--match s", [], 1),
    ):
        done = world(f"export GroupOffsets {chosen} -o json")
        assert [item["document"]["metadata"]["name"] for item in done.items] == groups
        counted = f"{left_out} share group{'s' if left_out > 1 else ''} left out, since GroupOffsets"
        assert (counted in done.err) is ("left out" in done.err) is bool(left_out)
        assert "nothing matches" not in done.err
        assert (f"# incomplete: {counted}" in world(f"export GroupOffsets {chosen}").out) is bool(left_out)
    type_remedy("`kcli groups export --all --format ndjson` has them", done.err, world.cluster.bootstrap)


def test_a_document_is_compared_with_the_start_offsets_and_sets_those_that_differ(world: World) -> None:
    """What is acknowledged after a start offset that is as wanted is not forgotten."""
    file = world.folder / "offsets.json"
    file.write_text(json.dumps(offsets_document("s", {**STARTS, T1: 4})))
    (differs,) = world(f"diff {file} -o json", code=8).items
    assert "exist" not in world(f"diff {file}", code=8).out
    assert differs["name"] == "s"
    world(f"apply {file} --yes")
    assert world.starts() == {**STARTS, T1: 4}
    assert world("groups lag s -o json").items[0]["lag_records"] == 11  # of 15, 4 are acknowledged
    world(f"diff {file}")


# --- members -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["delete live", "delete-offsets live -t t", "rewind live --to earliest --topic t", "remove-members live"],
)
def test_nobody_is_told_to_remove_members_that_cannot_be_removed(world: World, line: str) -> None:
    said = world(f"groups {line} --yes", code=7).err
    assert "stop them" in said
    assert "kcli groups remove-members" not in said


def test_a_share_group_goes_on_at_the_log_start(world: World) -> None:
    world.cluster.delete_records(*T1, 15)
    assert (
        "it goes on at the log start" in world("groups why s", code=6).out
    )  # the fake has no log of commits
