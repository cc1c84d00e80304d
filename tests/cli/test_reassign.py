"""``kcli reassign``: plans, what is moved and read back, throttles that are set, kept and removed, refusals."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.permissions import AclOperation
from kcli.core.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcli.core.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.run import Noun

RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
REPLICAS = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")

BEGUN = "the move has begun, and goes on"


class Reassign(Noun):
    """``kcli reassign`` of a cluster, and files."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        super().__init__("reassign", cluster)
        self.folder = folder

    def file(self, moves: dict[str, list[int]], **more: Any) -> Path:
        """A file that moves ``t-0`` and such to these brokers."""
        path = self.folder / "moves.json"
        rows = [
            {"topic": name.rpartition("-")[0], "partition": int(name.rpartition("-")[2]), "replicas": row}
            for name, row in moves.items()
        ]
        path.write_text(json.dumps({"version": 1, "partitions": rows, **more}))
        return path

    @property
    def moves_sent(self) -> int:
        return len(self.cluster.seen(AlterPartitionReassignmentsRequest))

    @property
    def throttles(self) -> dict[str, dict[str, str]]:
        """What is set on brokers and topics."""
        state = self.cluster._state
        found = {
            f"broker {name}": dict(values) for (kind, name), values in state.configs.items() if kind == 4
        }
        found |= {name: dict(topic.configs) for name, topic in state.topics.by_name.items()}
        return {name: values for name, values in found.items() if values}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCluster]:
    """``t`` is on brokers 1 to 3 of four, 1,000 bytes and more a partition."""
    monkeypatch.delenv("KCLI_TIMEOUT", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with FakeCluster(4) as made:
        made.create_topic("t", replicas={0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]})
        for number in range(3):
            made.append("t", number, batch(b"x" * 1000))
        yield made


@pytest.fixture
def reassign(cluster: FakeCluster, tmp_path: Path) -> Reassign:
    return Reassign(cluster, tmp_path)


@pytest.fixture
def held(reassign: Reassign) -> Reassign:
    """Moves last until the test ends them."""
    reassign.cluster.settings.hold_reassignments = True
    return reassign


def replicas(cluster: FakeCluster, topic: str = "t", count: int = 3) -> list[list[int]]:
    return [cluster.reassignment(topic, number)[0] for number in range(count)]


def refused(code: Code) -> Any:
    """The broker reports an error for every resource, although it has made the changes."""

    def edit(_request: Any, answer: Any) -> None:
        for row in answer.responses:
            row.error_code = code

    return edit


# --- plan ----------------------------------------------------------------------------------------------


def test_a_plan_is_kafkas_file_and_says_what_it_moves(reassign: Reassign) -> None:
    done = reassign("plan --topic t")
    document = json.loads(done.out)
    assert document["version"] == 1
    assert sum(4 in row["replicas"] for row in document["partitions"]) == 2  # 9 replicas on 4 brokers
    assert "Reassign 2 of 3 partitions to brokers 1, 2, 3, 4: 2.1 kB to copy." in done.err
    assert "RECEIVES" in done.err
    assert max(map(len, done.err.splitlines())) <= 80
    rows = reassign("plan --topic t -o json").items
    assert all(row["bytes"] > 1000 and row["adding"] == [4] for row in rows)
    assert reassign.moves_sent == 0


def test_a_plan_is_written_to_a_file_and_run(reassign: Reassign) -> None:
    path = reassign.folder / "out.json"
    done = reassign(f"plan --topic t --brokers 2-4 {path}")
    assert done.out == ""
    assert "to brokers 2, 3, 4" in done.err
    reassign(f"run {path} --yes")
    assert all(set(row) == {2, 3, 4} for row in replicas(reassign.cluster))
    again = reassign("plan --topic t --brokers 2,3,4")
    assert (json.loads(again.out)["partitions"], "Nothing is to be moved" in again.err) == ([], True)


def test_a_plan_replaces_plans_only(reassign: Reassign) -> None:
    path = reassign.folder / "precious.txt"
    path.write_text("mine")
    done = reassign(f"plan --topic t {path}", 7)
    assert f"{path} exists, and is not replaced" in done.err
    assert path.read_text() == "mine"
    for more in ("--yes", ""):
        reassign(f"plan --topic t {path} {more}")
        assert json.loads(path.read_text())["partitions"]
    path.write_text("")
    reassign(f"plan --topic t {path}")


