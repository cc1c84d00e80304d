"""``kcli apply`` as a user runs it: the plan, its order, what is refused while the rest goes on, and the way back."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kcli.core.protocol.messages.create_acls import CreateAclsRequest
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.resources import apply
from kcli.flows.resources.resource import acl_name, quota_name
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import commit, put
from tests.fake.acl_admin import Acl
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.rewinding import others
from tests.run import Done, kcli

PASSWORD = "s3cret-of-bob"
WHOLE = """\
{apiVersion: kcli/v1, kind: GroupConfig, metadata: {name: g}, spec: {config: {consumer.session.timeout.ms: 50000}}}
---
{apiVersion: kcli/v1, kind: BrokerConfig, metadata: {name: default}, spec: {config: {message.max.bytes: 2000000}}}
---
{apiVersion: kcli/v1, kind: Quota, spec: {entity: {user: bob}, limits: {producer_byte_rate: 1024}}}
---
{apiVersion: kcli/v1, kind: User, metadata: {name: bob}, spec: {password_env: BOB,
  mechanisms: {SCRAM-SHA-512: {iterations: 4096}}}}
---
{apiVersion: kcli/v1, kind: AclBinding, spec: {principal: "User:bob", permission: allow, operations: [read, describe],
  resource_type: topic, resource_name: orders, pattern: literal, host: "*"}}
---
{apiVersion: kcli/v1, kind: Topic, metadata: {name: orders}, spec: {partitions: 2, replication_factor: 1,
  config: {retention.ms: 5000}}}
