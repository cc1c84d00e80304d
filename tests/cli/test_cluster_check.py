"""``kcli cluster check`` on the fake cluster: each check, what would be without a broker, waiting, and exit codes."""

import json
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import commit
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import kcli, start

CHECKS = [
    "quorum",
    "brokers",
    "offline-partitions",
    "under-replicated",
    "under-min-isr",
    "at-min-isr",
    "group-coordinators",
    "transaction-coordinators",
    "log-directories",
    "hanging-transactions",
    "preferred-leaders",
    "reassignments",
]
FORESEEN = [
    "quorum",
    "offline-partitions",
    "under-min-isr",
    "unclean-leaders",
    "group-coordinators",
    "transaction-coordinators",
]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Three brokers; each partition of ``orders`` is on all of them, two of which have to confirm."""
    with FakeCluster(3, topics={"__consumer_offsets": 3}) as found:
        replicas = {number: [1 + (number + more) % 3 for more in range(3)] for number in range(3)}
        found.create_topic("orders", 3, replicas=replicas, configs={"min.insync.replicas": "2"})
        commit(found, "billing", {TopicPartition("orders", 0): OffsetAndMetadata(5)})
        yield found


def check(
    cluster: FakeCluster, *flags: str, code: int = 0
) -> dict[tuple[str, tuple[int, ...]], dict[str, Any]]:
    """The items by check and ``if_stopped``."""
    done = kcli("cluster", "check", *flags, "-o", "json", bootstrap=cluster.bootstrap)
    assert done.code == code, done.out + done.err
    document = json.loads(done.out)
    assert document["kind"] == "ClusterCheckList"
    assert document["ok"] == (code == 0)
    assert document["failed"] == sum(item["status"] == "failed" for item in document["items"])
    assert (code == 8) == bool(document["failed"])
    return {(item["check"], tuple(item["if_stopped"])): item for item in document["items"]}


def test_a_cluster_that_is_well_passes_every_check(cluster: FakeCluster) -> None:
    found = check(cluster, "--strict", "--brokers", "3")
    assert [name for name, _stopped in found] == CHECKS
    assert {item["status"] for item in found.values()} == {"ok"}
    done = kcli("cluster", "check", "-q", bootstrap=cluster.bootstrap)
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_broker_that_is_down_is_a_failed_check_and_not_a_missing_one(cluster: FakeCluster) -> None:
    cluster.stop(2, fail_over=True)
    done = kcli("cluster", "check", "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(done.out)
    found = {item["check"]: item for item in document["items"]}
    assert done.code == 8
    assert (document["complete"], document["missing"]) == (True, [])
    assert (found["brokers"]["status"], found["brokers"]["brokers"]) == ("failed", [2])
    assert found["brokers"]["reason"] == "1 of 3 not online: 2 (fenced)"
    assert found["under-replicated"]["status"] == "failed"
    assert found["at-min-isr"]["status"] == "warning"
    assert {item["topic"] for item in found["at-min-isr"]["partitions"]} == {"orders"}


def test_a_broker_that_cannot_be_connected_to_has_failed(cluster: FakeCluster) -> None:
    cluster.stop(2)
    found = check(cluster, "--timeout", "2s", code=8)
    assert found["brokers", ()]["reason"] == "1 of 3 not online: 2 (unreachable)"


def test_what_is_there_and_does_not_answer_is_unknown(cluster: FakeCluster) -> None:
    """Exit code 6, unless a check failed."""
    cluster.drop(DescribeLogDirsRequest, then="silence", node=2, times=FOREVER)
    done = kcli("cluster", "check", "--timeout", "2s", "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(done.out)
    found = {item["check"]: item["status"] for item in document["items"]}
    assert done.code == 6, done.err
    assert found["log-directories"] == "unknown"
    assert (document["ok"], document["failed"], document["unknown"] > 0) == (False, 0, True)
    assert "broker 2" in {part["where"] for part in document["missing"]}
    cluster.set_isr("orders", 0, [1])
    done = kcli("cluster", "check", "--timeout", "2s", bootstrap=cluster.bootstrap)
    assert done.code == 8, done.err


def test_many_topics_that_could_not_be_read_are_one_gap(cluster: FakeCluster) -> None:
    for number in range(5):
        cluster.create_topic(f"t{number}", 1)
    cluster.drop(DescribeConfigsRequest, then="silence", times=FOREVER)
    done = kcli("cluster", "check", "--timeout", "2s", "-o", "json", bootstrap=cluster.bootstrap)
    missing = [part for part in json.loads(done.out)["missing"] if "configuration" in str(part)]
    assert len(missing) == 1
    assert done.err.count("the configuration of topic __consumer_offsets and 6 others could not be read") == 1
    assert "topic t4" not in done.err
    assert done.code == 6


def test_topics_that_the_user_may_not_see_are_not_taken_for_well(cluster: FakeCluster) -> None:
    """Brokers leave them out of every answer but that of log directories."""
    cluster.settings.hidden_topics = frozenset({"orders"})
    done = kcli("cluster", "check", "--if-stopped", "1", "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(done.out)
    unknown = [
        (item["check"], item["if_stopped"]) for item in document["items"] if item["status"] == "unknown"
    ]
    of_partitions = ["offline-partitions", "under-replicated", "under-min-isr", "at-min-isr"]
    assert unknown == [
        *((name, []) for name in (*of_partitions, "hanging-transactions", "preferred-leaders")),
        *((name, [1]) for name in ("offline-partitions", "under-min-isr", "unclean-leaders")),
    ]
    assert done.err.count("the partitions of 1 topic were not checked: orders") == 1
    assert (document["ok"], document["complete"]) == (False, False)
    assert done.code == 6
    cluster.create_topic("seen", 1)
    check(cluster, "--topic", "seen")


def test_groups_and_ids_that_the_user_may_not_see_are_not_taken_for_well(cluster: FakeCluster) -> None:
    """Brokers leave them out of their lists, and do not say so."""
    cluster.create_topic("__transaction_state", 3, replication=3)
    cluster.settings.cluster_operations = 0
    cluster.fail(DescribeTransactionsRequest, Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, times=FOREVER)
    done = kcli("cluster", "check", "--if-stopped", "1", "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(done.out)
    unknown = [
        (item["check"], item["if_stopped"]) for item in document["items"] if item["status"] == "unknown"
    ]
    names = ("group-coordinators", "transaction-coordinators")
    assert unknown == [(name, stopped) for stopped in ([], [1]) for name in names]
    assert (document["complete"], done.code) == (False, 6)
    cluster.settings.cluster_operations = 8096
    type_remedy(
        "have it granted: `kcli acls create --principal User:NAME --operation describe --cluster`",
        done.err,
        cluster.bootstrap,
    )
    assert "--operation describe --transactional-id '*'`" in done.err


def test_coordinators_of_a_topic_that_the_user_may_not_see_are_unknown(cluster: FakeCluster) -> None:
    cluster.settings.hidden_topics = frozenset({"__consumer_offsets", "__transaction_state"})
    done = kcli("cluster", "check", "-o", "json", bootstrap=cluster.bootstrap)
    statuses = {item["check"]: item["status"] for item in json.loads(done.out)["items"]}
    assert statuses["group-coordinators"] == statuses["transaction-coordinators"] == "unknown"
    assert done.code == 6


class Every(frozenset[str]):
    """Each name, also of a topic that nobody has."""

    def __contains__(self, name: object) -> bool:
        return True


def test_a_user_without_any_rights_is_told_what_could_not_be_checked(cluster: FakeCluster) -> None:
    cluster.settings.cluster_operations = 0
    for kind in (DescribeQuorumRequest, DescribeLogDirsRequest):
        cluster.fail(kind, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    cluster.settings.hidden_topics = Every()
    done = kcli("cluster", "check", "--if-stopped", "1", "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(done.out)
    unknown = {
        (item["check"], *item["if_stopped"]) for item in document["items"] if item["status"] == "unknown"
    }
    assert {("quorum",), ("quorum", 1), ("offline-partitions",), ("offline-partitions", 1)} <= unknown
    assert "some topics were not checked" in done.err
    assert done.err.count("describing the controllers failed") == 1, "said once, though two checks need it"
    assert done.code == 6


def test_a_line_says_what_changes_once_replicas_have_caught_up(cluster: FakeCluster) -> None:
    cluster.set_isr("orders", 0, [1, 2])
    found = check(cluster, "--topic", "orders", "--if-stopped", "1", code=8)
    assert found["under-min-isr", (1,)]["reason"] == (
        "1 partition would refuse records with acks=all: orders-0; "
        "only until replicas that are catching up are in sync"
    )
    cluster.set_isr("orders", 1, [2, 1])
    cluster.stop(3, fail_over=True)
    found = check(cluster, "--topic", "orders", "--if-stopped", "1", code=8)
    assert "catching up" not in found["under-min-isr", (1,)]["reason"], "3 is down"


FAULTS = [
    ("offline", "offline-partitions", "1 partition without a leader that can be reached: t-0"),
    ("lagging", "under-replicated", "1 partition with replicas that are not in sync: orders-0"),
    ("short", "under-min-isr", "1 partition that refuse records with acks=all: orders-0"),
    ("controller", "quorum", "no active controller answers"),
    ("quorum", "quorum", "voter 3 is behind, or does not run; a majority is 2, 2 caught up: none may fail"),
    ("groups", "group-coordinators", "1 of 3 partitions of __consumer_offsets without a leader"),
    ("disk", "log-directories", "1 offline: /fake/1 of broker 1"),
]


@pytest.mark.parametrize(("fault", "name", "reason"), FAULTS)
def test_each_fault_fails_its_check(cluster: FakeCluster, fault: str, name: str, reason: str) -> None:
    if fault == "offline":
        cluster.create_topic("t", 1, replicas={0: [1]})
        cluster.move_leader("t", 0, -1)
    elif fault == "lagging":
        cluster.set_isr("orders", 0, [1, 2])
    elif fault == "short":
        cluster.set_isr("orders", 0, [1])
    elif fault == "controller":
        cluster.drop(DescribeQuorumRequest, then="silence", times=FOREVER)
    elif fault == "quorum":
        cluster.quorum.make_dynamic([1, 2, 3])
        cluster.quorum.behind = {3}
    elif fault == "groups":
        cluster.lose_coordinator("group", 1)
    else:

        def fail(_request: Any, answer: Any) -> None:
            answer.results[0].error_code = 56  # KAFKA_STORAGE_ERROR

        cluster.replace(DescribeLogDirsRequest, fail, node=1)
    found = check(cluster, "--timeout", "2s", code=8)
    assert found[name, ()]["status"] == "failed"
    assert reason in found[name, ()]["reason"]


def test_bounds_and_topics_limit_what_counts(cluster: FakeCluster) -> None:
    cluster.set_isr("orders", 0, [1, 2])
    cluster.create_topic("other", 1, replicas={0: [1]})
    check(cluster, code=8)
    check(cluster, "--max-under-replicated", "1")
    check(cluster, "--topic", "other")
    check(cluster, "--max-under-replicated", "1", "--strict", code=8)  # at min ISR is a warning
    found = check(cluster, "--topic", "other", "--brokers", "4", code=8)
    assert found["brokers", ()]["reason"] == "3 online, 4 expected"
    check(cluster, "--topic", "other", "--if-stopped", "2")
    check(cluster, "--topic", "other", "--if-stopped", "1", code=8)


def test_the_stop_of_a_broker_is_foreseen(cluster: FakeCluster) -> None:
    found = check(cluster, "--if-stopped", "2")
    assert [name for name, stopped in found if stopped == (2,)] == FORESEEN
    cluster.create_topic("single", 2, replicas={0: [2], 1: [1]})
    cluster.create_topic(
        "unclean", 1, replicas={0: [2, 1]}, configs={"unclean.leader.election.enable": "true"}
    )
    cluster.set_isr("unclean", 0, [2])
    cluster.set_isr("orders", 1, [2, 3])
    found = check(cluster, "--if-stopped", "2", code=8)
    ahead = {name: item for (name, stopped), item in found.items() if stopped}
    assert ahead["offline-partitions"]["partitions"] == [{"topic": "single", "partition": 0}]
    assert ahead["under-min-isr"]["partitions"] == [{"topic": "orders", "partition": 1}]
    assert ahead["unclean-leaders"]["partitions"] == [{"topic": "unclean", "partition": 0}]
    assert ahead["quorum"]["reason"] == "a majority is 2, 2 caught up: none may fail"
    both = check(cluster, "--if-stopped", "2", "--if-stopped", "3", code=8)
    assert both["quorum", (2, 3)]["status"] == "failed"


def test_groups_without_a_coordinator_are_foreseen(cluster: FakeCluster) -> None:
    cluster.delete_topic("__consumer_offsets")
    cluster.create_topic("__consumer_offsets", 1, replicas={0: [2]})
    cluster.move_coordinator("group", "billing", 2)
    found = check(cluster, "--if-stopped", "2", "--topic", "orders", code=8)
    assert found["group-coordinators", (2,)]["groups"] == ["billing"]
    assert found["group-coordinators", (2,)]["reason"] == "1 group would have no coordinator: billing"


@pytest.mark.parametrize("watch", [(), ("--watch",)])
def test_what_does_not_exist_is_refused(cluster: FakeCluster, watch: tuple[str, ...]) -> None:
    def refused(*flags: str) -> str:
        done = kcli("cluster", "check", *watch, *flags, bootstrap=cluster.bootstrap)
        assert (done.code, done.out) == (1, "")
        return done.err

    said = refused("--if-stopped", "2", "--if-stopped", "9")
    assert "the cluster has no node 9" in said
    type_remedy(
        "`kcli brokers list` lists the brokers, `kcli quorum describe` the controllers",
        said,
        cluster.bootstrap,
    )
    said = refused("--topic", "nope")
    assert "topic nope does not exist" in said
    type_remedy("`kcli topics list` lists the topics", said, cluster.bootstrap)


def test_the_table_has_a_line_for_each_check(cluster: FakeCluster) -> None:
    done = kcli("cluster", "check", "--if-stopped", "2", bootstrap=cluster.bootstrap)
    rows = [re.split(r"  +", line) for line in done.out.splitlines()]
    assert rows[0] == ["CHECK", "IF-STOPPED", "STATUS", "REASON"]
    assert [(row[0], row[1]) for row in rows[1:]] == [
        *((name, "-") for name in CHECKS),
        *((name, "2") for name in FORESEEN),
    ]
    assert "IF-STOPPED" not in kcli("cluster", "check", bootstrap=cluster.bootstrap).out


# --- waiting


def lines(process: Any, count: int) -> list[str]:
    return [process.stdout.readline().decode().rstrip("\n") for _ in range(count)]


def test_wait_ends_when_all_is_well(cluster: FakeCluster) -> None:
    cluster.set_isr("orders", 0, [1])
    process = start("cluster", "check", "--wait", "60s", bootstrap=cluster.bootstrap)
    assert process.stderr is not None
    said = process.stderr.readline().decode()
    assert said.startswith(
        "waiting: under-replicated: 1 partition with replicas that are not in sync: orders-0"
    )
    cluster.set_isr("orders", 0, [1, 2, 3])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.decode().startswith("CHECK")


def test_wait_is_over_with_what_is_not_well(cluster: FakeCluster) -> None:
    cluster.set_isr("orders", 0, [1])
    done = kcli("cluster", "check", "--wait", "1ms", bootstrap=cluster.bootstrap)
    assert done.code == 8
    assert "2 of 12 checks failed" in done.err


def test_a_cluster_that_is_away_to_the_end_is_unreachable(cluster: FakeCluster) -> None:
    for number in (1, 2, 3):
        cluster.stop(number)
    done = kcli("cluster", "check", "--wait", "1ms", "--timeout", "500ms", bootstrap=cluster.bootstrap)
    assert (done.code, done.out) == (3, "")


def test_a_rolling_restart_goes_from_broker_to_broker(cluster: FakeCluster) -> None:
    line = ("cluster", "check", "--watch", "--if-stopped", "3", "--if-stopped", "2", "--timeout", "2s")
    process = start(*line, bootstrap=cluster.bootstrap)
    assert process.stderr is not None
    for number in (3, 2):
        assert lines(process, 1) == [f"safe to stop {number}"]
        cluster.stop(number, fail_over=True)
        assert process.stderr.readline().decode() == f"{number} is down\n"
        restart(cluster, number)
        while (said := process.stderr.readline().decode()) != f"{number} is back and in sync\n":
            assert said.startswith(f"waiting for node {number}: "), said
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")


def restart(cluster: FakeCluster, number: int) -> None:
    cluster.start(number)
    for partition in range(3):
        cluster.set_isr("orders", partition, [1, 2, 3])


def test_the_steps_are_lines_for_programs_and_a_signal_ends_them_in_order(cluster: FakeCluster) -> None:
    process = start("cluster", "check", "--watch", "-o", "ndjson", bootstrap=cluster.bootstrap)
    step = json.loads(lines(process, 1)[0])
    assert (step["kind"], step["node"], step["state"], step["reason"]) == ("RestartStep", 1, "safe", None)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    looks = len(cluster.seen(DescribeClusterRequest))
    process = start("cluster", "check", "--watch", "-o", "json", bootstrap=cluster.bootstrap)
    cluster.wait_for(DescribeClusterRequest, looks + 4, timeout=60)  # one for each look: the step was seen
    process.send_signal(signal.SIGINT)
    out, _err = process.communicate(timeout=60)
    assert process.returncode == 130
    document = json.loads(out)
    assert (document["kind"], document["complete"]) == ("RestartStepList", False)  # nodes are left
    assert [item["state"] for item in document["items"]] == ["safe"]


def test_a_rolling_restart_waits_no_longer_than_it_may(cluster: FakeCluster) -> None:
    cluster.create_topic("single", 1, replicas={0: [2]})
    line = "cluster check --watch --if-stopped 2 --wait 1ms"
    done = kcli(*line.split(), bootstrap=cluster.bootstrap)
    assert (done.code, done.out) == (8, "")
    assert "waited for node 2 for 0s, the time of --wait" in done.err
    assert "offline-partitions without 2: 1 partition would have no leader: single-0" in done.err
    type_remedy(
        "`kcli cluster check --if-stopped 2` shows what is not well",
        done.err,
        cluster.bootstrap,
        then="8: 1 of 18 checks failed",
    )
    done = kcli(*line.split(), "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(done.out)
    assert (done.code, document["kind"]) == (8, "RestartStepList")
    (step,) = document["items"]
    assert (step["node"], step["state"]) == (2, "waiting")


def test_what_brokers_before_3_0_do_not_list_is_judged_by_the_partitions_of_its_coordinators(
    cluster: FakeCluster,
) -> None:
    cluster.create_topic("__transaction_state", 2, replicas={0: [1], 1: [2]})
    cluster.hide(ListTransactionsRequest, DescribeTransactionsRequest)
    found = check(cluster, "--if-stopped", "1", code=8)
    now, ahead = found["transaction-coordinators", ()], found["transaction-coordinators", (1,)]
    assert now["status"] == "ok"
    assert now["reason"].endswith("brokers list transactional ids since Kafka 3.0")
    assert (ahead["status"], ahead["partitions"]) == (
        "failed",
        [{"topic": "__transaction_state", "partition": 0}],
    )