def test_a_plan_is_written_to_a_pipe_and_does_not_replace_it(reassign: Reassign) -> None:
    path = reassign.folder / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        reassign(f"plan --topic t {path}")
        assert json.loads(os.read(reader, 65536))["partitions"]
    finally:
        os.close(reader)
    assert path.is_fifo()


def test_an_empty_plan_names_no_next_step(reassign: Reassign) -> None:
    path = reassign.folder / "moves.json"
    assert "next: kcli reassign run" in reassign(f"plan --topic t {path}").err
    done = reassign(f"plan --topic t --brokers 1,2,3 {path}")
    assert ("wrote" in done.err, "next:" in done.err) == (True, False)
    assert "do: correct the name; `kcli reassign plan FILE`" in reassign("run nofile", 2).err


def test_a_topic_in_place_of_the_file_is_a_forgotten_option(
    reassign: Reassign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(reassign.folder)
    for more in ("", "--dry-run"):
        assert "did you mean --topic t?" in reassign(f"plan t {more}", 2).err
    assert not (reassign.folder / "t").exists()
    reassign("plan ./t")
    reassign("plan --topic t t")


def test_a_dry_run_of_a_plan_writes_no_file(reassign: Reassign) -> None:
    path = reassign.folder / "out.json"
    assert "\nReassign 2 of 3 partitions" in reassign(f"plan --dry-run {path}").out
    assert not path.exists()


def test_the_replication_factor_is_changed(reassign: Reassign) -> None:
    path = reassign.folder / "out.json"
    reassign(f"plan --replication-factor 4 {path}")
    reassign(f"run {path} --yes")
    assert {len(row) for row in replicas(reassign.cluster)} == {4}
    reassign(f"plan --replication-factor 1 {path}")
    reassign.cluster.configure("t", min_insync_replicas="2")
    assert "acks=all" not in reassign(f"run {path} --dry-run").err
    reassign.cluster.cap_versions({ProduceRequest: 9})  # before Kafka 3.7
    done = reassign(f"run {path} --yes")
    assert {len(row) for row in replicas(reassign.cluster)} == {1}
    assert "min.insync.replicas=2: with 1 replica producers with acks=all fail" in done.err


def test_racks_are_used_where_all_brokers_have_one(reassign: Reassign) -> None:
    for number, rack in enumerate("aabb", 1):
        reassign.cluster._state.nodes[number].rack = rack
    done = reassign("plan --replication-factor 2")
    assert "(racks a, b)" in done.err
    for row in json.loads(done.out)["partitions"]:
        assert len({number > 2 for number in row["replicas"]}) == 2
    assert "racks" not in reassign("plan --replication-factor 2 --disable-rack-aware").err
    reassign.cluster._state.nodes[4].rack = None
    assert "racks are ignored: broker 4 has none" in reassign("plan --replication-factor 2").err


def test_internal_topics_are_drained_too(reassign: Reassign) -> None:
    reassign.cluster.create_topic("__consumer_offsets", replicas={0: [1]})
    rows = reassign("plan --brokers 2,3,4 -o json").items
    assert "__consumer_offsets" in {row["topic"] for row in rows}


def test_unknown_sizes_are_said_and_nothing_else_changes(reassign: Reassign) -> None:
    reassign.cluster.fail(DescribeLogDirsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, top=True, times=FOREVER)
    done = reassign("plan -o json")
    assert "sizes are not known" in done.err
    assert {row["bytes"] for row in done.items} == {None}


@pytest.mark.parametrize(
    ("line", "code", "what", "do"),
    [
        ("plan --topic none", 1, "topic none does not exist", ""),
        ("plan --topic none --topic t", 6, "topic none does not exist", ""),
        ("plan --brokers 1,77", 1, "broker 77 is not alive", "kcli cluster describe"),
        ("plan --brokers 1,x", 2, "not a list of broker ids", "--help"),
        ("plan --brokers 1", 2, "t-0 cannot have 3 replicas on 1 broker", "--replication-factor"),
        ("plan --replication-factor 5", 2, "cannot have 5 replicas on 4 brokers", "--brokers"),
        ("plan --replication-factor 0", 2, "at least 1", "--help"),
        ("plan /no/such/folder/file", 2, "cannot write /no/such/folder/file", "another file"),
        ("run /no/such/file", 2, "cannot read /no/such/file", ""),
        ("run", 2, "missing argument FILE", ""),
        ("cancel", 2, "what is to be cancelled is not said", "--all"),
        ("cancel --all --topic t", 2, "exclude each other", "--topic TOPIC"),
        ("cancel --topic none --yes", 1, "topic none does not exist", ""),
        ("status /no/such/file", 2, "cannot read", ""),
        ("verify", 2, "there is no command 'verify'", "kcli reassign status"),
    ],
)
def test_what_cannot_be_done_is_said(reassign: Reassign, line: str, code: int, what: str, do: str) -> None:
    err = reassign(line, code).err
    assert what in err
    assert do in err
    assert reassign.moves_sent == 0


def test_old_brokers_are_named(reassign: Reassign) -> None:
    reassign.cluster.hide(ListPartitionReassignmentsRequest, AlterPartitionReassignmentsRequest)
    for line in ("plan", f"run {reassign.file({'t-0': [1]})} --yes", "status", "cancel --all --yes"):
        assert "ListPartitionReassignments" in reassign(line, 7).err


def test_a_missing_right_is_4(reassign: Reassign) -> None:
    reassign.cluster.fail(
        AlterPartitionReassignmentsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, top=True, times=FOREVER
    )
    path = reassign.file({"t-0": [1, 2, 4]})
    assert "--operation alter --cluster" in reassign(f"run {path} --throttle 1MB/s --yes", 4).err
    assert reassign.throttles == {}
    reassign.cluster.fail(
        ListPartitionReassignmentsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, top=True, times=FOREVER
    )
    assert "--operation describe --cluster" in reassign("status", 4).err


# --- run -----------------------------------------------------------------------------------------------


def test_what_is_done_at_once_is_read_back_and_can_be_undone(reassign: Reassign) -> None:
    path = reassign.file({"t-0": [4, 2, 1], "t-1": [2, 3, 1]})
    done = reassign(f"run {path} --yes -o json")
    assert [(row["partition"], row["status"]) for row in done.items] == [(0, "done"), (1, "unchanged")]
    assert replicas(reassign.cluster) == [[4, 2, 1], [2, 3, 1], [3, 1, 2]]
    assert "moved the replicas of 1 partition, read back" in done.err
    type_remedy("t-0: `kcli elect-leaders` makes", done.err, reassign.cluster.bootstrap)
    undo = done.err.partition("go back with: kcli reassign run ")[2].strip()
    reassign(f"run {undo} --yes")
    assert replicas(reassign.cluster)[0] == [1, 2, 3]


def test_nothing_is_moved_without_an_answer_or_in_a_dry_run(reassign: Reassign) -> None:
    path = reassign.file({"t-0": [4, 2, 1]})
    done = reassign(f"run {path} --throttle 1kB/s", 2)
    assert "Move 1 partition?" in done.err
    assert "at least 1s at 1.0 kB/s" in done.err
    shown = reassign(f"run {path} --dry-run")
    assert "\nMove replicas of 1 partition: 1.1 kB to copy." in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert (reassign.moves_sent, reassign.throttles) == (0, {})
    same = reassign(f"run {reassign.file({'t-0': [1, 2, 3]})} -o json")
    assert [row["status"] for row in same.items] == ["unchanged"]
    assert reassign.moves_sent == 0


def test_as_many_replicas_as_before_may_be_required(reassign: Reassign) -> None:
    path = reassign.file({"t-0": [4, 2, 3], "t-1": [4, 2]})
    for more in ("--yes", "--dry-run"):
        done = reassign(f"run {path} --disallow-replication-factor-change {more}", 7)
        assert "it has 3 replicas, and would have 2" in done.err
    assert reassign.moves_sent == 0
    reassign(f"run {reassign.file({'t-0': [4, 2, 3]})} --disallow-replication-factor-change --yes")
    assert reassign.moves_sent == 1


@pytest.mark.parametrize(
    ("moves", "what"),
    [
        ({"t-0": [1, 2, 77]}, "broker 77 is not alive; the brokers are 1,2,3,4"),
        ({"none-0": [1]}, "topic none does not exist"),
        ({"t-9": [1]}, "t-9 does not exist"),
    ],
)
def test_a_file_that_is_outdated_is_7(reassign: Reassign, moves: dict[str, list[int]], what: str) -> None:
    path = reassign.file({"t-1": [4, 1, 2]} | moves)
    for more in ("--yes", "--dry-run"):
        err = reassign(f"run {path} {more}", 7).err
        assert what in err
    if "alive" in what:
        type_remedy("start it, or make a new plan with `kcli reassign plan`", err, reassign.cluster.bootstrap)
    else:
        type_remedy("make a new plan with `kcli reassign plan`", err, reassign.cluster.bootstrap)
    assert reassign.moves_sent == 0


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "it is empty"),
        ("{", "it is not JSON (line 1"),
        ("[]", "no list of partitions"),
        ('{"kind":"ReassignmentPlan","items":[]}', "it was written with -o json"),
        ('{"version":2,"partitions":[]}', "its version is 2"),
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[]}]}', "t-0 has no list of replicas"),
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[1,1]}]}', "a broker twice"),
        ('{"partitions":[{"topic":"t","partition":true,"replicas":[1]}]}', "has no partition"),
        ('{"partitions":[{"partition":0,"replicas":[1]}]}', "has no topic"),
        ('{"partitions":[7]}', "is not an object"),
        (
            '{"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["/d"]}]}',
            "names log directories",
        ),
        (
            '{"partitions":[{"topic":"t","partition":0,"replicas":[1]},'
            '{"topic":"t","partition":0,"replicas":[2]}]}',
            "has t-0 twice",
        ),
        ("[" * 100_000, "it is not JSON"),
        (
            '{"partitions":[\n{"topic":"t","topic":"u"}]}',
            "(line 2: partitions[0] has the member 'topic' a second time",
        ),
        ('{"partitions":[{"topic":"t","partition":' + "9" * 5000 + "}]}", "has no partition"),
    ],
)
def test_a_broken_file_is_a_usage_error(reassign: Reassign, text: str, what: str) -> None:
    path = reassign.folder / "moves.json"
    path.write_text(text)
    for verb in ("run", "status"):
        assert what in reassign(f"{verb} {path}", 2).err


