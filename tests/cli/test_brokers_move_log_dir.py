"""``kcli brokers move-log-dir``: plans, moves, progress, throttle, refusals, and the way back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.run import Noun

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LINE = "move-log-dir 1 --from /fake/1 --to /fake/1-2"


class Brokers(Noun):
    """``kcli brokers`` of a cluster."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__("brokers", cluster)

    @property
    def dirs(self) -> list[str]:
        return [self.cluster.log_dir("t", number, 1).removeprefix("/fake/") for number in range(3)]

    @property
    def sent(self) -> int:
        return len(self.cluster.seen(AlterReplicaLogDirsRequest))

    @property
    def rate(self) -> str | None:
        return dict(self.cluster._state.configs.get((4, "1"), {})).get(RATE)


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Brokers]:
    monkeypatch.delenv("KCLI_TIMEOUT", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("kcli.flows.brokers.move_log_dir.VISIBLE_WITHIN", 0.3)
    with FakeCluster(2, log_dirs=2) as made:
        made.create_topic("t", replicas={0: [1, 2], 1: [2, 1], 2: [1]})
        made.create_topic("u", replicas={0: [2]})
        for number in range(3):
            made.append("t", number, batch(b"x" * 1000))
        yield Brokers(made)


def statuses(done: Any) -> dict[int, str]:
    return {row["partition"]: row["status"] for row in done.items}


def test_replicas_are_moved_read_back_and_moved_back(brokers: Brokers) -> None:
    shown = brokers(f"{LINE} --dry-run")
    assert "Move 3 replicas of broker 1 from /fake/1 to /fake/1-2: 3.2 kB to copy." in shown.out
    assert statuses(brokers(f"{LINE} --dry-run -o json")) == dict.fromkeys(range(3), "planned")
    assert "Move 3 replicas?" in brokers(LINE, 2).err
    assert brokers.sent == 0
    done = brokers(f"{LINE} --yes -o json")
    assert (statuses(done), brokers.dirs) == (dict.fromkeys(range(3), "done"), ["1-2"] * 3)
    assert "nothing is to be moved: /fake/1 of broker 1 has no replicas" in brokers(f"{LINE} --yes").err
    undo = Noun("undo", brokers.cluster)
    (listed,) = undo("-o json").items
    assert listed["what"] == "log directories of 3 replicas on broker 1"
    journal = json.loads(done.out)["undo"]
    assert statuses(undo(f"{journal} --dry-run -o json")) == dict.fromkeys(range(3), "planned")
    undo(f"{journal} --yes")
    assert brokers.dirs == ["1"] * 3
    assert "nothing is to be moved back" in undo(f"{journal} --yes").err


def test_some_partitions(brokers: Brokers) -> None:
    brokers(f"{LINE} -t t:0,2 --yes")
    assert brokers.dirs == ["1-2", "1", "1-2"]
    done = brokers(f"{LINE} -t t --yes -o json")
    assert statuses(done) == {0: "unchanged", 1: "done", 2: "unchanged"}
    done = brokers(f"{LINE} -t t:0,7 --yes -o json", 7)
    assert statuses(done) == {0: "unchanged", 7: "refused"}
    assert "broker 1 has no replica of it" in done.err
    type_remedy(
        "`kcli brokers describe 1` shows the log directories and what is in them",
        done.err,
        brokers.cluster.bootstrap,
    )


def test_moves_that_go_on_are_6_and_the_same_line_goes_on(brokers: Brokers) -> None:
    brokers.cluster.settings.hold_log_dir_moves = True
    line = f"{LINE} -t t:0,1 --throttle 1MB/s --yes -o json"
    done = brokers(line, 6)
    assert statuses(done) == {0: "unknown", 1: "unknown"}
    assert "t-0,1 of broker 1: still being moved" in done.err
    assert brokers.rate == "1000000"
    brokers(line, 6)
    assert (brokers.sent, brokers.rate) == (1, "1000000")
    Noun("reassign", brokers.cluster)("status")
    assert brokers.rate == "1000000"  # they go on
    for number in (0, 1):
        brokers.cluster.finish_log_dir_move("t", number, 1)
    assert "removed the throttle" in brokers(line).err
    assert brokers.rate is None


def test_a_throttle_that_is_left_is_removed_by_status(brokers: Brokers) -> None:
    brokers.cluster.settings.hold_log_dir_moves = True
    brokers(f"{LINE} -t t:0 --throttle 1MB/s --yes", 6)
    brokers.cluster.finish_log_dir_move("t", 0, 1)
    assert "would be removed" in Noun("reassign", brokers.cluster)("status --dry-run").err
    Noun("reassign", brokers.cluster)("status")
    assert brokers.rate is None


def test_a_throttle_that_exists_is_kept(brokers: Brokers) -> None:
    brokers.cluster._state.configs[4, "1"] = {RATE: "77"}
    done = brokers(f"{LINE} --throttle 1MB/s --yes")
    assert f"broker 1 has {RATE}=77 already" in done.err
    assert brokers.rate == "77"


def test_a_throttle_whose_answer_is_lost_moves_nothing(brokers: Brokers) -> None:
    brokers.cluster.swallow(IncrementalAlterConfigsRequest, "reset", times=FOREVER)
    brokers(f"{LINE} --throttle 1MB/s --yes --timeout 1s", 3)
    assert brokers.sent == 0


def test_undo_cancels_a_move_that_goes_on(brokers: Brokers) -> None:
    brokers.cluster.settings.hold_log_dir_moves = True
    done = brokers(f"{LINE} -t t:0 --yes -o json", 6)
    undo = Noun("undo", brokers.cluster)
    cancelled = undo(f"{json.loads(done.out)['undo']} --yes -o json")
    assert [row["note"] for row in cancelled.items] == ["the move to /fake/1-2 is cancelled"]
    assert brokers.cluster._state.topics.by_name["t"].partitions[0].futures == {}


def test_undo_refuses_what_was_moved_since(brokers: Brokers) -> None:
    brokers.cluster.settings.log_dirs = 3
    done = brokers(f"{LINE} -t t:0 --yes -o json")
    brokers("move-log-dir 1 --from /fake/1-2 --to /fake/1-3 --yes")
    refused = Noun("undo", brokers.cluster)(f"{json.loads(done.out)['undo']} --yes", 7)
    assert "it is in /fake/1-3" in refused.err


def test_another_move_in_progress_is_refused(brokers: Brokers) -> None:
    brokers.cluster.settings.log_dirs = 3
    brokers.cluster.settings.hold_log_dir_moves = True
    brokers(f"{LINE} -t t:0 --yes", 6)
    done = brokers("move-log-dir 1 --from /fake/1 --to /fake/1-3 -t t:0 --yes", 7)
    assert "it is being moved to /fake/1-2" in done.err


def test_a_move_whose_response_was_lost_is_found(brokers: Brokers) -> None:
    brokers.cluster.swallow(AlterReplicaLogDirsRequest, "reset")
    assert set(statuses(brokers(f"{LINE} --yes -o json")).values()) == {"done"}


def test_a_replica_that_leaves_the_broker_meanwhile_is_named(brokers: Brokers) -> None:
    def leave(_request: Any) -> None:
        brokers.cluster._state.topics.by_name["t"].partitions[0].replicas = [2]

    brokers.cluster.intercept(AlterReplicaLogDirsRequest, leave)
    done = brokers(f"{LINE} --yes -o json", 6)
    assert statuses(done) == {0: "failed", 1: "done", 2: "done"}


def test_a_move_that_another_client_cancels_is_named(brokers: Brokers) -> None:
    def cancel(_request: Any) -> None:
        brokers.cluster._state.topics.by_name["t"].partitions[0].futures.clear()

    brokers.cluster.settings.hold_log_dir_moves = True
    brokers.cluster.intercept(DescribeLogDirsRequest, cancel, after=2)
    done = brokers(f"{LINE} -t t:0 --yes -o json", 7)
    assert statuses(done) == {0: "failed"}
    type_remedy(
        "`kcli brokers describe 1` shows the log directories and what is in them",
        done.err,
        brokers.cluster.bootstrap,
    )


def test_full_disks_are_said(brokers: Brokers) -> None:
    brokers.cluster.settings.usable_bytes = 10
    assert "/fake/1-2 gets 3.2 kB, and its volume has 10 B left" in brokers(f"{LINE} --dry-run").err


def test_old_brokers_are_named(brokers: Brokers) -> None:
    brokers.cluster.hide(AlterReplicaLogDirsRequest, DescribeLogDirsRequest)
    assert "DescribeLogDirs" in brokers(f"{LINE} --yes", 7).err


@pytest.mark.parametrize(
    ("line", "code", "what"),
    [
        ("move-log-dir 1 --from /fake/1", 2, "missing option --to"),
        ("move-log-dir --from /fake/1 --to /fake/1-2", 2, "missing argument"),
        ("move-log-dir 1 --from /fake/1 --to /fake/1", 2, "name the same directory"),
        ("move-log-dir 1 --from /none --to /fake/1-2 --yes", 1, "broker 1 has no log directory /none"),
        ("move-log-dir 1 --from /fake/1 --to /none --yes", 1, "it has /fake/1, /fake/1-2"),
        ("move-log-dir 9 --from /fake/1 --to /none --yes", 1, "has no broker 9"),
        (f"{LINE} -t u --yes", 1, "it has no replica of that topic"),
        (f"{LINE} --throttle 100", 2, "--throttle needs a unit"),
    ],
)
def test_what_cannot_be_done_is_said(brokers: Brokers, line: str, code: int, what: str) -> None:
    err = brokers(line, code).err
    assert what in err
    if "of that topic" in err:
        type_remedy(
            "`kcli brokers describe 1` shows the log directories and what is in them",
            err,
            brokers.cluster.bootstrap,
        )
    assert brokers.sent == 0
