"""``kcli brokers drain``: leaders first, then replicas; what is refused, what goes on, what is left, and the way back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.elect_leaders import ElectLeadersRequest
from kcli.core.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcli.core.types import TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.replica_admin import finish
from tests.fake.script import FOREVER
from tests.run import Noun

BEGUN = "the move has begun, and goes on"
REPLICAS = {0: [3, 1], 1: [1, 3], 2: [2, 1], 3: [3]}
"""Of the topic ``t``, on brokers 1 to 3 of four: broker 3 leads two partitions, and has three replicas."""


class Brokers(Noun):
    """``kcli brokers`` of a cluster."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__("brokers", cluster)

    @property
    def sent(self) -> list[str]:
        """What changed something, in order."""
        kinds = AlterPartitionReassignmentsRequest, ElectLeadersRequest
        return [type(one.request).__name__ for one in self.cluster.requests if isinstance(one.request, kinds)]

    @property
    def replicas(self) -> dict[int, list[int]]:
        return {n: self.cluster.reassignment("t", n)[0] for n in REPLICAS}

    @property
    def throttles(self) -> int:
        """How many brokers and topics have one."""
        state = self.cluster._state
        return sum("throttled" in str(one) for one in state.configs.values()) + sum(
            "throttled" in str(topic.configs) for topic in state.topics.by_name.values()
        )


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Brokers]:
    monkeypatch.delenv("KCLI_TIMEOUT", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("kcli.flows.brokers.drain.VISIBLE_WITHIN", 0.3)
    with FakeCluster(4) as made:
        made.create_topic("t", replicas=REPLICAS)
        for number in REPLICAS:
            made.append("t", number, batch(b"x" * 1000))
        yield Brokers(made)


def statuses(done: Any) -> dict[int, str]:
    return {row["partition"]: row["status"] for row in done.items}


def undo_of(done: Any) -> str:
    found: str = json.loads(done.out)["undo"]
    return found


def test_leaders_move_first_then_replicas_and_nothing_is_left(brokers: Brokers) -> None:
    done = brokers("drain 3 --throttle 1MB/s --watch --yes -o json")
    assert statuses(done) == {0: "done", 1: "done", 3: "done"}
    assert all(3 not in row and len(row) == len(REPLICAS[n]) for n, row in brokers.replicas.items())
    assert [brokers.cluster.leader("t", n) for n in (0, 1, 2)] == [4, 1, 2]
    # Of partition 0 the replica on 1 leads before anything is copied, and at the end that on 4, which leads nothing else;
    # partition 3 has no other replica.
    assert brokers.sent == [
        "AlterPartitionReassignmentsRequest",
        "ElectLeadersRequest",
        "AlterPartitionReassignmentsRequest",
        "ElectLeadersRequest",
    ]
    assert "nothing is left on broker 3" in done.err
    assert brokers.throttles == 0
    again = brokers("drain 3 --yes")
    assert "nothing is to be moved: broker 3 has no replicas" in again.err


def test_a_plan_says_what_brokers_will_have_and_changes_nothing(brokers: Brokers) -> None:
    done = brokers("drain 3 --dry-run")
    assert "Drain broker 3: 3 partitions, of which it leads 2, leaders first: 3.2 kB to copy." in done.out
    rows = {row["partition"]: row for row in brokers("drain 3 --dry-run -o json").items}
    assert (rows[0]["leader"], rows[0]["new_leader"], rows[0]["removing"]) == (3, 4, [3])
    assert brokers("drain 3", 2).err.count("Drain broker 3 of 3 partitions?") == 1
    assert brokers.sent == []


def test_moves_that_go_on_are_6_and_the_same_line_goes_on(brokers: Brokers) -> None:
    brokers.cluster.settings.hold_reassignments = True
    line = "drain 3 --throttle 1MB/s --yes -o json"
    begun = brokers(line, 6)
    assert set(statuses(begun).values()) == {"unknown"}
    assert {row["note"] for row in begun.items} == {BEGUN}
    assert "t-0,1,3: still being moved" in begun.err
    sent = len(brokers.sent)
    assert set(statuses(brokers(line, 6)).values()) == {"unknown"}
    assert len(brokers.sent) == sent  # nothing is sent twice
    assert brokers.throttles
    for number in (0, 1, 3):
        brokers.cluster.finish_reassignment("t", number)
    brokers(line)
    assert brokers.throttles == 0


def test_a_move_that_ends_while_the_question_is_open_is_done(brokers: Brokers) -> None:
    def end(_request: Any) -> None:
        for number in (0, 1, 3):
            place = brokers.cluster._state.topics.by_name["t"].partitions[number]
            if place.adding:
                finish(place)

    brokers.cluster.settings.hold_reassignments = True
    brokers("drain 3 --yes", 6)
    sent = len(brokers.sent)
    brokers.cluster.intercept(ListPartitionReassignmentsRequest, end, after=1)
    done = brokers("drain 3 --yes -o json")
    assert set(statuses(done).values()) == {"done"}
    assert "AlterPartitionReassignmentsRequest" not in brokers.sent[sent:]


def test_a_run_that_ended_between_its_steps_is_gone_on_with(brokers: Brokers) -> None:
    """The preferred replica is another one already, and the leader is not: only the election is left, then the moves."""
    brokers.cluster._state.topics.by_name["t"].partitions[0].replicas = [1, 3]
    brokers("drain 3 --yes")
    assert brokers.sent[0] == "ElectLeadersRequest"
    assert 3 not in brokers.replicas[0]


def test_only_leaders(brokers: Brokers) -> None:
    done = brokers("drain 3 --leaders-only --yes -o json", 6)
    assert statuses(done) == {0: "done", 3: "refused"}
    assert brokers.replicas == {**REPLICAS, 0: [1, 3]}
    assert brokers.cluster.leader("t", 0) == 1
    assert "it has no replica elsewhere that could lead it" in done.err
    brokers("drain 3 --leaders-only --dry-run", 7)
    brokers("drain 3 --undo --watch --yes")
    assert (brokers.replicas, brokers.cluster.leader("t", 0)) == (REPLICAS, 3)


def test_a_replica_that_is_not_in_sync_is_never_the_leader(brokers: Brokers) -> None:
    brokers.cluster.set_isr("t", 0, [3])
    for more, code in (("--dry-run", 6), ("--yes", 6)):
        done = brokers(f"drain 3 {more} -o json", code)
        assert statuses(done)[0] == "refused"
        assert "the replica on broker 1 is not in sync" in done.err
        type_remedy(
            "wait until it is, and run the same line again; `kcli topics describe --under-replicated` shows it",
            done.err,
            brokers.cluster.bootstrap,
        )
    assert (brokers.cluster.leader("t", 0), brokers.replicas[0]) == (3, [3, 1])
    assert brokers.replicas[1] != REPLICAS[1]
    brokers.cluster.set_isr("t", 0, [3, 1])
    brokers("drain 3 --yes")


def test_replicas_that_fall_behind_between_the_steps_are_left_alone(brokers: Brokers) -> None:
    def lag(_request: Any) -> None:
        brokers.cluster._state.topics.by_name["t"].partitions[0].isr = [1, 3]
        brokers.cluster._state.topics.by_name["t"].partitions[1].isr = [3]

    brokers.cluster.intercept(ElectLeadersRequest, lag)
    done = brokers("drain 3 --yes -o json", 6)
    assert statuses(done) == {0: "done", 1: "failed", 3: "done"}
    assert brokers.replicas[1] == REPLICAS[1]


def test_an_election_that_fails_keeps_the_replicas_where_they_are(brokers: Brokers) -> None:
    brokers.cluster.fail(
        ElectLeadersRequest, Code.PREFERRED_LEADER_NOT_AVAILABLE, where=TopicPartition("t", 0), times=FOREVER
    )
    done = brokers("drain 3 --yes -o json --timeout 2s", 6)
    assert statuses(done)[0] == "failed"
    assert set(brokers.replicas[0]) == {1, 3}
    assert undo_of(done)


def test_a_broker_that_is_not_alive_is_drained_by_what_topics_show(brokers: Brokers) -> None:
    brokers.cluster.create_topic("dead", replicas={0: [4, 1]})
    brokers.cluster.stop(4, fail_over=True)
    done = brokers("drain 4 --yes")
    assert "broker 4 is not alive: only what DescribeTopics shows" in done.err
    assert 4 not in brokers.cluster.reassignment("dead", 0)[0]


def test_a_partition_without_a_leader_is_refused(brokers: Brokers) -> None:
    brokers.cluster.move_leader("t", 3, -1)
    done = brokers("drain 3 --yes -o json", 6)
    assert statuses(done)[3] == "refused"
    assert "it has no leader, so nothing can be copied" in done.err
    type_remedy(
        "start a broker that has a replica in sync; `kcli cluster describe` shows it",
        done.err,
        brokers.cluster.bootstrap,
    )


def test_too_few_brokers_refuse_all_of_it(brokers: Brokers) -> None:
    brokers.cluster.create_topic("wide", replicas={0: [1, 2, 3, 4]})
    for more in ("--dry-run", "--yes"):
        done = brokers(f"drain 3 {more} -o json", 7)
        assert {row["status"] for row in done.items} == {"refused"}
        assert "needs as many brokers, and there are 3" in done.err
        type_remedy(
            "start another broker, or have fewer replicas first: "
            "`kcli reassign plan --topic wide --replication-factor 3 moves.json`",
            done.err,
            brokers.cluster.bootstrap,
        )
    assert brokers.sent == []


def test_the_only_broker_has_nowhere_to_move_to() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        done = Brokers(cluster)("drain 1 --yes", 7)
    assert "do: start another broker\n" in done.err


def test_racks_are_kept_unless_they_do_not_count(brokers: Brokers) -> None:
    for number, rack in enumerate("aabb", 1):
        brokers.cluster._state.nodes[number].rack = rack
    brokers.cluster.create_topic("racked", replicas={0: [1, 3]})
    done = brokers("drain 3 4 --yes -o json", 7)
    assert "its replicas are on 2 racks, and would be on 1" in done.err
    brokers("drain 3 4 --disable-rack-aware --yes")
    assert set(brokers.cluster.reassignment("racked", 0)[0]) == {1, 2}
    brokers.cluster._state.nodes[2].rack = None
    brokers.cluster.create_topic("late", replicas={0: [3, 1]})
    assert "racks are ignored: broker 2 has none" in brokers("drain 3 --yes").err


def test_moves_of_others_are_refused(brokers: Brokers) -> None:
    brokers.cluster.settings.hold_reassignments = True
    place = brokers.cluster._state.topics.by_name["t"].partitions[2]
    place.replicas, place.adding, place.removing = [2, 3, 1], [3], [1]
    done = brokers("drain 3 --yes -o json", 7)
    assert statuses(done) == {0: "unknown", 1: "unknown", 2: "refused", 3: "unknown"}
    assert "it is being moved to other replicas" in done.err


def test_what_comes_to_the_broker_meanwhile_is_named(brokers: Brokers) -> None:
    def create(_request: Any) -> None:
        if "new" not in brokers.cluster._state.topics.by_name:
            brokers.cluster._state.topics.create("new", 1, -1, None, {0: [3, 1]})

    brokers.cluster.intercept(AlterPartitionReassignmentsRequest, create, after=1)
    done = brokers("drain 3 --yes -o json", 6)
    rows = {(row["topic"], row["status"], row["note"]) for row in done.items}
    assert ("new", "failed", "broker 3 has a replica: it came during the drain") in rows
    assert "nothing is left" not in done.err
    brokers("drain 3 --yes")


def test_what_only_a_disk_shows_is_named(brokers: Brokers) -> None:
    brokers("drain 3 --yes")
    brokers.cluster.settings.hidden_topics = frozenset({"t"})
    place = brokers.cluster._state.topics.by_name["t"].partitions[2]
    place.replicas = [2, 1, 3]
    done = brokers("drain 3 --yes -o json", 6)
    assert "a log directory of broker 3 has it, and no description of a topic" in done.err


def test_disks_that_cannot_be_read_are_no_success(brokers: Brokers) -> None:
    brokers.cluster.fail(DescribeLogDirsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, top=True, times=FOREVER)
    brokers("drain 3 --yes", 4)
    assert brokers.sent == []


def test_full_disks_are_said(brokers: Brokers) -> None:
    brokers.cluster.settings.usable_bytes = 10
    assert "has 10 B left on its disks" in brokers("drain 3 --dry-run").err


def test_a_change_while_the_question_was_open_is_refused(brokers: Brokers) -> None:
    def other(_request: Any) -> None:
        brokers.cluster._state.topics.by_name["t"].partitions[1].replicas = [3, 2]

    brokers.cluster.intercept(ListPartitionReassignmentsRequest, other, after=1)
    done = brokers("drain 3 --yes -o json", 6)
    assert statuses(done)[1] == "refused"
    assert "it is not as it was when the plan was shown" in done.err


@pytest.mark.parametrize(
    ("line", "code", "what"),
    [
        ("drain", 2, "missing argument"),
        ("drain x", 2, "not a list of broker ids"),
        ("drain 77 --yes", 1, "the cluster has no broker 77"),
        ("drain 3 --throttle 100", 2, "--throttle needs a unit"),
        ("drain 3 --leaders-only --throttle 1MB/s", 2, "exclude each other"),
        ("drain 3 --leaders-only --undo", 2, "exclude each other"),
        ("drain 3 --disable-rack-aware --undo", 2, "exclude each other"),
        ("drain 3 --disable-rack-aware --leaders-only", 2, "exclude each other"),
        ("drain 3 --undo", 1, "there is no journal of kcli brokers drain 3"),
    ],
)
def test_what_cannot_be_done_is_said(brokers: Brokers, line: str, code: int, what: str) -> None:
    err = brokers(line, code).err
    assert what in err
    if "no broker 77" in err:
        type_remedy("`kcli brokers list` lists the brokers", err, brokers.cluster.bootstrap)
    if "no journal" in err:
        type_remedy("`kcli undo` lists what can be undone", err, brokers.cluster.bootstrap)
    assert brokers.sent == []


# --- back ----------------------------------------------------------------------------------------------


def test_undo_moves_back_what_several_runs_have_moved(brokers: Brokers) -> None:
    brokers.cluster.set_isr("t", 0, [3])
    brokers("drain 3 --yes", 6)
    brokers.cluster.set_isr("t", 0, [3, 1])
    brokers("drain 3 --yes")
    shown = brokers("drain 3 --undo --dry-run")
    assert "Move replicas of 3 partitions back" in shown.out
    brokers("drain 3 --undo --watch --yes")
    assert brokers.replicas == REPLICAS
    assert [brokers.cluster.leader("t", n) for n in REPLICAS] == [3, 1, 2, 3]
    done = brokers("drain 3 --undo --watch --yes")
    assert "nothing is to be moved back" in done.err


def test_undo_cancels_moves_that_go_on(brokers: Brokers) -> None:
    brokers.cluster.settings.hold_reassignments = True
    brokers("drain 3 --yes", 6)
    brokers("drain 3 --undo --watch --yes")
    assert brokers.replicas == REPLICAS


def test_undo_that_goes_on_is_6(brokers: Brokers) -> None:
    brokers("drain 3 --yes")
    brokers.cluster.settings.hold_reassignments = True
    done = brokers("drain 3 --undo --yes", 6)
    for number in (0, 1, 3):
        brokers.cluster.finish_reassignment("t", number)
    type_remedy(
        "the same line goes on; `kcli reassign status --watch` shows how far it is",
        done.err,
        brokers.cluster.bootstrap,
    )
    brokers("drain 3 --undo --yes")


def test_undo_refuses_what_was_changed_since(brokers: Brokers) -> None:
    brokers("drain 3 --yes")
    (now,) = brokers.replicas[3]
    brokers.cluster._state.topics.by_name["t"].partitions[3].replicas = [now % 2 + 1]
    done = brokers("drain 3 --undo --yes -o json", 6)
    assert statuses(done) == {0: "done", 1: "done", 3: "refused"}
    assert "its replicas were changed since" in done.err
    type_remedy(
        "`kcli reassign plan` makes a plan for it; nothing was done to it",
        done.err,
        brokers.cluster.bootstrap,
    )


def test_undo_of_a_topic_that_was_created_again_is_refused(brokers: Brokers) -> None:
    brokers("drain 3 --yes")
    brokers.cluster.recreate_topic("t")
    done = brokers("drain 3 --undo --yes -o json", 7)
    assert set(statuses(done).values()) == {"refused"}
    assert "its topic was deleted and created again" in done.err
    type_remedy(
        "nothing was done to it; `kcli topics list` shows the topics that there are",
        done.err,
        brokers.cluster.bootstrap,
    )


def test_undo_onto_a_broker_that_is_not_alive_is_refused(brokers: Brokers) -> None:
    brokers("drain 3 --yes")
    brokers.cluster.stop(3, fail_over=True)
    assert "broker 3 is not alive" in brokers("drain 3 --undo --yes", 7).err


def test_kcli_undo_takes_the_id(brokers: Brokers) -> None:
    journal = undo_of(brokers("drain 3 --yes -o json"))
    undo = Noun("undo", brokers.cluster)
    (listed,) = undo("-o json").items
    assert (listed["command"], listed["what"]) == ("brokers drain 3", "replicas of 3 partitions of t")
    assert listed["entries"][0]["replicas"] == [3, 1]
    assert statuses(undo(f"{journal} --dry-run -o json")) == {0: "planned", 1: "planned", 3: "planned"}
    undo(f"{journal} --yes")
    assert brokers.replicas == REPLICAS