def test_log_directories_in_a_file_are_another_command(reassign: Reassign) -> None:
    row = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/d"]}
    path = reassign.folder / "moves.json"
    path.write_text(json.dumps({"partitions": [row]}))
    type_remedy(
        "leave log_dirs out; `kcli help brokers move-log-dir` says how replicas move between directories",
        reassign(f"run {path}", 2).err,
        reassign.cluster.bootstrap,
    )


def test_log_dirs_that_leave_the_choice_to_the_broker_are_accepted(reassign: Reassign) -> None:
    row = {"topic": "t", "partition": 0, "replicas": [4, 2, 1], "log_dirs": ["any", "any", "any"]}
    path = reassign.folder / "moves.json"
    path.write_text(json.dumps({"version": 1, "partitions": [row]}))
    reassign(f"run {path} --yes")
    assert replicas(reassign.cluster)[0] == [4, 2, 1]


def test_a_partition_that_is_being_moved_is_not_moved_again(held: Reassign) -> None:
    begun = held(f"run {held.file({'t-0': [1, 2, 4]})} --yes")
    type_remedy(
        "`kcli reassign status --watch` shows how far, and removes a throttle at the end",
        begun.err,
        held.cluster.bootstrap,
    )
    done = held(f"run {held.file({'t-0': [3, 2, 4]})} --yes", 7)
    assert "it is being moved already" in done.err
    type_remedy(
        "wait for it with `kcli reassign status --watch`, or cancel it: `kcli reassign cancel --topic t`",
        done.err,
        held.cluster.bootstrap,
    )
    assert "nothing is to be moved" not in done.err
    same = held(f"run {held.file({'t-0': [1, 2, 4]})} --yes -o json", 7)
    assert "nothing is to be moved" not in same.err
    assert [(row["status"], row["note"]) for row in same.items] == [("refused", "it is being moved already")]
    assert "it is being moved already" in held(f"run {held.file({'t-0': [1, 2, 4]})} --dry-run", 7).err
    assert held.moves_sent == 1


