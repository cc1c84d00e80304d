"""``kcli mirror --sync-acls`` between two fake clusters: planned, created, deleted, refused, lost and followed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.create_acls import CreateAclsRequest
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.delete_acls import DeleteAclsRequest
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.cli.test_acls import KEYS, acl
from tests.committing import commit
from tests.fake.acl_admin import Acl
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.mirror_command import arguments, running, until, values
from tests.run import Done
from tests.run import kcli_as_set_up as command

READS = "User:ann allow read topic t literal *"
WRITES = "User:ann allow write topic t literal *"
DENIES = "User:eve deny all topic t literal *"
MEMBER = "User:ann allow read group g literal *"
OLD = "User:old allow read topic t literal *"
SYNC = ("--sync-acls", "--until-caught-up")
FOLLOW = ("--sync-acls", "-X", "metadata.max.age.ms=200")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1, "other": 1}) as made:
        made.append("t", 0, batch(b"one"))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def give(cluster: FakeCluster, *lines: str) -> None:
    cluster.acls.update(map(acl, lines))


def has(cluster: FakeCluster, *lines: str) -> bool:
    return cluster.acls == {acl(line) for line in lines}


def sync(source: FakeCluster, target: FakeCluster, *more: str, code: int = 0) -> Done:
    done = command(*arguments(source, target, *SYNC, *more))
    assert done.code == code, done
    return done


def account(source: FakeCluster, target: FakeCluster, *more: str, code: int = 0) -> set[str]:
    """``ACT STATUS`` and the ACL."""
    document: dict[str, Any] = json.loads(sync(source, target, "-o", "json", *more, code=code).out)
    assert document["kind"] in ("MirrorPlan", "MirrorReport")
    return {f"{row['act']} {row['status']} {' '.join(row[key] for key in KEYS)}" for row in document["acls"]}


def untouched(target: FakeCluster) -> bool:
    """Topics may have been validated."""
    writes: tuple[type[Request], ...] = (ProduceRequest, CreateAclsRequest, DeleteAclsRequest)
    created = target.seen(CreateTopicsRequest)
    return not target.seen(writes) and all(one.request.validate_only for one in created)


# --- what is synced ------------------------------------------------------------------------------------


def test_what_the_plan_says_is_what_is_done_and_then_unchanged(
    source: FakeCluster, target: FakeCluster
) -> None:
    give(source, READS, WRITES, DENIES, MEMBER, "User:ann allow read topic other literal *")
    commit(source, "g", {TopicPartition("t", 0): OffsetAndMetadata(0)})
    more = ("--sync-groups", "g")
    changes = {READS, DENIES, MEMBER}
    held = {f"hold unchanged {WRITES}"}
    plan = account(source, target, *more, "--dry-run")
    assert plan == {f"create planned {one}" for one in changes} | held
    assert untouched(target)
    assert account(source, target, *more) == {f"create done {one}" for one in changes} | held
    assert has(target, *changes)
    assert account(source, target, *more) == {f"create unchanged {one}" for one in changes} | held


def test_the_plan_is_shown_and_said_to_be_done(source: FakeCluster, target: FakeCluster) -> None:
    give(source, READS, WRITES)
    shown = sync(source, target, "--dry-run").out
    assert "ACLs: 1 to be created, 1 not before the job is promoted" in shown
    assert re.search("create +User:ann +allow +read +topic +t", shown)
    assert re.search("hold +User:ann +allow +write +topic +t .*not before the job is promoted", shown)
    assert "created 1 ACL of the target, read back" in sync(source, target).err
    assert "ACLs: 1 there already, 1 not before" in sync(source, target).err


def test_without_the_option_and_without_groups_nothing_is_read(
    source: FakeCluster, target: FakeCluster
) -> None:
    give(source, READS, MEMBER)
    document = json.loads(command(*arguments(source, target, "--until-caught-up", "-o", "json")).out)
    assert "acls" not in document
    assert not source.seen(DescribeAclsRequest)
    assert account(source, target) == {f"create done {READS}"}
    assert has(target, READS)


def test_renamed_topics_and_mapped_principals(source: FakeCluster, target: FakeCluster) -> None:
    give(
        source,
        READS,
        "User:bob allow all topic t prefixed 192.0.2.7",
        "User:* deny write topic * literal *",
    )
    rules = ("--map-topic", "t=copy", "--map-principal", "User:ann=User:dr-ann")
    sync(source, target, *rules, "--map-principal", r"^User:(.*)$=User:x-\1")
    assert has(
        target,
        "User:dr-ann allow read topic copy literal *",
        "User:x-bob allow read topic copy literal 192.0.2.7",
        "User:x-bob allow describe_configs topic copy literal 192.0.2.7",
        "User:* deny write topic copy literal *",
    )


def test_a_prefix_is_kept_where_the_pattern_selects_it(source: FakeCluster, target: FakeCluster) -> None:
    prefixed = "User:ann allow read topic ot prefixed *"
    give(source, prefixed)
    sync(source, target, "-t", "o*")
    assert has(target, prefixed)
    target.acls.clear()
    sync(source, target, "-t", "other", "--job", "k", "--yes")
    assert has(target, "User:ann allow read topic other literal *")


def test_a_rule_that_maps_nobody_is_a_warning(source: FakeCluster, target: FakeCluster) -> None:
    give(source, READS)
    done = sync(source, target, "--map-principal", "User:anne=User:x", "-o", "json")
    said = "--map-principal User:anne=User:x maps no principal of the ACLs"
    assert f"warning: {said}" in done.err
    assert said in json.loads(done.out)["warnings"]


def test_an_acl_that_lets_others_write_to_the_copy_is_a_warning(
    source: FakeCluster, target: FakeCluster
) -> None:
    give(source, WRITES)
    give(target, WRITES)
    assert "may change the copy before the job is promoted" in sync(source, target).err
    assert has(target, WRITES)


def test_an_acl_that_would_keep_the_mirror_itself_from_writing_is_a_warning(
    source: FakeCluster, target: FakeCluster
) -> None:
    give(source, "User:* deny write topic t literal *")
    said = "ACL deny User:* write topic t (literal) from * is for the mirror itself, too"
    assert said in sync(source, target, "--dry-run").err
    assert said in sync(source, target).err
    assert said not in sync(source, target).err, "it is there"


def test_many_acls_are_created_in_several_requests(source: FakeCluster, target: FakeCluster) -> None:
    source.acls.update(acl(f"User:u{number} allow read topic t literal *") for number in range(2_500))
    sync(source, target)
    assert target.acls == source.acls
    assert [len(one.request.creations) for one in target.seen(CreateAclsRequest)] == [1_000, 1_000, 500]
    assert len(target.seen(DescribeAclsRequest)) < 10


# --- what is pruned ------------------------------------------------------------------------------------


@pytest.fixture
def old(source: FakeCluster, target: FakeCluster) -> FakeCluster:
    give(source, READS)
    give(
        target, READS, OLD, "User:old allow write topic t literal *", "User:old allow read topic x literal *"
    )
    return target


def test_without_prune_nothing_is_deleted(source: FakeCluster, old: FakeCluster) -> None:
    assert account(source, old) == {f"create unchanged {READS}"}
    assert acl(OLD) in old.acls


def test_pruning_is_planned_asked_done_and_undone(source: FakeCluster, old: FakeCluster, state: Path) -> None:
    before = set(old.acls)
    assert f"delete planned {OLD}" in account(source, old, "--prune-acls", "--dry-run")
    refused = sync(source, old, "--prune-acls", code=2)
    assert "confirmation required, and there is no terminal: Delete 1 ACL?" in refused.err
    assert untouched(old)
    done = sync(source, old, "--prune-acls", "--yes")
    assert re.search("delete +User:old +allow +read", done.err)
    assert "deleted 1 ACL of the target, read back" in done.err
    assert old.acls == before - {acl(OLD)}
    (journal,) = (path.stem for path in (state / "kcli/journal/there").glob("*.json"))
    assert f"Undo with: kcli undo {journal}, on the target" in done.err
    assert command("undo", journal, "--yes", "-b", old.bootstrap).code == 0
    assert old.acls == before
    assert command("undo", journal, "--yes", "-b", source.bootstrap).code == 2, "it is of the target"


def test_the_principal_answers_and_nothing_else(source: FakeCluster, old: FakeCluster) -> None:
    assert "does not name" in sync(source, old, "--prune-acls", "--confirm", "User:ann", code=2).err
    assert acl(OLD) in old.acls
    sync(source, old, "--prune-acls", "--confirm", "User:old")
    assert acl(OLD) not in old.acls


def test_a_protected_profile_asks_for_the_name(
    source: FakeCluster, old: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config = tmp_path / "kcli" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[profiles.west]\n"bootstrap.servers" = "{old.bootstrap}"\nprotected = true\n')
    line = [
        "mirror",
        "--from",
        source.bootstrap,
        "--to",
        "west",
        "-t",
        "t",
        "--job",
        "j",
        *SYNC,
        "--prune-acls",
    ]
    for more in ((), ("--dry-run",)):
        done = command(*line, "--yes", *more)
        assert done.code == 2, done
        assert "Profile west is protected" in done.err
    assert untouched(old)
    assert command(*line, "--confirm", "User:old").code == 0
    assert acl(OLD) not in old.acls


def test_one_question_where_the_target_has_records_and_acls_are_deleted(
    source: FakeCluster, old: FakeCluster
) -> None:
    old.create_topic("t", 1)
    old.append("t", 0, batch(b"older"))
    asked = "Copy to t, which has records already? Delete 1 ACL?"
    assert asked in sync(source, old, "--prune-acls", code=2).err
    sync(source, old, "--prune-acls", "--yes")
    assert acl(OLD) not in old.acls


def test_what_denies_is_deleted_last_and_not_where_what_allows_remains(
    source: FakeCluster, target: FakeCluster
) -> None:
    denies = "User:old deny all topic t literal *"
    give(target, OLD, denies)
    target.fail(DeleteAclsRequest, Code.POLICY_VIOLATION)
    assert account(source, target, "--prune-acls", "--yes", code=6) == {
        f"delete failed {OLD}",
        f"delete failed {denies}",
    }
    assert has(target, OLD, denies)
    (only,) = target.seen(DeleteAclsRequest)
    assert len(only.request.filters) == 1
    sync(source, target, "--prune-acls", "--yes")
    assert has(target)
    assert [
        row.permission_type for one in target.seen(DeleteAclsRequest)[1:] for row in one.request.filters
    ] == [3, 2]


# --- what cannot be done -------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_cluster_without_authorizer_is_refused_by_name(side: str, more: tuple[str, ...]) -> None:
    with (
        FakeCluster(1, topics={"t": 1}, authorizer=side != "source") as source,
        FakeCluster(1, topics={}, cluster_id="there", authorizer=side != "target") as target,
    ):
        done = sync(source, target, *more, code=7)
        assert f"--sync-acls: the {side} has no authorizer" in done.err
        assert "leave --sync-acls out" in done.err
        assert untouched(target)


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_without_describe_on_a_cluster_it_is_refused_with_the_command_that_grants_it(
    source: FakeCluster, target: FakeCluster, side: str, more: tuple[str, ...]
) -> None:
    cluster = source if side == "source" else target
    cluster.fail(DescribeAclsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    done = sync(source, target, *more, code=4)
    assert f"DESCRIBE on the {side} cluster, for --sync-acls" in done.err
    assert (
        f"kcli acls create -b {cluster.bootstrap} --principal User:NAME --operation describe --cluster"
        in done.err
    )
    assert untouched(target)


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_without_alter_on_the_target_nothing_begins(source: FakeCluster, more: tuple[str, ...]) -> None:
    describe, create = 1 << 8, 1 << 5
    with FakeCluster(1, topics={}, cluster_id="there", cluster_operations=describe | create) as target:
        sync(source, target, *more)  # nothing to be created
        target.delete_topic("t") if not more else None
        give(source, READS)
        done = sync(source, target, *more, "--job", "k", code=4)
        assert "ALTER on the target cluster, for --sync-acls" in done.err
        assert "--operation alter --cluster" in done.err
        assert not target.seen(CreateAclsRequest)


def test_an_acl_that_the_target_refuses_is_named_and_the_rest_is_done(
    source: FakeCluster, target: FakeCluster
) -> None:
    give(source, READS)
    bad = Acl(2, "t", 3, "nobody", "*", 3, 3)
    source.acls.add(bad)
    assert account(source, target, code=6) == {
        f"create done {READS}",
        "create failed nobody allow read topic t literal *",
    }
    assert has(target, READS)
    assert len(target.seen(DescribeAclsRequest)) < 10, "what was refused is not waited for"
    assert values(target, "t") == [b"one"]
    assert "creating ACL allow nobody read topic t" in sync(source, target, code=6).err


def test_an_acl_of_an_unknown_kind_is_named(source: FakeCluster, target: FakeCluster) -> None:
    give(source, READS)
    source.acls.add(Acl(2, "t", 9, "User:ann", "*", 3, 3))
    for more in (("--dry-run",), ()):
        done = sync(source, target, *more, code=6)
        assert "User:ann read topic t (unknown (9)) from * of the source is not carried over" in done.err


def test_an_acl_of_an_unknown_kind_may_deny(source: FakeCluster, target: FakeCluster) -> None:
    give(source, READS, "User:bob allow read topic t literal *")
    source.acls.add(Acl(2, "t", 9, "User:ann", "*", 3, 2))
    rows = account(source, target, "--map-principal", "User:ann=User:x", code=6)
    assert {one.partition(" User")[0] for one in rows if "User:x" in one} == {"create failed"}
    assert has(target, "User:bob allow read topic t literal *")


@pytest.mark.parametrize("principal", ["User:eve", "User:*"])
def test_nothing_is_allowed_before_what_denies_is_there(
    source: FakeCluster, target: FakeCluster, principal: str
) -> None:
    denies = f"{principal} deny read topic t literal *"
    allows = ["User:eve allow read topic t literal *", "User:* allow describe topic t literal *"]
    give(source, denies, *allows, READS)
    target.fail(CreateAclsRequest, Code.POLICY_VIOLATION)
    rows = account(source, target, code=6)
    assert {f"create failed {one}" for one in (denies, *allows)} <= rows
    done = f"create {'done' if principal == 'User:eve' else 'failed'} {READS}"
    assert done in rows
    assert all(one.permission_type == 3 and one.principal == "User:ann" for one in target.acls)
    sync(source, target)
    assert has(target, denies, *allows, READS)
    first, *_ = target.seen(CreateAclsRequest)
    assert {row.permission_type for row in first.request.creations} == {2}


@pytest.mark.parametrize("lost", [CreateAclsRequest, DeleteAclsRequest])
def test_a_lost_answer_is_settled_by_what_is_read_back(
    source: FakeCluster, target: FakeCluster, lost: type[Request]
) -> None:
    give(source, READS, DENIES)
    give(target, OLD)
    target.swallow(lost, "close", times=FOREVER)
    done = account(source, target, "--prune-acls", "--yes", "--timeout", "2s")
    assert done == {f"create done {READS}", f"create done {DENIES}", f"delete done {OLD}"}
    assert has(target, READS, DENIES)


def test_what_moved_while_the_question_was_open_is_not_deleted(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(target, OLD)
    real = "kcli.commands.shared.copy_plan.ask"
    monkeypatch.setattr(real, lambda *_: target.acls.clear())
    assert account(source, target, "--prune-acls") == {f"delete unchanged {OLD}"}
    assert not target.seen(DeleteAclsRequest)


def test_the_source_is_read_again_before_the_act(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question may have been open for long: what the source has by now is not deleted, nor what it lost created."""
    give(source, READS)
    give(target, OLD)

    def answer(*_: object) -> None:
        source.acls.clear()
        give(source, OLD, DENIES)

    monkeypatch.setattr("kcli.commands.shared.copy_plan.ask", answer)
    rows = account(source, target, "--prune-acls", code=6)
    assert rows == {f"delete refused {OLD}", f"create unchanged {OLD}", f"create done {DENIES}"}
    assert has(target, OLD, DENIES)


