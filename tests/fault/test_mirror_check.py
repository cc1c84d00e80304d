"""``kcli mirror check``: each condition, and what becomes of it where it cannot be known."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import ProducerRecord, TopicPartition
from kcli.flows.mirror.copy.partition_state import GRACE, Cause
from kcli.flows.mirror.job.state import JobId
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.fault.mirror_command import arguments, instance_of, mirrored, running, until
from tests.fault.producing import quick
from tests.run import Done
from tests.run import kcli_as_set_up as command

JOB = JobId("here", "j")
OLD, NOW = 1_000, 1_900_000_000_000


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}, cluster_id="here") as made:
        for number in range(2):
            made.append("t", number, batch(b"a", b"b", timestamp=OLD))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


@pytest.fixture
def copied(source: FakeCluster, target: FakeCluster) -> Iterator[FakeCluster]:
    """The target of a job that has copied all there was, and has a holder."""
    assert mirrored(source, target).code == 0
    with instance_of(target, JOB):
        yield target


def check(source: FakeCluster, target: FakeCluster, *more: str, job: str = "j") -> Done:
    clusters = ("--from", source.bootstrap, "--to", target.bootstrap)
    return command("mirror", "check", *clusters, "--job", job, "--timeout", "2s", "-o", "json", *more)


def judged(done: Done) -> dict[str, bool]:
    """By condition, whether it holds."""
    return {one["condition"]: one["ok"] for one in json.loads(done.out)["conditions"]}


def failing(done: Done) -> list[str]:
    """The conditions that do not hold: those of the document, which have a line each."""
    document = json.loads(done.out)
    found = [one["condition"] for one in document["conditions"] if not one["ok"]]
    assert document["ok"] == (not found)
    assert [one["what"].split(": ")[1] for one in done.errors] == found
    assert all(one["code"] == 8 for one in done.errors)
    assert done.code == (8 if found else 0)
    return found


def conditions(done: Done) -> dict[str, dict[str, Any]]:
    return {one["condition"]: one for one in json.loads(done.out)["conditions"]}


def test_a_job_that_is_caught_up_meets_all_conditions(source: FakeCluster, copied: FakeCluster) -> None:
    done = check(source, copied, "--max-lag", "0", "--max-lag-time", "1s")
    assert failing(done) == []
    assert list(judged(done)) == ["running", "source", "partitions", "gaps", "lag", "lag_time"]
    assert [(one["state"], one["lag_records"], one["lag_seconds"], one["ok"]) for one in done.items] == [
        ("caught_up", 0, 0, True)
    ] * 2


def test_it_takes_as_many_requests_for_many_partitions_as_for_few(
    source: FakeCluster, copied: FakeCluster
) -> None:
    source.append("t", 0, batch(b"c", timestamp=OLD))
    before = len(source.requests), len(copied.requests)
    assert failing(check(source, copied, "--max-lag-time", "1d")) == ["lag_time"]
    assert len(source.requests) - before[0] <= 8
    assert len(copied.requests) - before[1] <= 16


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((), []),
        (("--max-lag", "3"), []),
        (("--max-lag", "2"), ["lag"]),
        (("--max-lag-time", "200000d"), []),
        (("--max-lag-time", "5m"), ["lag_time"]),
        (("--max-lag", "2", "--max-lag-time", "5m"), ["lag", "lag_time"]),
    ],
)
def test_limits_are_of_all_records_and_of_the_oldest_one(
    source: FakeCluster, copied: FakeCluster, limits: tuple[str, ...], expected: list[str]
) -> None:
    source.append("t", 0, batch(b"c", timestamp=OLD))
    source.append("t", 1, batch(b"c", b"d", timestamp=NOW))
    done = check(source, copied, *limits)
    assert failing(done) == expected
    assert [one["lag_records"] for one in done.items] == [1, 2]
    assert done.items[0]["lag_seconds"] > 1e9
    assert done.items[1]["lag_seconds"] == 0


def test_a_source_that_is_away_is_a_finding_with_its_name(source: FakeCluster, copied: FakeCluster) -> None:
    source.stop(source.node_ids[0])
    done = check(source, copied, "--max-lag", "100", "--max-lag-time", "1d")
    assert failing(done) == ["source", "lag", "lag_time"]
    document = json.loads(done.out)
    assert source.bootstrap in conditions(done)["source"]["why"]
    assert document["complete"] is False
    assert [part["what"] for part in document["missing"]] == ["the source"]
    assert [(one["source_end"], one["lag_records"], one["lag_seconds"]) for one in document["items"]] == [
        (None, None, None)
    ] * 2


def test_a_partition_without_a_leader_is_not_known(source: FakeCluster, copied: FakeCluster) -> None:
    source.move_leader("t", 1, -1)
    source.set_isr("t", 1, [])
    done = check(source, copied, "--max-lag", "100")
    assert failing(done) == ["source", "lag"]
    assert [one["ok"] for one in done.items] == [True, False]


def test_a_target_that_is_away_is_exit_3(source: FakeCluster, copied: FakeCluster) -> None:
    copied.stop(copied.node_ids[0])
    done = check(source, copied)
    assert (done.code, done.out) == (3, "")


@pytest.mark.parametrize("away", [False, True])
def test_a_job_that_does_not_exist_is_exit_1(source: FakeCluster, copied: FakeCluster, away: bool) -> None:
    if away:
        source.stop(source.node_ids[0])
    done = check(source, copied, job="other")
    assert (done.code, done.out) == (1, "")
    assert "mirror job other of this source does not exist" in done.err


def test_a_job_of_another_source_is_not_this_one(copied: FakeCluster) -> None:
    with FakeCluster(1, topics={"t": 2}, cluster_id="elsewhere") as other:
        done = check(other, copied)
    assert done.code == 1
    assert "1 of this name from other clusters" in done.err


def test_which_of_two_jobs_it_is_is_not_known_without_the_source(
    source: FakeCluster, copied: FakeCluster
) -> None:
    with FakeCluster(1, topics={"t": 2}, cluster_id="elsewhere") as other:
        assert mirrored(other, copied, "--map-topic", "t=u").code == 0
        other.stop(other.node_ids[0])
        assert check(other, copied).items  # it named the same brokers
        with FakeCluster(1, topics={}, cluster_id="third") as third:
            third.stop(third.node_ids[0])
            done = check(third, copied)
    assert (done.code, done.out) == (8, "")


def test_without_a_process_it_does_not_run(source: FakeCluster, target: FakeCluster) -> None:
    """Between two runs that is no finding, where the user has said how long that may be."""
    assert mirrored(source, target).code == 0
    done = check(source, target)
    assert failing(done) == ["running"]
    assert "no process runs it" in conditions(done)["running"]["why"]
    assert failing(check(source, target, "--max-lag-time", "3m")) == []


def test_a_holder_that_saves_nothing_does_not_run(
    source: FakeCluster, copied: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.flows.mirror.job.conditions.RUNNING_MS", 0)
    done = check(source, copied)
    assert failing(done) == ["running"]
    assert "runs it, and does not save" in conditions(done)["running"]["why"]


def test_who_runs_it_may_not_be_known(source: FakeCluster, copied: FakeCluster) -> None:
    copied.fail(DescribeGroupsRequest, Code.GROUP_AUTHORIZATION_FAILED, times=FOREVER)
    assert "running" in failing(check(source, copied))


def test_open_transactions_age_what_they_hold_back(source: FakeCluster, copied: FakeCluster) -> None:
    with quick(source, transactional_id="open") as producer:
        producer.init_transactions(5)
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"x", partition=0, timestamp=OLD)).result(120)
        done = check(source, copied, "--max-lag-time", "1h")
        assert failing(done) == ["lag_time"]
        producer.abort_transaction()
    done = check(source, copied, "--max-lag-time", "1h")
    assert failing(done) == []  # an aborted record and a marker: nothing is left to be copied
    assert done.items[0]["lag_records"] == 2


def test_a_gap_counts_until_it_is_acknowledged(source: FakeCluster, target: FakeCluster) -> None:
    assert mirrored(source, target).code == 0
    source.append("t", 0, batch(b"c", b"d", b"e", timestamp=OLD))
    source.delete_records("t", 0, 4)
    assert mirrored(source, target, "--on-gap", "record").code == 6
    with instance_of(target, JOB):
        done = check(source, target)
        assert failing(done) == ["gaps"]
        assert [one["gaps"] for one in done.items] == [1, 0]
        accept = ("mirror", "accept-gap", "--to", target.bootstrap, "--job", "j", "--all", "--yes")
        assert command(*accept).code == 0
        assert failing(check(source, target)) == []


def test_a_source_that_is_not_what_it_was(source: FakeCluster, copied: FakeCluster) -> None:
    source.append("t", 0, batch(b"c", b"d", timestamp=OLD))
    source.delete_records("t", 0, 3)
    done = check(source, copied, "--max-lag", "100")
    assert failing(done) == ["partitions", "lag"]
    assert "has removed offsets 2 to 2" in done.items[0]["why"]
    source.recreate_topic("t")
    done = check(source, copied)
    assert failing(done) == ["partitions"]
    assert "created anew" in done.items[1]["why"]
    source.delete_topic("t")
    assert "partitions" in failing(check(source, copied))


def test_a_partition_that_the_job_has_not_begun_with(source: FakeCluster, copied: FakeCluster) -> None:
    source.add_partitions("t", 3)
    done = check(source, copied, "--max-lag", "9")
    assert failing(done) == ["partitions", "lag"]
    assert [(one["state"], one["ok"]) for one in done.items] == [("caught_up", True)] * 2 + [(None, False)]


def test_topics_that_are_named_are_checked_alone(source: FakeCluster, target: FakeCluster) -> None:
    source.create_topic("u", 1)
    assert mirrored(source, target, "-t", "t", "-t", "u").code == 0
    source.append("u", 0, batch(b"late", timestamp=OLD))
    with instance_of(target, JOB):
        assert failing(check(source, target, "--max-lag", "0")) == ["lag"]
        assert failing(check(source, target, "--max-lag", "0", "-t", "t")) == []
        assert [one["topic"] for one in check(source, target, "-t", "u*").items] == ["u"]
        assert check(source, target, "-t", "nothing").code == 1


def test_nothing_is_printed_with_q_where_all_holds(source: FakeCluster, copied: FakeCluster) -> None:
    clusters = ("--from", source.bootstrap, "--to", copied.bootstrap, "--job", "j", "-q")
    done = command("mirror", "check", *clusters)
    assert (done.code, done.out, done.err) == (0, "", "")
    source.append("t", 0, batch(b"c", timestamp=OLD))
    done = command("mirror", "check", *clusters, "--max-lag", "0")
    assert done.code == 8
    assert done.err == "kcli: mirror job j: lag: 1 record behind, and 0 are allowed\n"
    assert done.out


def test_a_partition_that_waits_or_has_ended_is_not_copied(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GRACE, Cause.TARGET, 0.3)
    monkeypatch.setattr("kcli.flows.mirror.copy.state_watch.INTERVAL", 0.1)
    with running(monkeypatch, *arguments(source, target)):
        until(lambda: command("mirror", "status", "--to", target.bootstrap, "-o", "json").code == 0)
        until(lambda: check(source, target).code == 0)
        target.fail(ProduceRequest, Code.NOT_ENOUGH_REPLICAS, where=TopicPartition("t", 0), times=FOREVER)
        source.append("t", 0, batch(b"c", timestamp=OLD))
        until(lambda: check(source, target).code == 8)
        done = check(source, target)
        assert failing(done) == ["partitions"]
        assert done.items[0]["why"].startswith("waiting: target: ")
        assert done.items[1]["ok"]


def test_a_topic_that_a_pattern_selects_and_that_is_not_begun_with_does_not_hold(
    source: FakeCluster, target: FakeCluster
) -> None:
    """Created since the job looked, or refused: nothing of it is copied."""
    line = arguments(source, target, "--until-caught-up", "--exclude", "no*", "--yes")
    line[line.index("-t") + 1] = "*"
    assert command(*line).code == 0
    with instance_of(target, JOB):
        assert check(source, target).code == 0
        for name in ("new", "not"):
            source.create_topic(name, 1)
        done = check(source, target, "--max-lag", "9")
        assert failing(done) == ["partitions", "lag"]
        assert "the job has not begun with it" in done.rows[TopicPartition("new", 0)]["why"]
        assert {tp.topic for tp in done.rows} == {"t", "new"}
        assert check(source, target, "-t", "t").code == 0