def test_a_change_while_the_question_was_open_is_7(reassign: Reassign) -> None:
    def other(_request: Any) -> None:
        place = reassign.cluster._state.topics.by_name["t"].partitions[0]
        place.replicas = [1, 2, 4]

    reassign.cluster.intercept(ListPartitionReassignmentsRequest, other, after=1)
    done = reassign(f"run {reassign.file({'t-0': [3, 2, 4]})} --yes", 7)
    assert "is not as it was when the plan was shown" in done.err
    assert reassign.moves_sent == 0


def test_one_partition_that_is_refused_is_6(reassign: Reassign) -> None:
    path = reassign.file({"t-0": [4, 2, 1], "t-1": [4, 3, 1]})
    reassign.cluster.fail(
        AlterPartitionReassignmentsRequest, Code.INVALID_REPLICA_ASSIGNMENT, where=TopicPartition("t", 1)
    )
    done = reassign(f"run {path} --throttle 1MB/s --yes -o json", 6)
    assert [row["status"] for row in done.items] == ["done", "failed"]
    assert "the replicas of t-1 were not moved" in done.err
    assert reassign.throttles == {}


def test_a_move_whose_response_was_lost_is_found(held: Reassign) -> None:
    held.cluster.swallow(AlterPartitionReassignmentsRequest, "reset")
    done = held(f"run {held.file({'t-0': [1, 2, 4]})} --yes -o json")
    assert [(row["status"], row["note"]) for row in done.items] == [("done", BEGUN)]