# --- while it follows ----------------------------------------------------------------------------------


def test_a_follower_creates_what_is_added_and_only_says_what_is_gone(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(source, READS, WRITES)
    words = arguments(source, target, *FOLLOW, "--prune-acls", "-o", "json")
    with running(monkeypatch, *words) as mirror:
        until(lambda: has(target, READS))
        give(source, DENIES)
        until(lambda: has(target, READS, DENIES))
        source.acls.difference_update({acl(READS), acl(WRITES)})
        looks = len(source.seen(DescribeAclsRequest))
        until(lambda: len(source.seen(DescribeAclsRequest)) > looks + 3)
        assert has(target, READS, DENIES)
        mirror.stop()
        done = mirror.done()
    assert done.code == 130
    assert done.err.count("ACL deny User:eve all topic t (literal) from * was created on the target") == 1
    gone = "ACL allow User:ann read topic t (literal) from * stays on the target, and the source has nothing"
    assert done.err.count(f"warning: {gone}") == 1
    assert "warning: ACL allow User:ann write" not in done.err, "it was never there"
    assert not target.seen(DeleteAclsRequest)
    rows = json.loads(done.out)["acls"]
    assert {(row["principal"], row["act"], row["status"]) for row in rows} == {
        ("User:ann", "create", "done"),
        ("User:eve", "create", "done"),
    }


def test_what_was_deleted_on_the_target_comes_back_and_new_topics_get_theirs(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(source, "User:ann allow read topic * literal *")
    with running(monkeypatch, *arguments(source, target, *FOLLOW, "-t", "t*")) as mirror:
        until(lambda: has(target, READS))
        target.acls.clear()
        until(lambda: has(target, READS))
        source.create_topic("tt", 1)
        source.append("tt", 0, batch(b"new"))
        until(lambda: has(target, READS, "User:ann allow read topic tt literal *"))
        until(lambda: values(target, "tt"))
        mirror.stop()
        assert mirror.done().code == 130


def test_a_sync_that_fails_is_said_once_tried_again_and_counts_only_while_it_fails(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(monkeypatch, *arguments(source, target, *FOLLOW)) as mirror:
        until(lambda: target.seen(ProduceRequest))
        target.fail(CreateAclsRequest, Code.POLICY_VIOLATION, times=3)
        give(source, READS)
        until(lambda: has(target, READS))
        source.fail(DescribeAclsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
        looks = len(source.seen(DescribeAclsRequest))
        until(lambda: len(source.seen(DescribeAclsRequest)) > looks + 4)
        mirror.stop()
        done = mirror.done()
    assert done.code == 130
    assert done.err.count("warning: ACL allow User:ann read topic t (literal) from * of the target: ") == 1
    assert "ACL allow User:ann read topic t (literal) from * was created on the target" in done.err
    assert done.err.count("warning: syncing ACLs failed: ") == 1
    assert "kcli: listing ACLs" in done.err, "how it stands at the end"
