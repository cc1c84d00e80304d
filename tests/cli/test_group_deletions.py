"""Deletions of groups and their offsets, removals of members, and ``undo``: documents, codes, read-back, journal."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.commands.shared import changing
from kcli.core.admin.admin import Admin
from kcli.core.permissions import AclOperation
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, committed, put
from tests.effects import changes
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.rewinding import QUICK, others
from tests.run import Done, kcli

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
OFFSETS = {T0: OffsetAndMetadata(3, "mine", 0), T1: OffsetAndMetadata(4), U0: OffsetAndMetadata(5)}
MEMBER = "member"


class World:
    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        for topic in ("t", "u"):
            for partition in range(2):
                put(cluster, topic, partition)
        for group in ("g", "h"):
            commit(cluster, group, OFFSETS)

    def __call__(self, line: str, *, code: int = 0, **variables: str) -> Done:
        variables = {
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder),
        } | variables
        done = kcli(*line.split(), bootstrap=self.cluster.bootstrap, **variables)
        assert done.code == code, done
        return done

    def journals(self) -> list[Path]:
        found = (self.folder / "state/kcli/journal").glob("*/*.json")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    def undo(self, more: str, *, code: int = 0) -> Done:
        return self(f"undo {self.journals()[-1].stem} {more}", code=code)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FakeCluster(2, topics={"t": 2, "u": 2}) as cluster:
        yield World(cluster, tmp_path)


@pytest.fixture
def live(world: World) -> Iterator[World]:
    """``g`` has a member that reads ``t``, as brokers show it once it is stable."""
    with others(world.cluster.bootstrap, "t", "g", 1, client_id=MEMBER, **QUICK):
        world.cluster.wait_until(lambda: world.cluster.group_state("g") == "Stable")
        yield world


def document(done: Done) -> Any:
    return json.loads(done.out)


def statuses(done: Done) -> list[str]:
    return [item["status"] for item in document(done)["items"]]


# --- a dry run ends as the act -----------------------------------------------------------------------------------

MISSING = [
    ("groups delete gone", 1),
    ("groups delete g gone", 6),
    ("groups delete-offsets gone -t t", 1),
    ("groups delete-offsets g -t v", 1),
    ("groups delete-offsets g -t t:0,7", 6),
    ("groups remove-members gone", 1),
    ("groups remove-members g somebody", 1),
]


@pytest.mark.parametrize(("line", "code"), MISSING)
def test_what_is_missing_has_the_same_code_in_a_dry_run(world: World, line: str, code: int) -> None:
    dry = world(f"{line} --dry-run -o json", code=code)
    acted = world(f"{line} --yes -o json", code=code)
    if dry.out:
        assert statuses(dry) == [status.replace("done", "planned") for status in statuses(acted)]
        assert "refused" in statuses(acted)


@pytest.mark.parametrize(
    "line", ["groups delete g h", "groups delete-offsets g -t t", "groups remove-members g"]
)
def test_what_brokers_would_deny_is_refused_in_the_plan(live: World, line: str) -> None:
    live.cluster.configure_groups(operations=1 << AclOperation.DESCRIBE)
    since = len(live.cluster.requests)
    for how in ("--dry-run", "--yes"):
        done = live(f"{line} {how} -o json", code=4)
        assert set(statuses(done)) == {"refused"}
        assert "GROUP_AUTHORIZATION_FAILED (30)" in done.err
    assert changes(one for one in live.cluster.requests[since:] if one.client_id != MEMBER) == []
    assert live.journals() == []


def test_offsets_of_a_topic_that_may_not_be_read_are_refused(world: World) -> None:
    world.cluster.settings.topic_operations = 1 << 8
    for how in ("--dry-run", "--yes"):
        done = world(f"groups delete-offsets g -t t {how} -o json", code=4)
        assert statuses(done) == ["refused", "refused"]
        assert "no READ permission on topic t" in done.err
    plan = world("groups delete-offsets g -t t --dry-run", code=4).out
    assert plan.count("refused: TOPIC_AUTHORIZATION_FAILED") == 2
    assert committed(world.cluster) == OFFSETS


LIVE = [
    ("groups delete g", ["refused"]),
    ("groups delete g h", ["refused", "planned"]),
    ("groups delete-offsets g -t t:0", ["refused"]),
    ("groups delete-offsets g -t t:0 -t u", ["refused", "planned"]),
]


@pytest.mark.parametrize(("line", "planned"), LIVE)
def test_a_live_group_is_refused_alike(live: World, line: str, planned: list[str]) -> None:
    assert statuses(live(f"{line} --dry-run -o json", code=7)) == planned
    acted = live(f"{line} --yes -o json", code=7)
    assert statuses(acted) == [word.replace("planned", "done") for word in planned]
    assert T0 in committed(live.cluster)


# --- documents ---------------------------------------------------------------------------------------------------

VERBS = {
    "GroupDelete": "groups delete g",
    "OffsetDelete": "groups delete-offsets g -t t -t u",
    "MemberRemove": "groups remove-members g",
}


@pytest.mark.parametrize("form", ["json", "ndjson", "yaml", "csv", "tsv", "name", "plain", "table"])
@pytest.mark.parametrize("kind", VERBS)
def test_plan_and_report_are_on_stdout_in_every_format(live: World, kind: str, form: str) -> None:
    code = 0 if kind == "MemberRemove" else 7
    done = live(f"{VERBS[kind]} --dry-run -o {form}", code=code)
    acted = live(f"{VERBS[kind]} --yes -o {form}", code=code)
    for ending, one in (("Plan", done), ("Report", acted)):
        if form == "json":
            assert document(one)["kind"] == kind + ending
        elif form == "ndjson":
            assert {json.loads(line)["kind"] for line in one.out.splitlines()} == {f"{kind}{ending}Item"}
        else:
            assert one.out


# --- read back -------------------------------------------------------------------------------------------------

LOST = {
    "groups delete g": DeleteGroupsRequest,
    "groups delete-offsets g -t t": OffsetDeleteRequest,
    "groups remove-members g": LeaveGroupRequest,
}


@pytest.mark.parametrize("line", LOST)
def test_a_lost_answer_is_settled_by_what_is_read_back(live: World, line: str) -> None:
    if "remove" not in line:
        line = line.replace(" g", " h")
    api = LOST[line.replace(" h", " g")]
    lost = live.cluster.fail(api, Code.REQUEST_TIMED_OUT, applied=True, times=FOREVER)
    done = live(f"{line} --yes --timeout 2s -o json")
    assert (set(statuses(done)), lost.count > 1) == ({"done"}, True)


@pytest.mark.parametrize("line", ["groups delete h", "groups delete-offsets h -t t"])
def test_what_is_there_after_a_lost_answer_is_unknown(world: World, line: str) -> None:
    world.cluster.fail(LOST[line.replace(" h", " g")], Code.REQUEST_TIMED_OUT, times=FOREVER)
    done = world(f"{line} --yes --timeout 1s -o json", code=3)
    assert set(statuses(done)) == {"unknown"}
    assert document(done)["undo"] == world.journals()[0].stem


def test_an_offset_that_is_there_after_it_was_deleted_is_a_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Admin, "delete_offsets", lambda _, wanted: {"g": dict.fromkeys(wanted["g"])})
    done = world("groups delete-offsets g -t u --yes -o json", code=7)
    assert statuses(done) == ["failed"]
    assert "the offset of u-0 of group g was deleted, and is there" in done.err
    assert len(world.journals()) == 1


# --- scope ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["--dry-run", "--yes"])
def test_groups_that_a_broker_does_not_list_are_in_the_account(world: World, how: str) -> None:
    node = world.cluster.coordinator("group", "g")
    world.cluster.fail(ListGroupsRequest, Code.COORDINATOR_NOT_AVAILABLE, node=node, times=FOREVER)
    done = world(f"groups delete --match [gh] {how} --timeout 1s -o json", code=3)
    (unlisted,) = [item for item in document(done)["items"] if item["group"] is None]
    assert unlisted["status"] == "refused"
    assert f"broker {node}" in done.err
    assert "g" not in [item["group"] for item in document(done)["items"]]


def test_a_group_that_vanished_after_it_was_listed_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Admin.list_groups

    def and_gone(admin: Admin, **how: Any) -> Any:
        found = listed(admin, **how)
        admin.delete_groups([row.group_id for row in found.groups if row.group_id == "h"])
        return found

    monkeypatch.setattr(Admin, "list_groups", and_gone)
    done = world("groups delete --match [gh] --yes -o json", code=6)
    assert statuses(done) == ["done", "refused"]
    assert "group h does not exist" in done.err


def test_a_group_that_vanishes_during_the_question_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered(*_asked: object) -> None:
        with Admin(bootstrap_servers=world.cluster.bootstrap) as admin:
            admin.delete_groups(["g"])

    monkeypatch.setattr(changing, "ask", answered)
    assert statuses(world("groups delete g --yes -o json", code=1)) == ["refused"]


def test_a_group_that_commits_elsewhere_during_the_question_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        changing, "ask", lambda *_: commit(world.cluster, "g", {TopicPartition("u", 1): OffsetAndMetadata(1)})
    )
    done = world("groups delete g --yes", code=7)
    assert "group g has changed since the plan was shown" in done.err
    assert U0 in committed(world.cluster)


# --- the journal, and what it is for -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("groups delete g h", "6 committed offsets of g, h"),
        ("groups delete-offsets g -t t", "2 committed offsets of g"),
    ],
)
def test_what_was_deleted_can_be_restored(world: World, line: str, what: str) -> None:
    said = world(f"{line} --yes").err
    (journal,) = world.journals()
    assert (journal.stat().st_mode & 0o777, f"Undo with: kcli undo {journal.stem}" in said) == (0o600, True)
    (row,) = document(world("undo -o json"))["items"]
    assert (row["id"], row["command"], row["what"]) == (journal.stem, " ".join(line.split()[:2]), what)
    assert row["entries"][0] == {
        "what": "offset", "group": "g", "topic": "t", "partition": 0, "committed": 3, "metadata": "mine",
        "leader_epoch": 0, "topic_id": row["entries"][0]["topic_id"],
    }  # fmt: skip
    assert row["entries"][0]["topic_id"]
    assert set(statuses(world.undo("--dry-run -o json"))) == {"planned"}
    assert "confirmation required" in world.undo("", code=2).err
    assert committed(world.cluster) != OFFSETS
    assert set(statuses(world.undo("--yes -o json"))) == {"done"}
    assert committed(world.cluster) == OFFSETS
    assert set(statuses(world.undo("--yes -o json"))) == {"unchanged"}
    lines = [
        world(f"undo {more} -o ndjson").out
        for more in ("", f"{journal.stem} --dry-run", f"{journal.stem} --yes")
    ]
    assert [json.loads(text.splitlines()[0])["kind"] for text in lines] == [
        "UndoJournal", "OffsetRestorePlanItem", "OffsetRestoreReportItem",
    ]  # fmt: skip


def test_the_journal_is_on_disk_before_the_request(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_admin: object) -> None:
        assert len(world.journals()) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(Admin, "delete_groups", stopped)
    said = world("groups delete g --yes", code=130).err
    assert f"Undo with: kcli undo {world.journals()[0].stem}" in said


def test_without_a_journal_nothing_is_deleted(world: World) -> None:
    (world.folder / "file").write_text("")
    said = world("groups delete g --yes", code=1, XDG_STATE_HOME=str(world.folder / "file")).err
    assert "set XDG_STATE_HOME to a writable directory" in said
    assert committed(world.cluster) == OFFSETS


def test_a_deletion_that_failed_leaves_no_journal(world: World) -> None:
    world.cluster.fail(DeleteGroupsRequest, Code.NON_EMPTY_GROUP, times=FOREVER)
    said = world("groups delete g --yes", code=7).err
    assert (world.journals(), "Undo with" in said) == ([], False)


def test_offsets_that_were_committed_since_stay(world: World) -> None:
    world("groups delete g --yes")
    commit(world.cluster, "g", {T0: OffsetAndMetadata(9)})
    for how, rest in (("--dry-run", "planned"), ("--yes", "done")):
        done = world.undo(f"{how} -o json", code=7)
        assert statuses(done) == ["refused", rest, rest]
        assert "the group has committed 9 since" in done.err
    assert committed(world.cluster) == {**OFFSETS, T0: OffsetAndMetadata(9)}


def test_nothing_is_restored_while_the_group_has_members(world: World) -> None:
    world("groups delete g --yes")
    with others(world.cluster.bootstrap, "t", "g", 1, client_id=MEMBER, **QUICK):
        world.cluster.wait_until(lambda: world.cluster.group_members("g"))
        for how in ("--dry-run", "--yes"):
            assert "NON_EMPTY_GROUP (68)" in world.undo(how, code=7).err


@pytest.mark.parametrize("how", ["--dry-run", "--yes"])
def test_a_topic_of_the_same_name_is_another_one(world: World, how: str) -> None:
    world("groups delete g --yes")
    undo = f"undo {world.journals()[0].stem} {how}"
    world("topics delete t --yes")
    assert "topic t does not exist" in world(undo, code=6).err
    world("topics create t --partitions 2")
    done = world(f"{undo} -o json", code=5)
    assert statuses(done)[:2] == ["refused", "refused"]
    assert "topic t was deleted and created anew" in done.err


def test_an_undo_needs_the_permissions_of_a_commit(world: World) -> None:
    world("groups delete g --yes")
    world.cluster.settings.topic_operations = 1 << 8
    for how in ("--dry-run", "--yes"):
        assert "no READ permission on topic t" in world.undo(how, code=4).err


def test_a_lost_commit_of_an_undo_is_read_back(world: World) -> None:
    world("groups delete g --yes")
    world.cluster.fail(OffsetCommitRequest, Code.REQUEST_TIMED_OUT, applied=True, times=FOREVER)
    assert set(statuses(world.undo("--yes --timeout 2s -o json"))) == {"done"}


def test_a_journal_of_another_cluster_is_refused(world: World) -> None:
    world("groups delete g --yes")
    with FakeCluster(1, topics={"t": 1}, cluster_id="another") as other:
        done = kcli(
            "undo",
            world.journals()[0].stem,
            "--yes",
            bootstrap=other.bootstrap,
            XDG_STATE_HOME=str(world.folder / "state"),
        )
        listed = kcli("undo", bootstrap=other.bootstrap, XDG_STATE_HOME=str(world.folder / "state"))
    assert (done.code, "is not of this cluster" in done.err) == (2, True)
    assert (listed.code, "no change of this cluster" in listed.err) == (0, True)


def test_files_that_are_no_journals_are_named(world: World) -> None:
    world("groups delete g --yes")
    (journal,) = world.journals()
    other = journal.with_name("20261121-091403-3fa9c1.json")
    other.write_text("{")
    assert f"{other} is not a journal" in world("undo").err
    assert "cannot read the journal" in world(f"undo {other.stem}", code=1).err
    assert "there is no journal ../x" in world("undo ../x", code=1).err


def test_a_read_only_profile_lists_and_does_not_undo(world: World) -> None:
    world("groups delete g --yes")
    (world.folder / "kcli").mkdir()
    (world.folder / "kcli/config.toml").write_text(
        f'[profiles.locked]\nbootstrap.servers = "{world.cluster.bootstrap}"\nread_only = true\n'
    )
    world("undo --profile locked")
    assert "profile locked is read-only" in world.undo("--yes --profile locked", code=7).err


def test_a_group_of_kclis_own_is_restored_by_its_name(world: World) -> None:
    own = "__kcli.mirror.x"
    commit(world.cluster, own, {T0: OffsetAndMetadata(3)})
    world(f"groups delete {own} --confirm {own}")
    assert f"{own} is kcli's own" in world.undo("--yes", code=2).err
    world.undo(f"--confirm {own}")
    assert committed(world.cluster, own) == {T0: OffsetAndMetadata(3)}


def test_offsets_that_cannot_be_read_are_not_in_the_journal(world: World) -> None:
    world.cluster.fail(OffsetFetchRequest, Code.GROUP_AUTHORIZATION_FAILED, times=FOREVER)
    done = world("groups delete g --yes -o json")
    assert any("cannot be restored" in warning for warning in document(done)["warnings"])
    assert (world.journals(), "undo" in document(done)) == ([], False)


def test_the_folder_of_a_journal_is_private(world: World) -> None:
    world("groups delete g --yes")
    assert os.stat(world.journals()[0].parent).st_mode & 0o777 == 0o700