def deny(reassign: Reassign, operation: AclOperation) -> None:
    reassign.cluster.settings.cluster_operations &= ~(1 << operation)


@pytest.mark.parametrize(
    ("denied", "moves", "code", "statuses"),
    [
        (None, {"t-0": [1, 2, 4], "t-1": [2, 3, 1]}, 0, ["done", "unchanged"]),
        (None, {"none-0": [1], "t-0": [1, 2, 4], "t-1": [2, 3, 1]}, 7, ["refused", "refused", "unchanged"]),
        (AclOperation.ALTER, {"t-0": [1, 2, 4], "t-1": [2, 3, 1]}, 4, ["refused", "unchanged"]),
        (AclOperation.ALTER_CONFIGS, {"t-0": [1, 2, 4], "none-0": [1]}, 4, ["refused", "refused"]),
        (AclOperation.ALTER, {"t-0": [1, 2, 3]}, 0, ["unchanged"]),
    ],
)
def test_a_dry_run_of_moves_ends_as_the_act_does(
    reassign: Reassign,
    denied: AclOperation | None,
    moves: dict[str, list[int]],
    code: int,
    statuses: list[str],
) -> None:
    if denied is not None:
        deny(reassign, denied)
    for more, word in (("--dry-run", "planned"), ("--yes", "done")):
        done = reassign(f"run {reassign.file(moves)} --throttle 1MB/s {more} -o json", code)
        assert [row["status"] for row in done.items] == [one.replace("done", word) for one in statuses]
        if code == 4:
            assert f"no {denied.name if denied else ''} permission on the cluster" in done.err
    if code:
        assert (reassign.moves_sent, reassign.throttles) == (0, {})


def test_a_topic_whose_configuration_may_not_be_changed_gets_no_throttle(reassign: Reassign) -> None:
    reassign.cluster.settings.topic_operations &= ~(1 << AclOperation.ALTER_CONFIGS)
    path = reassign.file({"t-0": [1, 2, 4]})
    for more in ("--dry-run", "--yes"):
        err = reassign(f"run {path} --throttle 1MB/s {more}", 4).err
        assert "no ALTER_CONFIGS permission on topic t" in err
    assert (reassign.moves_sent, reassign.throttles) == (0, {})
    reassign(f"run {path} --yes")


def test_a_plan_counts_no_moves_that_are_refused(reassign: Reassign) -> None:
    plan = reassign(f"run {reassign.file({'t-0': [1, 2, 77], 'none-0': [1]})} --dry-run", 7).out
    assert "Move replicas of 0 partitions." in plan
    assert "RECEIVES" not in plan


@pytest.mark.parametrize("form", ["json", "ndjson", "yaml", "csv", "tsv"])
@pytest.mark.parametrize("more", ["--dry-run", "--yes"])
def test_what_is_held_back_stands_in_every_document(reassign: Reassign, form: str, more: str) -> None:
    path = reassign.file({"t-0": [1, 2, 77], "t-1": [4, 2, 1]})
    done = reassign(f"run {path} {more} -o {form}", 7)
    assert done.out.count("refused") == 2
    assert "another partition of the plan cannot be moved" in done.out
    assert done.err.count("cannot be moved") == 1


def test_a_throttle_whose_answer_is_lost_moves_nothing(reassign: Reassign) -> None:
    reassign.cluster.swallow(IncrementalAlterConfigsRequest, "reset", times=FOREVER)
    path = reassign.file({"t-0": [1, 2, 4]})
    done = reassign(f"run {path} --throttle 1MB/s --yes --timeout 1s -o json", 3)
    assert [row["status"] for row in done.items] == ["failed"]
    assert reassign.moves_sent == 0


# --- throttle ------------------------------------------------------------------------------------------