---
{apiVersion: kcli/v1, kind: Topic, metadata: {name: old}, spec: {config: {retention.ms: 7000}}}
"""
REFS = {
    "Topic": ["orders", "old"],
    "User": ["bob"],
    "BrokerConfig": ["default"],
    "GroupConfig": ["g"],
}


class World:
    """A cluster with a topic, and files."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.files = 0

    def __call__(self, line: str, code: int | None = 0, **more: str) -> Done:
        """``code`` None: any."""
        folders = {"XDG_STATE_HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder), "BOB": PASSWORD}
        words = [*line.split(), "--allow-plaintext-secrets"]
        bootstrap = more.pop("bootstrap", self.cluster.bootstrap)
        done = kcli(*words, bootstrap=bootstrap, **{**folders, **more})
        assert code is None or done.code == code, done.err
        remedies_are_of(words[0], done.err)
        return done

    def file(self, *documents: str) -> str:
        self.files += 1
        path = self.folder / f"{self.files}.yaml"
        path.write_text("\n---\n".join(documents))
        return str(path)

    def items(self, line: str, code: int | None = 0) -> list[dict[str, Any]]:
        return self(f"{line} -o json", code).items

    def rows(self, line: str, code: int | None = 0) -> dict[tuple[str, str], str]:
        """The status of each step."""
        return {(one["name"], one["part"] or ""): one["status"] for one in self.items(line, code)}

    @property
    def export(self) -> str:
        return self("export").out


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FakeCluster(2, topics={}) as cluster:
        cluster.create_topic("old", 2, replication=1)
        yield World(cluster, tmp_path)


def remedies_are_of(command: str, said: str) -> None:
    """An option that a remedy names beside command lines is one of this command."""
    for remedy in re.findall(r"^  do: (.*)$", said, re.MULTILINE):
        for option in re.findall(r"(?<!\S)--[a-z-]+", re.sub(r"`[^`]*`", "", remedy)):
            assert option in options_of(command), remedy


@cache
def options_of(command: str) -> str:
    return kcli(command, "--help").out


def topic(name: str, **spec: Any) -> str:
    return json.dumps({"apiVersion": "kcli/v1", "kind": "Topic", "metadata": {"name": name}, "spec": spec})


def document(kind: str, name: str, **spec: Any) -> str:
    return json.dumps({"apiVersion": "kcli/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


def acl(name: str) -> str:
    spec = {"principal": "User:bob", "permission": "allow", "operation": "read", "resource_type": "topic"}
    return json.dumps(
        {"apiVersion": "kcli/v1", "kind": "AclBinding", "spec": {**spec, "resource_name": name}}
    )


def in_order(text: str, *parts: str) -> None:
    places = [text.index(part) for part in parts]
    assert places == sorted(places), text


def test_a_plan_is_in_the_order_of_the_act_and_the_account_has_every_resource(world: World) -> None:
    file = world.file(WHOLE)
    plan = world(f"apply {file} --dry-run").out
    in_order(
        plan,
        "Create topics:",
        "Create 2 ACLs:",
        "Set SCRAM credentials of user bob",
        "Change the quotas of user bob",
        "retention.ms: 604800000 (7 d) (default) → 7000 (7 s) (topic)",
        "message.max.bytes",
    )
    assert PASSWORD not in plan
    before = world.export
    done = world(f"apply {file} --yes -o json")
    assert {one["status"] for one in done.items} == {"done"}
    found = {(one["resource"], one["name"]) for one in done.items}
    assert found >= {(kind, name) for kind, names in REFS.items() for name in names}
    assert len(found) == 8, "two ACLs and a quota besides"
    assert world.export != before
    assert PASSWORD not in done.out + done.err
    again = world(f"apply {file} --yes -o json")
    assert {one["status"] for one in again.items} == {"unchanged"}
    assert "undo" not in json.loads(again.out)
    assert "8 resources are as wanted" in world(f"apply {file} --yes").err
    assert world(f"diff {file}").code == 0


def test_an_undo_makes_all_of_it_undone_and_names_are_typed(world: World) -> None:
    world.cluster.create_topic("left", 1)
    world("acls create --principal User:eve --operation write --topic left --yes")
    before = world.export
    file = world.file(WHOLE)
    done = world(f"apply {file} --yes --prune --match * -o json")
    journal = json.loads(done.out)["undo"]
    assert "left" not in world.export
    assert PASSWORD not in "".join(path.read_text() for path in world.folder.glob("kcli/journal/*/*.json"))
    (row,) = [one for one in world.items("undo") if one["id"] == journal]
    assert "topic orders, created" in row["what"]
    assert {one["what"] for one in row["entries"]} == {
        "created_topic", "created_acl", "created_user", "quota", "config", "acl", "topic",
    }  # fmt: skip
    plan = world(f"undo {journal} --dry-run").out
    in_order(plan, "Create 1 topic again", "Last, what removes something", "Delete topic orders")
    assert "confirmation by name" not in world(f"undo {journal} --no-input", 2).err
    world(f"undo {journal} --yes")
    assert world.export == before
    undone = world.items("undo")[-1]["id"]
    again = world.rows(f"undo {journal} --yes", 7)
    assert {key for key, status in again.items() if status != "unchanged"} == {("left", "")}, (
        "it is there again"
    )
    world(f"undo {undone} --yes", 7)  # the password of a user is not there any more
    assert "name: orders" in world.export
    world(f"undo {world.items('undo')[-1]['id']} --yes")
    assert world.export == before, "an undo of an undo of an undo"


def test_what_cannot_be_undone_is_refused_and_said(world: World) -> None:
    world.file()
    world("apply " + world.file(WHOLE) + " --yes")
    more = world.file(
        topic("orders", partitions=3),
        document("User", "bob", password_env="BOB", mechanisms={"SCRAM-SHA-512": {"iterations": 5000}}),
    )
    journal = json.loads(world(f"apply {more} --yes -o json").out)["undo"]
    done = world(f"undo {journal} --yes", 7)
    assert "Kafka cannot remove partitions" in done.err
    assert "brokers return no passwords" in done.err


def test_a_topic_that_was_created_again_by_another_is_not_deleted_by_an_undo(world: World) -> None:
    file = world.file(topic("made", partitions=1))
    journal = json.loads(world(f"apply {file} --yes -o json").out)["undo"]
    world("topics delete made --yes")
    world("topics create made --partitions 1")
    done = world(f"undo {journal} --yes", 7)
    type_remedy("`kcli topics delete made` deletes it, if that is meant", done.err, world.cluster.bootstrap)
    assert "made" in world.export


def test_what_is_refused_does_not_keep_the_rest_from_being_done(world: World) -> None:
    file = world.file(
        topic("old", partitions=1, replication_factor=3, config={"retention.ms": 9}),
        topic("new", partitions=1),
    )
    rows = world.rows(f"apply {file} --yes", 7)
    assert rows == {
        ("new", ""): "done",
        ("old", "partitions"): "refused",
        ("old", "replication_factor"): "refused",
        ("old", "config.retention.ms"): "done",
    }
    assert "Kafka cannot remove partitions" in world(f"apply {file} --dry-run", 7).err


def test_a_cluster_without_an_authorizer_gets_all_but_acls(world: World) -> None:
    world.cluster.settings.authorizer = False
    rows = world.rows(f"apply {world.file(acl('x'), topic('new'))} --yes", 7)
    assert sorted(rows.values()) == ["done", "refused"]


def test_a_failure_of_one_stage_is_in_the_account_and_the_others_go_on(world: World) -> None:
    world.cluster.fail(CreateAclsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    rows = world.items(f"apply {world.file(WHOLE)} --yes", 4)
    assert {one["resource"] for one in rows if one["status"] == "failed"} == {"AclBinding"}
    assert {one["status"] for one in rows} == {"failed", "done"}
    world.cluster.heal()
    world(f"apply {world.file(WHOLE)} --yes")


def test_partitions_are_added_and_replicas_moved(world: World) -> None:
    world.cluster.create_topic("small", 1, replication=1)
    placed = {"0": [2], "1": [1], "2": [2, 1]}
    file = world.file(
        topic("small", partitions=3, replication_factor=2), topic("old", partitions=3, assignment=placed)
    )
    plan = world(f"apply {file} --dry-run").out
    in_order(plan, "partitions: 2 → 3, 1 added", "records with the same key", "Move replicas of")
    world(f"apply {file} --yes --throttle 50MB/s")
    assert world(f"diff {file}").code == 0
    journal = world.items("undo")[-1]["id"]
    world(f"undo {journal} --yes", 7)  # the added partitions stay
    assert "replication_factor: 2" not in world.export.partition("name: small")[2].partition("---")[0]


def test_an_added_partition_may_be_where_it_is_wanted_already(world: World) -> None:
    for broker in (1, 2):  # one of them has it by itself
        name = f"topic-{broker}"
        world.cluster.create_topic(name, 1, replicas={0: [1]})
        file = world.file(topic(name, partitions=2, assignment={"0": [1], "1": [broker]}))
        done = world(f"apply {file} --yes -o json")
        assert {item["status"] for item in done.items} == {"done"}
        world(f"diff {file}")


def test_a_move_that_an_earlier_run_has_begun_is_waited_for(world: World) -> None:
    world.cluster.create_topic("one", 1, replicas={0: [1]})
    world.cluster.settings.hold_reassignments = True
    moves = world.folder / "moves.json"
    rows = [{"topic": "one", "partition": 0, "replicas": [1, 2]}]
    moves.write_text(json.dumps({"version": 1, "partitions": rows}))
    world(f"reassign run {moves} --yes")
    file = world.file(topic("one", replication_factor=2))
    assert "the move has begun" in world(f"apply {file} --dry-run").out
    file = world.file(topic("one", replication_factor=2, config={"retention.ms": "9"}))
    assert "the move has begun" in world(f"apply {file} --dry-run").out  # whatever else is changed
    timer = threading.Timer(0.5, lambda: world.cluster.finish_reassignment("one", 0))
    timer.start()
    assert world.rows(f"apply {file} --yes") == {
        ("one", "replication_factor"): "done", ("one", "config.retention.ms"): "done",
    }  # fmt: skip
    timer.join()
    assert world(f"apply {file} --yes").err.count("as wanted") == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--prune", "--prune without --only and --match"),
        ("--prune --only offsets", "offsets say where an application goes on"),
        ("--only Quota", "none of 1 document is selected"),
        ("--throttle 50", "--throttle needs a unit"),
    ],
)
def test_lines_that_cannot_be_meant_are_2(world: World, line: str, said: str) -> None:
    err = world(f"apply {world.file(topic('old'))} {line} --yes", 2).err
    assert said in err
    if "offsets" in line:
        commit(world.cluster, "billing", {TopicPartition("old", 0): OffsetAndMetadata(0)})
        type_remedy(
            "`kcli groups delete GROUP` deletes a group with its offsets", err, world.cluster.bootstrap
        )


def test_prune_deletes_what_is_named_beside_it_and_nothing_of_kafka_or_kcli(world: World) -> None:
    for name in ("team-a", "team-b", "__kcli_mirror", "__consumer_offsets"):
        world.cluster.create_topic(name, 1)
    world.cluster.acls.add(Acl(2, "team-a", 3, "User:a", "*", 3, 3))
    world.cluster.acls.add(Acl(2, "old", 3, "User:a", "*", 3, 3))
    file = world.file(topic("team-b", partitions=1))
    plan = world(f"apply {file} --prune --match team-* --dry-run").out
    assert "Delete topic team-a: 1 partition, up to 0 records." in plan
    world(f"apply {file} --prune --match team-* --no-input", 2)
    world(f"apply {file} --prune --match team-* --yes")
    assert len(world.cluster.acls) == 2, "files have no ACL"
    assert set(world.rows(f"apply {file} --prune --only topics --yes")) == {("team-b", ""), ("old", "")}
    names = {one["name"] for one in world.items("topics list --internal")}
    assert names == {"team-b", "__kcli_mirror", "__consumer_offsets"}
    world(f"apply {file} --prune --only acls --yes")
    assert world.cluster.acls == set()


@pytest.mark.parametrize("where", ["_stages", "act"])
@pytest.mark.parametrize(
    ("prune", "kinds"),
    [
        (True, {"Topic", "AclBinding", "User", "Quota", "BrokerConfig", "GroupConfig"}),
        (False, {"Topic", "User", "Quota", "GroupOffsets"}),
    ],
)
def test_what_another_run_has_removed_meanwhile_is_as_wanted(
    world: World, monkeypatch: pytest.MonkeyPatch, where: str, prune: bool, kinds: set[str]
) -> None:
    """Of every kind; between the comparison and the plan, or between the plan and the act."""
    world(f"apply {world.file(WHOLE)} --yes")
    users = {"bob": {"SCRAM-SHA-256": {}}, "al": {"SCRAM-SHA-512": {}}}
    given = [document("User", name, password_env="BOB", mechanisms=each) for name, each in users.items()]
    world(f"apply {world.file(*given)} --yes")
    world("quotas alter --user al --set producer_byte_rate=5 --yes")
    world("quotas alter --user bob --set consumer_byte_rate=6 --yes")
    world("topics alter orders --set segment.bytes=1048576 --yes")
    for number in (0, 1):
        put(world.cluster, "orders", number)
    at = {TopicPartition("orders", number): OffsetAndMetadata(5) for number in (0, 1)}
    commit(world.cluster, "g", at)
    offsets = document("GroupOffsets", "g", offsets={"orders": {0: 5}})
    file = world.file(*WHOLE.split("---\n")[2:4], topic("orders", config={"retention.ms": 5000}), offsets)
    only = "--prune " + " ".join(f"--only {one}" for one in kinds) if prune else ""
    line = f"apply {file} --exact {only} --yes"
    other: list[dict[str, Any]] = []
    real = getattr(apply.Apply, where)

    def after_the_other(*args: Any) -> Any:
        monkeypatch.setattr(apply.Apply, where, real)
        other.extend(world.items(line))
        return real(*args)

    monkeypatch.setattr(apply.Apply, where, after_the_other)
    found = {one["status"] for one in world.items(line)}
    assert {one["resource"] for one in other if one["status"] == "done"} == kinds
    assert found == {"unchanged"}


def test_one_topic_that_is_pruned_is_confirmed_by_its_name_under_a_protected_profile(world: World) -> None:
    path = world.folder / "kcli/config.toml"
    path.parent.mkdir()
    path.write_text(f'[profiles.prod]\nbootstrap.servers = "{world.cluster.bootstrap}"\nprotected = true\n')
    path.chmod(0o600)
    line = f"apply {world.file(topic('new', partitions=1))} --prune --only Topic --profile prod"
    world(f"{line} --yes", 2, bootstrap="")
    world(f"{line} --confirm prod", 2, bootstrap="")
    world(f"{line} --confirm old", bootstrap="")
    assert "name: old" not in world.export


def test_exact_unsets_what_a_document_does_not_name(world: World) -> None:
    world("topics alter old --set retention.ms=5 --set segment.bytes=1048576 --yes")
    world("quotas alter --user bob --set producer_byte_rate=5 --set consumer_byte_rate=6 --yes")
    quota = "{apiVersion: kcli/v1, kind: Quota, spec: {entity: {user: bob}, limits: {producer_byte_rate: 5}}}"
    file = world.file(topic("old", config={"retention.ms": 7}), quota)
    world(f"apply {file} --yes")
    assert "segment.bytes: 1048576" in world.export
    plan = world(f"apply {file} --exact --dry-run").out
    in_order(plan, "Last, what removes something", "segment.bytes: 1048576", "consumer_byte_rate: 6")
    world(f"apply {file} --exact --yes")
    assert "segment.bytes" not in world.export
    assert "consumer_byte_rate" not in world.export


def test_passwords_come_from_files_commands_and_variables_and_are_shown_nowhere(world: World) -> None:
    secret = world.folder / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    for name, key, value in (
        ("a", "password_file", "secret"),
        ("b", "password_command", f"cat {secret}"),
        ("c", "password_env", "BOB"),
    ):
        file = world.file(document("User", name, mechanisms={"SCRAM-SHA-256": {}}, **{key: value}))
        done = world(f"apply {file} --yes -v -o json")
        assert PASSWORD not in done.out + done.err
        assert world.rows(f"apply {file} --yes") == {(name, ""): "unchanged"}
    stored = {name: world.cluster.scram.changed[name, 1] for name in "abc"}
    assert all(one.iterations == 8192 for one in stored.values())


def test_a_user_without_a_password_is_refused_only_where_a_credential_is_to_be_set(world: World) -> None:
    file = world.file(
        document("User", "bob", mechanisms={"SCRAM-SHA-256": {"iterations": 4096}}), topic("new")
    )
    done = world(f"apply {file} --yes", 7)
    assert "there is no password for user bob" in done.err
    type_remedy(
        "add one of them, or set the password yourself: `kcli users set bob`",
        done.err,
        world.cluster.bootstrap,
    )
    assert "name: new" in world.export
    missing = world.file(document("User", "bob", mechanisms={"SCRAM-SHA-256": {}}, password_env="NOBODY"))
    assert "the variable NOBODY is not set" in world(f"apply {missing} --yes", 2).err


def test_offsets_are_set_as_by_an_import_and_go_back(world: World) -> None:
    put(world.cluster, "old", 0, 9)
    commit(world.cluster, "g", {TopicPartition("old", 0): OffsetAndMetadata(7)})
    file = world.file(document("GroupOffsets", "g", offsets={"old": {0: 3, 1: 0}}))
    plan = world(f"apply {file} --dry-run").out
    assert "Set the offsets of group g on " in plan
    journal = json.loads(world(f"apply {file} --yes -o json").out)["undo"]
    assert "0: 3" in world("export GroupOffsets").out
    assert set(world.rows(f"apply {file} --yes").values()) == {"unchanged"}
    world(f"undo {journal} --yes")
    assert "0: 7" in world("export GroupOffsets").out
    beyond = world.file(document("GroupOffsets", "g", offsets={"old": {0: 30}}), topic("new"))
    world(f"apply {beyond} --yes", 7)
    assert "name: new" in world.export


def test_a_group_with_members_is_refused(world: World) -> None:
    with others(world.cluster.bootstrap, "old", "g", 1):
        world.cluster.wait_until(lambda: world.cluster.group_members("g"))
        file = world.file(document("GroupOffsets", "g", offsets={"old": {0: 0}}), topic("new"))
        assert "has members" in world(f"apply {file} --yes", 7).err
    assert "name: new" in world.export


def test_documents_go_to_the_clusters_of_their_profiles(world: World) -> None:
    with FakeCluster(1, topics={}, cluster_id="another-cluster") as other:
        path = world.folder / "kcli/config.toml"
        path.parent.mkdir()
        path.write_text(
            f'[profiles.one]\nbootstrap.servers = "{world.cluster.bootstrap}"\n'
            f'[profiles.two]\nbootstrap.servers = "{other.bootstrap}"\n'
            '[profiles.gone]\nbootstrap.servers = "127.0.0.1:1"\n'
            f'[profiles.kept]\nbootstrap.servers = "{other.bootstrap}"\nread_only = true\n'
        )
        path.chmod(0o600)

        def of(profile: str, name: str) -> str:
            return topic(name, partitions=1).replace(
                '"metadata": {', f'"metadata": {{"profile": "{profile}", '
            )

        file = world.file(of("one", "a"), of("two", "b"))
        assert "documents of 2 clusters" in world(f"apply {file} --yes -o json", 2, bootstrap="").err
        world(f"apply {file} --yes", bootstrap="")
        assert "name: a" in world.export
        assert "name: b" in world("export --profile two", bootstrap="").out
        locked = world.file(of("one", "c"), of("kept", "d"))
        assert "read-only" in world(f"apply {locked} --yes", 7, bootstrap="").err
        assert "name: c" not in world.export, "nothing was done at the other either"
        world(f"apply {locked} --dry-run", 7, bootstrap="")
        only = world(f"apply {file} --profile two --yes", bootstrap="")
        assert "1 document of other profiles left out: one" in only.err
        new = world.file(of("gone", "e"), of("one", "f"))
        world(f"apply {new} --yes --timeout 1s", 3, bootstrap="")
        assert "name: f" in world.export, "what fails at one cluster does not keep it from another"


def test_a_rule_of_a_policy_that_is_broken_keeps_all_from_being_sent(world: World) -> None:
    policy = world.folder / "policy.yaml"
    policy.write_text("- {kind: Topic, rule: spec.partitions >= 3, message: three partitions at least}\n")
    before = len(world.cluster.requests)
    done = world(f"apply {world.file(topic('new', partitions=1))} --policy {policy} --yes", 8)
    assert "three partitions at least" in done.err
    assert len(world.cluster.requests) == before


# every resource of the files is in the account


def _random_topic(rng: Random) -> tuple[str, Any]:
    spec: dict[str, Any] = {}
    if rng.random() < 0.5:
        spec["partitions"] = rng.randint(1, 3)
    if rng.random() < 0.3:
        spec["replication_factor"] = rng.randint(1, 3)
    if rng.random() < 0.5:
        keys = rng.sample(["retention.ms", "segment.bytes", "retention.bytes"], rng.randint(0, 3))
        spec["config"] = {key: rng.randint(1, 3) * 1_000_000 for key in keys}
    if rng.random() < 0.2 and "replication_factor" not in spec:
        spec["assignment"] = {str(number): [rng.randint(1, 2)] for number in range(spec.get("partitions", 1))}
    return rng.choice(["old", "t1", "t2", "t3"]), spec


def _random_user(rng: Random) -> tuple[str, Any]:
    named = [{}, [], ["SCRAM-SHA-256"], {"SCRAM-SHA-512": {}}, {"SCRAM-SHA-512": {"iterations": 5000}}]
    spec: dict[str, Any] = {"mechanisms": rng.choice(named)} if rng.random() < 0.7 else {}
    return rng.choice(["ann", "bob"]), spec | rng.choice([{}, {"password_env": "BOB"}])


def _random_quota(rng: Random) -> tuple[str, Any]:
    entity = rng.choice([{"user": "ann"}, {"user": None}, {"client-id": "c", "user": "ann"}])
    keys = rng.sample(["producer_byte_rate", "consumer_byte_rate"], rng.randint(0, 2))
    return quota_name(entity), {"entity": entity, "limits": {key: rng.randint(1, 2) * 1024 for key in keys}}


def _random_acl(rng: Random) -> tuple[str, Any]:
    spec = {
        "principal": "User:ann", "permission": "allow", "operation": rng.choice(["read", "write"]),
        "resource_type": "topic", "resource_name": "old", "pattern": "literal", "host": "*",
    }  # fmt: skip
    return acl_name(spec), spec


def _random_broker(rng: Random) -> tuple[str, Any]:
    keys = rng.sample(["message.max.bytes"], rng.randint(0, 1))
    return rng.choice(["1", "2", "77", "default"]), {"config": {key: rng.randint(2, 4) for key in keys}}


def _random_group(rng: Random) -> tuple[str, Any]:
    return "g", {"config": rng.choice([{}, {"consumer.session.timeout.ms": rng.choice([50_000, 55_000])}])}


def _random_offsets(rng: Random) -> tuple[str, Any]:
    topics = rng.sample(["old", "t1", "t2", "t3"], rng.randint(0, 3))
    offsets = {
        name: {str(number): rng.choice([0, 0, 0, 4]) for number in range(rng.randint(0, 3))}
        for name in topics
    }
    return rng.choice(["g", "h"]), {"offsets": offsets}


RANDOM: dict[str, Callable[[Random], tuple[str, Any]]] = {
    "Topic": _random_topic,
    "AclBinding": _random_acl,
    "User": _random_user,
    "Quota": _random_quota,
    "BrokerConfig": _random_broker,
    "GroupConfig": _random_group,
    "GroupOffsets": _random_offsets,
}


def random_documents(rng: Random) -> dict[tuple[str, str], str]:
    """Documents by what they describe; often of nothing at all."""
    found = {}
    for kind, make in RANDOM.items():
        for _ in range(rng.choice([0, 1, 1, 2])):
            name, spec = make(rng)
            found[kind, name] = document(kind, name, **spec)
    return found or random_documents(rng)


@pytest.mark.parametrize("part", range(3))
def test_each_resource_of_the_files_is_in_the_plan_and_in_the_report(world: World, part: int) -> None:
    for seed in range(8 * part, 8 * part + 8):
        documents = random_documents(Random(seed))
        file = world.file(*documents.values())
        plan = world(f"apply {file} --dry-run --yes -o json", None)
        done = world(f"apply {file} --yes -o json", None)
        assert done.code == plan.code, (seed, plan.err, done.err)
        for account in (plan, done):
            if account.code == 2:  # nothing is planned, and that is said
                assert account.err
                continue
            steps = [(one["resource"], one["name"], one["part"]) for one in account.items]
            assert len(set(steps)) == len(steps)
            assert {step[:2] for step in steps} == set(documents), seed
        if done.code == 0:
            world(f"diff {file}")
            assert {one["status"] for one in world.items(f"apply {file} --yes")} == {"unchanged"}


def test_what_asks_for_nothing_is_as_it_is(world: World) -> None:
    file = world.file(
        document("User", "bob", mechanisms={"SCRAM-SHA-512": {}}, password_env="BOB"),
        document("Quota", "q", entity={"user": "nobody"}, limits={}),
        document("GroupOffsets", "g", offsets={}),
        document("BrokerConfig", "1", config={}),
        document("GroupConfig", "h", config={}),
        topic("old"),
    )
    assert "6 resources: 1 not on the cluster, 5 equal" in world(f"diff {file}", 8).err
    rows = world.rows(f"apply {file} --yes")
    assert rows.pop(("bob", "SCRAM-SHA-512")) == "done"
    assert (len(rows), set(rows.values())) == (5, {"unchanged"})
    world(f"diff {file}")


def test_a_resource_without_a_step_is_refused_and_not_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kcli.flows.resources.apply import Apply

    monkeypatch.setattr(Apply, "_stages", lambda *_: ())
    done = world(f"apply {world.file(topic('new'), topic('old'))} --yes -o json", 7)
    assert {one["name"]: one["status"] for one in done.items} == {"new": "refused", "old": "unchanged"}
    assert "no step of the plan is about Topic new" in done.err


def test_the_summary_counts_resources(world: World) -> None:
    keys = {"retention.ms": 7, "segment.bytes": 1_048_576, "retention.bytes": 9, "cleanup.policy": "compact"}
    quota = {"producer_byte_rate": 1024, "consumer_byte_rate": 1024, "request_percentage": 5}
    files = [
        topic("old", partitions=3, config=keys),
        document("Quota", "q", entity={"user": "a"}, limits=quota),
        document("Quota", "q", entity={"user": "b"}, limits=quota),
    ]
    first = world(f"apply {world.file(*files)} --yes").err
    assert "Create 2 resources and change 1?" not in first, "it was answered"
    assert "changed 1 topic, read back\ncreated 2 quotas, read back\n" in first
    world("quotas alter --user a --unset consumer_byte_rate --yes")
    assert "changed 1 quota, read back\n" in world(f"apply {world.file(*files)} --yes").err


def test_a_diff_counts_what_it_could_not_read(world: World) -> None:
    lost = document("BrokerConfig", "77", config={"message.max.bytes": 5})
    assert "1 resource: 1 could not be read" in world(f"diff {world.file(lost)}", 1).err
    both = world.file(lost, topic("old", partitions=5))
    assert "2 resources: 1 differs, 1 could not be read" in world(f"diff {both}", 6).err


# offsets in what is created


def test_offsets_in_topics_and_partitions_that_are_created_are_set_after_them(world: World) -> None:
    offsets = {"new": {0: 0, 1: 0}, "old": {0: 0, 2: 0}, "free": {0: 0}}
    file = world.file(
        document("GroupOffsets", "g", offsets=offsets),
        document("GroupOffsets", "h", offsets={"old": {1: 0}}),
        topic("new", partitions=2),
        topic("free"),
        topic("old", partitions=3),
    )
    world(f"apply {file} --dry-run")
    done = world(f"apply {file} --yes -o json")
    assert {one["status"] for one in done.items} == {"done"}
    world(f"diff {file}")
    world(f"undo {json.loads(done.out)['undo']} --yes", 7)  # the added partition stays
    assert world("export GroupOffsets").out == ""


def test_offsets_beyond_what_is_created_are_refused_in_the_plan(world: World) -> None:
    offsets = {"new": {0: 0, 1: 4, 2: 0}, "none": {0: 0}}
    file = world.file(document("GroupOffsets", "g", offsets=offsets), topic("new", partitions=2))
    plan = world.rows(f"apply {file} --dry-run", 7)
    assert plan == world.rows(f"apply {file} --yes", 7) | {
        ("new", ""): "planned",
        ("g", "offsets.new-0"): "planned",
    }
    assert plan["g", "offsets.new-1"] == plan["g", "offsets.new-2"] == "refused"
    err = world(f"apply {file} --dry-run", 7).err
    assert "topic new has no partition 2" in err
    assert "correct the offset in the file" in err
    assert "topic none does not exist" in err
    assert "warning" not in err
    errors = world(f"apply {file} --yes", 7).err.splitlines()
    assert len([line for line in errors if line.startswith("kcli: ")]) == 3, errors


def test_offsets_in_a_topic_that_could_not_be_created_are_refused(world: World) -> None:
    file = world.file(
        document("GroupOffsets", "g", offsets={"new": {0: 0}, "old": {0: 0}}), topic("new", partitions=2)
    )
    world.cluster.fail(
        CreateTopicsRequest, Code.POLICY_VIOLATION, times=FOREVER, when=lambda one: not one.validate_only
    )
    rows = world.rows(f"apply {file} --yes", None)
    assert rows == {
        ("new", ""): "failed",
        ("g", "offsets.new-0"): "refused",
        ("g", "offsets.old-0"): "done",
    }


def user(name: str) -> str:
    return document("User", name, password_env="BOB", mechanisms={"SCRAM-SHA-512": {"iterations": 4096}})


def quota(name: str) -> str:
    spec = {"entity": {"user": name}, "limits": {"producer_byte_rate": 1024}}
    return json.dumps({"apiVersion": "kcli/v1", "kind": "Quota", "spec": spec})


MANY = {
    "topics": lambda number: topic(f"t{number}", partitions=1),
    "partitions": lambda number: topic(f"one{number}", partitions=2),
    "replicas": lambda number: topic(f"one{number}", replication_factor=2),
    "keys": lambda number: topic(f"one{number}", config={"retention.ms": 5000 + number}),
    "acls": lambda number: acl(f"t{number}"),
    "users": lambda number: user(f"u{number}"),
    "quotas": lambda number: quota(f"u{number}"),
    "groups": lambda number: document(
        "GroupConfig", f"g{number}", config={"consumer.session.timeout.ms": 50000}
    ),
}


@pytest.mark.parametrize("what", MANY)
def test_the_number_of_requests_does_not_grow_with_that_of_resources(world: World, what: str) -> None:
    """Nor that of an undo, and of a diff."""
    for number in range(30):
        world.cluster.create_topic(f"one{number}", 1, replicas={0: [1]})
    counts = []
    for numbers in (range(2), range(2, 30)):
        file = world.file(*map(MANY[what], numbers))
        since = len(world.cluster.requests)
        done = world(f"apply {file} --yes -o json")
        assert {one["status"] for one in done.items} == {"done"}
        world(f"diff {file}")
        world(f"undo {json.loads(done.out)['undo']} --yes", None)
        counts.append(len(world.cluster.requests) - since)
    few, many = counts
    assert many <= few + 5, "what is waited for is asked about again"


def test_a_credential_that_is_acknowledged_and_lost_is_failed_and_the_others_are_done(world: World) -> None:
    world.cluster.scram.losses = {("bob", 2)}
    file = world.file(user("alice"), user("bob"))
    done = world(f"apply {file} --yes --timeout 1s -o json", 7)
    assert {one["name"]: one["status"] for one in done.items} == {"alice": "done", "bob": "failed"}
    assert "was set, and is not there with 4096 iterations" in done.err
    world.cluster.scram.losses = set()
    again = world(f"apply {file} --yes -o json")
    assert {one["name"]: one["status"] for one in again.items} == {"alice": "unchanged", "bob": "done"}


def test_a_user_without_a_password_does_not_keep_others_from_being_set(world: World) -> None:
    without = document("User", "carl", mechanisms={"SCRAM-SHA-512": {"iterations": 4096}})
    rows = world.rows(f"apply {world.file(without, user('bob'))} --yes", 7)
    assert sorted(rows.values()) == ["done", "refused"]


def test_what_brokers_refuse_has_its_place_in_the_file_and_the_rest_is_done(world: World) -> None:
    head = "apiVersion: kcli/v1\nkind: Topic\nmetadata: {name: old}\nspec:\n"
    other = topic("new", partitions=1)
    path = world.folder / "placed.yaml"

    path.write_text(f"{head}  config:\n    retention.ms: 7\n---\n{other}\n")
    world.cluster.fail(IncrementalAlterConfigsRequest, Code.INVALID_CONFIG, times=FOREVER)
    said = f"kcli: {path}:6:5: changing the configuration of topic old"
    assert said in world(f"apply {path} --dry-run", 6).err
    done = world(f"apply {path} --yes -o json", 6)
    assert said.removeprefix("kcli: ") in done.err
    assert {one["name"]: one["status"] for one in done.items} == {"old": "refused", "new": "done"}
    world.cluster.heal()
    path.write_text(f"{head}  partitions: 1\n")
    assert (
        f"kcli: {path}:5:3: topic old has 2 partitions, it cannot have 1"
        in world(f"apply {path} --yes", 7).err
    )
    path.write_text(f"{head}  config:\n    retention.mss: 5\n")
    said = f"kcli: {path}:6:5: topic old has no configuration key 'retention.mss'"
    assert said in world(f"apply {path} --yes", 2).err


def test_several_names_are_confirmed_on_the_line(world: World) -> None:
    config = world.folder / "kcli" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(f'[profiles.prod]\nbootstrap.servers = "{world.cluster.bootstrap}"\nprotected = true\n')
    world.cluster.create_topic("gone", 1)
    file = world.file(topic("new", partitions=1))
    line = f"apply {file} --profile prod --prune --only Topic --no-input"
    for confirmed in (
        "",
        "--confirm prod --yes",
        "--confirm old --confirm gone",
        "--confirm prod --confirm old",
    ):
        refused = world(f"{line} {confirmed}", 2)
        assert "nothing was done" in refused.err
        assert "new" not in world.export
    done = world(f"{line} --confirm prod --confirm old --confirm gone -o json")
    assert {one["name"]: one["status"] for one in done.items} == dict.fromkeys(("new", "old", "gone"), "done")