def test_the_throttle_is_set_as_kafka_does_and_removed_by_status(held: Reassign) -> None:
    done = held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 2MB/s --yes -o json")
    assert [(row["status"], row["note"]) for row in done.items] == [("done", BEGUN)]
    rates = dict.fromkeys(RATES, "2000000")
    assert held.throttles == {
        "broker 1": rates,
        "broker 2": rates,
        "broker 3": rates,
        "broker 4": rates,
        "t": {REPLICAS[0]: "0:4", REPLICAS[1]: "0:1,0:2,0:3"},
    }
    held("status")
    assert len(held.throttles) == 5  # it is not finished
    held.cluster.finish_reassignment("t", 0)
    assert "would be removed" in held("status --dry-run").err
    assert "removed the throttle of reassignment" in held("status").err
    assert held.throttles == {}
    assert "throttle" not in held("status").err


def test_the_throttle_is_removed_at_once_where_nothing_is_left_to_move(reassign: Reassign) -> None:
    reassign(f"run {reassign.file({'t-0': [1, 2, 4]})} --throttle 2MB/s --yes")
    assert reassign.throttles == {}


def test_throttles_that_exist_are_kept(held: Reassign) -> None:
    state = held.cluster._state
    state.configs[4, "1"] = {RATES[1]: "77"}
    state.topics.by_name["t"].configs[REPLICAS[1]] = "0:1,2:2"
    path = held.file({"t-0": [1, 2, 4]})
    plan = json.loads(held(f"run {path} --throttle 2MB/s --dry-run -o json").out)
    assert f"a throttle is kept as it is: broker 1 has {RATES[1]}=77 already" in plan["warnings"]
    done = held(f"run {path} --throttle 2MB/s --yes")
    assert f"broker 1 has {RATES[1]}=77 already" in done.err
    assert held.throttles["broker 1"] == {RATES[1]: "77", RATES[0]: "2000000"}
    assert held.throttles["t"][REPLICAS[1]] == "0:1,2:2,0:2,0:3"
    held.cluster.finish_reassignment("t", 0)
    done = held("status")
    assert held.throttles == {"broker 1": {RATES[1]: "77"}, "t": {REPLICAS[1]: "0:1,2:2"}}
    assert f"kcli configs alter brokers 1 --unset {RATES[1]} removes it" in done.err


def test_what_others_changed_meanwhile_is_kept(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 2MB/s --yes")
    held.cluster._state.configs[4, "1"][RATES[0]] = "5"
    held.cluster.finish_reassignment("t", 0)
    assert "which was not set by this reassignment" in held("status").err
    assert held.throttles == {"broker 1": {RATES[0]: "5"}}


def test_rates_stay_while_other_partitions_are_moved(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 2MB/s --yes")
    held(f"run {held.file({'t-1': [4, 2, 1]})} --throttle 3MB/s --yes")
    held.cluster.finish_reassignment("t", 0)
    assert "brokers keep the rate" in held("status").err
    assert held.throttles["broker 1"] == dict.fromkeys(RATES, "2000000")
    assert held.throttles["t"][REPLICAS[0]] == "1:4"
    held.cluster.finish_reassignment("t", 1)
    held("status")
    assert held.throttles == {}


def test_a_throttle_that_cannot_be_set_moves_nothing_and_leaves_nothing(reassign: Reassign) -> None:
    reassign.cluster.replace(
        IncrementalAlterConfigsRequest, refused(Code.CLUSTER_AUTHORIZATION_FAILED), node=2
    )
    reassign(f"run {reassign.file({'t-0': [1, 2, 4]})} --throttle 2MB/s --yes", 4)
    assert (reassign.throttles, reassign.moves_sent) == ({}, 0)


def test_a_throttle_that_cannot_be_removed_is_said_and_removed_later(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 2MB/s --yes")
    held.cluster.finish_reassignment("t", 0)
    held.cluster.fail(IncrementalAlterConfigsRequest, Code.POLICY_VIOLATION, where="t", times=FOREVER)
    done = held("status", 6)
    assert "was not removed" in done.err
    held.cluster.heal()
    type_remedy("`kcli reassign status` removes what is left of it", done.err, held.cluster.bootstrap)
    held("status")
    assert held.throttles == {}


def test_a_throttle_on_a_dead_broker_is_removed_when_it_is_back(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 2MB/s --yes")
    held.cluster.finish_reassignment("t", 0)
    held.cluster.stop(3, fail_over=True)
    assert "broker 3 is not alive" in held("status").err
    assert set(held.throttles) == {"broker 3"}
    held.cluster.start(3)
    held("status")
    assert held.throttles == {}


@pytest.mark.parametrize("throttle", ["50", "0MB/s", "x"])
def test_a_throttle_without_a_unit_is_refused(reassign: Reassign, throttle: str) -> None:
    reassign(f"run {reassign.file({'t-0': [1, 2, 4]})} --throttle {throttle} --yes", 2)
    assert reassign.moves_sent == 0


# --- watch, status, cancel -----------------------------------------------------------------------------


def test_watching_ends_with_the_move_and_removes_the_throttle(held: Reassign) -> None:
    def move() -> None:
        held.cluster.wait_for(AlterPartitionReassignmentsRequest)
        held.cluster.copy_replica("t", 0, 4, 500)
        asked = len(held.cluster.seen(DescribeLogDirsRequest))
        held.cluster.wait_for(DescribeLogDirsRequest, asked + 8)  # each of the brokers, once it is copied
        held.cluster.finish_reassignment("t", 0)

    mover = threading.Thread(target=move)
    mover.start()
    done = held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 1MB/s --watch --yes -o json --progress json")
    mover.join()
    assert [row["status"] for row in done.items] == ["done"]
    progress = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    assert (progress[-1]["unit"], progress[-1]["total"]) == ("partitions", 1)
    assert 0 < progress[-1]["bytes"] <= 1_070  # of the whole replica, where the last look came after the end
    assert held.throttles == {}


def test_a_move_that_another_client_cancels_is_7(held: Reassign) -> None:
    def cancel() -> None:
        held.cluster.wait_for(DescribeLogDirsRequest, 9)
        held.cluster._thread.call(held.cluster._state.changed)
        place = held.cluster._state.topics.by_name["t"].partitions[0]
        place.adding, place.removing, place.replicas = [], [], [1, 2, 3]

    other = threading.Thread(target=cancel)
    other.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kcli.flows.reassign.change.VISIBLE_WITHIN", 0.1)
        done = held(f"run {held.file({'t-0': [1, 2, 4]})} --watch --yes -o json", 7)
    other.join()
    type_remedy(
        "the move was cancelled or replaced by another client: `kcli reassign status` shows",
        done.err,
        held.cluster.bootstrap,
    )
    assert [row["status"] for row in done.items] == ["failed"]


def test_ctrl_c_ends_the_watching_only(held: Reassign) -> None:
    def interrupt() -> None:
        held.cluster.wait_for(DescribeLogDirsRequest, 9)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    done = held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 1MB/s --watch --yes -o json", 130)
    other.join()
    assert "kcli reassign cancel --all" in done.err
    assert [(row["status"], row["note"]) for row in done.items] == [("done", BEGUN)]
    assert len(held.throttles) == 5
    assert held.cluster.reassignment("t", 0)[1] == [4]


def test_status_shows_what_is_moved_and_how_much_is_left(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --yes")
    held.cluster.copy_replica("t", 0, 4, 400)
    (row,) = held("status -o json").items
    assert (row["adding"], row["removing"], row["state"]) == ([4], [3], "moving")
    assert row["bytes"] - row["bytes_left"] == 400
    done = held(f"status {held.file({'t-0': [1, 2, 4], 't-1': [2, 3, 1]})} -o json")
    assert [row["state"] for row in done.items] == ["moving", "done"]
    held.cluster.finish_reassignment("t", 0)
    assert [row["state"] for row in held(f"status {held.folder / 'moves.json'} -o json").items] == [
        "done",
        "done",
    ]
    done = held("status -o json")
    assert (done.items, "nothing is being moved" in done.err) == ([], True)


def test_status_of_a_file_that_was_not_run_is_8(reassign: Reassign) -> None:
    done = reassign(f"status {reassign.file({'t-0': [1, 2, 4], 'none-0': [1]})} -o json", 8)
    assert [row["state"] for row in done.items] == ["missing", "differs"]
    assert "kcli reassign run" in done.err
    path = reassign.file({"t-0": [1, 2, 4]})
    done = reassign(f"status {path}", 8)
    type_remedy(f"`kcli reassign run {path}` moves them", done.err, reassign.cluster.bootstrap)


def test_status_can_wait_for_the_end(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 1MB/s --yes")

    def move() -> None:
        time.sleep(0.3)
        held.cluster.finish_reassignment("t", 0)

    mover = threading.Thread(target=move)
    mover.start()
    done = held("status --watch -o json")
    mover.join()
    assert [row["state"] for row in done.items] == ["done"]
    assert held.throttles == {}


def test_a_cancelled_move_goes_back_and_the_throttle_is_removed(held: Reassign) -> None:
    held.cluster.create_topic("u", replicas={0: [1, 2]})
    held(f"run {held.file({'t-0': [1, 2, 4], 't-1': [2, 3, 4], 'u-0': [1, 3]})} --throttle 1MB/s --yes")
    assert "Cancel the moves of 2 partitions?" in held("cancel --topic t", 2).err
    plan = held("cancel --topic t --dry-run -o json").items
    assert [(row["partition"], row["new_replicas"]) for row in plan] == [(0, [1, 2, 3]), (1, [2, 3, 1])]
    done = held("cancel --topic t --yes -o json")
    assert [row["status"] for row in done.items] == ["done", "done"]
    assert held.cluster.reassignment("t", 0) == ([1, 2, 3], [], [])
    assert held.cluster.reassignment("u", 0)[1] == [3]
    assert held.throttles
    held("cancel --all --yes")
    assert (held.cluster.reassignment("u", 0)[0], held.throttles) == ([1, 2], {})
    assert "nothing is being moved" in held("cancel --all").err


@pytest.mark.parametrize(
    ("line", "code", "statuses"),
    [
        ("--all", 0, ["done"]),
        ("--topic none --topic t", 6, ["refused", "done"]),
        ("--topic hidden --topic t", 4, ["refused", "done"]),
        ("--topic none", 1, ["refused"]),
    ],
)
def test_a_dry_run_of_a_cancellation_ends_as_the_act_does(
    held: Reassign, line: str, code: int, statuses: list[str]
) -> None:
    held.cluster.settings.hidden_topics = frozenset({"hidden"})
    held(f"run {held.file({'t-0': [1, 2, 4]})} --yes")
    for more, word in (("--dry-run", "planned"), ("--yes", "done")):
        items = held(f"cancel {line} {more} -o json", code).items
        assert [row["status"] for row in items] == [one.replace("done", word) for one in statuses]


@pytest.mark.parametrize("form", ["ndjson", "yaml", "csv", "tsv"])
def test_a_cancellation_prints_its_items_in_every_form(held: Reassign, form: str) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --yes")
    assert held(f"cancel --all --dry-run -o {form}").out.count("planned") == 1
    assert held(f"cancel --all --yes -o {form}").out.count("done") == 1


def test_a_client_that_may_not_cancel_sees_it_in_the_plan(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --yes")
    deny(held, AclOperation.ALTER)
    for more in ("--dry-run", "--yes"):
        assert "no ALTER permission on the cluster" in held(f"cancel --all {more}", 4).err
    assert held.cluster.reassignment("t", 0)[1] == [4]


def test_a_move_that_finishes_while_the_question_is_open_is_unchanged(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --throttle 1MB/s --yes")
    held.cluster.intercept(
        ListPartitionReassignmentsRequest,
        lambda _request: held.cluster.finish_reassignment("t", 0),
        after=1,
        times=1,
    )
    (row,) = held("cancel --all --yes -o json").items
    assert (row["status"], row["note"]) == ("unchanged", "it had finished before")
    assert (held.moves_sent, held.throttles) == (1, {})


def test_a_cancellation_whose_answer_is_lost_is_settled_by_what_is_read(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --yes")
    held.cluster.swallow(AlterPartitionReassignmentsRequest, "reset")
    assert [row["status"] for row in held("cancel --all --yes -o json").items] == ["done"]


def test_a_move_that_has_finished_is_no_failure_of_a_cancellation(held: Reassign) -> None:
    held(f"run {held.file({'t-0': [1, 2, 4]})} --yes")
    held.cluster.fail(AlterPartitionReassignmentsRequest, Code.NO_REASSIGNMENT_IN_PROGRESS)
    (row,) = held("cancel --all --yes -o json").items
    assert (row["status"], row["note"]) == ("unchanged", "it had finished before")


def test_a_cancellation_that_does_not_show_is_7(held: Reassign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.flows.reassign.cancel.VISIBLE_WITHIN", 0.1)
    held(f"run {held.file({'t-0': [1, 2, 4]})} --yes")
    held.cluster.replace(AlterPartitionReassignmentsRequest, lambda _request, _answer: None)

    def again(_request: Any) -> None:
        place = held.cluster._state.topics.by_name["t"].partitions[0]
        place.replicas, place.adding, place.removing = [1, 2, 4, 3], [4], [3]

    held.cluster.intercept(ListPartitionReassignmentsRequest, again, times=FOREVER)
    done = held("cancel --all --yes", 7)
    assert "the moves of t-0 were not cancelled" in done.err
    type_remedy("see `kcli reassign status`", done.err, held.cluster.bootstrap)
