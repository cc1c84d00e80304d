"""Topics and partitions that appear on the source while a mirror runs, or between two runs."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from kcli.core import Admin, Producer
from kcli.core.errors import BrokerError
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.types import TopicPartition, TopicSpec
from kcli.flows.mirror.job.lease import transactional_id
from kcli.flows.mirror.job.state import JobId, load_jobs
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fault.mirror_command import Running, arguments, mirrored, running, until, values
from tests.fault.producing import PATIENCE
from tests.run import kcli_as_set_up as command

Follow = Callable[[], AbstractContextManager[Running]]
SOON = ("-X", "metadata.max.age.ms=200")
PATTERN = ("-t", "^(t|new.*)$")


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1, "other": 1}) as made:
        made.append("t", 0, batch(b"1", b"2", timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


@pytest.fixture
def follow(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> Callable[[], AbstractContextManager[Running]]:
    """Starts a mirror; the block begins when it has copied what there is."""

    @contextmanager
    def start() -> Iterator[Running]:
        words = arguments(source, target, *PATTERN, *SOON, "-o", "json", *delivery)
        with running(monkeypatch, *words) as made:
            until(lambda: partitions(target, "t") and values(target, "t") == [b"1", b"2"])
            yield made

    return start


def create(cluster: FakeCluster, name: str, partitions: int, **configs: str) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        given = {key.replace("_", "."): value for key, value in configs.items()}
        assert admin.create_topics([TopicSpec(name, partitions, 1, given)]) == {name: None}


def grow(cluster: FakeCluster, name: str, partitions: int) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        assert admin.create_partitions({name: partitions}) == {name: None}


def partitions(cluster: FakeCluster, name: str) -> int:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        info = admin.describe_topics([name])[name]
        return 0 if isinstance(info, Exception) else len(info.partitions)


def test_a_new_topic_that_the_pattern_selects_is_copied_from_its_start(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow() as mirror:
        create(source, "new", 2, retention_ms="60000")
        create(source, "unselected", 1)
        source.append("new", 1, batch(b"n1", timestamp=1_000))
        until(lambda: partitions(target, "new") and values(target, "new", 1) == [b"n1"])
        source.append("new", 0, batch(b"n0", timestamp=1_000))
        until(lambda: values(target, "new", 0) == [b"n0"])
        mirror.stop()
        done = mirror.done()
        assert done.code == 130
        assert sorted((str(tp), row["records"]) for tp, row in done.rows.items()) == [
            ("new-0", 1), ("new-1", 1), ("t-0", 2),
        ]  # fmt: skip
        assert "new → new: new partitions are copied from now on" in done.err
        assert not partitions(target, "unselected")


def test_a_resumed_job_continues_a_topic_that_appeared_while_it_ran(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow() as mirror:
        create(source, "new", 1)
        source.append("new", 0, batch(b"n0", timestamp=1_000))
        until(lambda: partitions(target, "new") and values(target, "new", 0) == [b"n0"])
        mirror.stop()
        assert mirror.done().code == 130
        source.append("new", 0, batch(b"n1", timestamp=1_000))
        again = mirrored(source, target, *PATTERN)
        assert again.code == 0, again.err
        assert values(target, "new", 0) == [b"n0", b"n1"]


def test_new_partitions_are_added_to_the_target_and_copied(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow() as mirror:
        grow(source, "t", 3)
        source.append("t", 2, batch(b"p2", timestamp=1_000))
        until(lambda: partitions(target, "t") == 3 and values(target, "t", 2) == [b"p2"])
        mirror.stop()
        assert mirror.done().code == 130


def test_a_job_that_is_started_again_adds_the_partitions_as_well(
    source: FakeCluster, target: FakeCluster
) -> None:
    assert mirrored(source, target).code == 0
    grow(source, "t", 2)
    source.append("t", 1, batch(b"p1", timestamp=1_000))
    done = mirrored(source, target)
    assert done.code == 0, done.err
    assert "t → t: 2 partitions, the target continues and gets 2 partitions" in done.err
    assert values(target, "t", 1) == [b"p1"]


@pytest.mark.parametrize("offset", ["latest", "2"])
def test_where_a_new_job_begins_says_nothing_of_what_appears_later(
    source: FakeCluster, target: FakeCluster, offset: str
) -> None:
    more = (*PATTERN, f"--offset={offset}")
    first = mirrored(source, target, *more)
    assert first.code == 0, first.err
    before = values(target, "t")
    grow(source, "t", 2)
    create(source, "new", 1)
    source.append("t", 0, batch(b"3", timestamp=1_000))
    source.append("t", 1, batch(b"p1", timestamp=1_000))
    source.append("new", 0, batch(b"n0", timestamp=1_000))
    done = mirrored(source, target, *more)
    assert done.code == 0, done.err
    assert values(target, "t") == [*before, b"3"]
    assert values(target, "t", 1) == [b"p1"]
    assert values(target, "new") == [b"n0"]


def test_an_offset_beyond_the_end_is_refused_with_a_remedy_that_mirror_has(
    source: FakeCluster, target: FakeCluster
) -> None:
    done = mirrored(source, target, "--offset", "100")
    assert done.code == 5, done
    (error,) = done.errors
    assert (error["what"], error["do"]) == ("t-0: offset 100 is out of range", "choose another --offset")


def test_a_new_job_adds_no_partitions_to_a_topic_of_somebody_else(
    source: FakeCluster, target: FakeCluster
) -> None:
    grow(source, "t", 2)
    create(target, "t", 1)
    done = mirrored(source, target)
    assert done.code == 7
    assert "the target has 1 partition, the source 2" in done.err
    assert partitions(target, "t") == 1


def test_a_new_topic_whose_target_has_records_is_refused_once_and_the_rest_continues(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow() as mirror:
        create(target, "new", 1)
        target.append("new", 0, batch(b"own", timestamp=1_000))
        create(source, "new", 1)
        create(source, "new2", 1)
        source.append("new", 0, batch(b"n", timestamp=1_000))
        source.append("new2", 0, batch(b"n2", timestamp=1_000))
        until(lambda: partitions(target, "new2") and values(target, "new2") == [b"n2"])
        source.append("t", 0, batch(b"3", timestamp=1_000))
        until(lambda: values(target, "t") == [b"1", b"2", b"3"])
        mirror.stop()
        done = mirror.done()
        assert values(target, "new") == [b"own"]
        (error,) = done.errors
        assert error["code"] == 6
        assert error["what"] == "topic new has been created since and is not copied"
        assert error["why"] == "topic new of the target has records already"
        assert done.code == 130


def test_a_topic_whose_start_is_not_known_yet_delays_no_other_topic(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    monkeypatch.setattr("kcli.flows.mirror.run._TASK_PATIENCE", 0.3)
    waiting = TopicPartition("new-b", 0)
    rule = source.fail(ListOffsetsRequest, Code.LEADER_NOT_AVAILABLE, where=waiting, times=1 << 30)
    with follow() as mirror:
        for name in ("new-a", "new-b", "new-c"):
            create(source, name, 1)
            source.append(name, 0, batch(name.encode(), timestamp=1_000))
        for name in ("new-a", "new-c"):
            until(lambda name=name: partitions(target, name) and values(target, name) == [name.encode()])
        rule.remove()
        until(lambda: partitions(target, "new-b") and values(target, "new-b") == [b"new-b"])
        mirror.stop()
        done = mirror.done()
        assert done.code == 130
        assert not done.errors


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("new-a=t", "topics new-a and t would both be copied to t"),
        ("new-a=new/a", "topic new-a cannot be copied to 'new/a'"),
    ],
)
def test_a_new_topic_that_cannot_have_a_target_is_refused_once_and_no_other_one(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster, rule: str, why: str
) -> None:
    words = arguments(source, target, *PATTERN, *SOON, "-o", "json", "--map-topic", rule)
    with running(monkeypatch, *words) as mirror:
        until(lambda: partitions(target, "t") and values(target, "t") == [b"1", b"2"])
        for name in ("new-a", "new-b", "new-c"):
            create(source, name, 1)
            source.append(name, 0, batch(name.encode(), timestamp=1_000))
            if name != "new-a":
                until(lambda name=name: partitions(target, name) and values(target, name) == [name.encode()])
        mirror.stop()
        (error,) = mirror.done().errors
    assert error["code"] == 6
    assert error["what"] == "topic new-a has been created since and is not copied"
    assert error["why"].startswith(why)
    assert "--map-topic" in error["do"]
    assert values(target, "t") == [b"1", b"2"]


def test_an_error_that_does_not_pass_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    failing = BrokerError(Code.CLUSTER_AUTHORIZATION_FAILED, "describing the cluster")
    looks = []

    def look(_self: object) -> None:
        looks.append(1)
        raise failing

    monkeypatch.setattr("kcli.flows.mirror.follow.discovery.Discovery.look", look)
    with follow() as mirror:
        until(lambda: len(looks) > 2)
        mirror.stop()
        err = mirror.done().err
    assert err.count("looking for new topics failed: describing the cluster") == 1, err


def test_after_a_fence_the_same_partitions_continue_and_the_report_has_all_of_them(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster
) -> None:
    """The plan after a transaction that timed out includes nothing that was refused, and forgets nothing."""
    source.append("t", 0, batch(b"3", timestamp=1_000))
    source.delete_records("t", 0, 2)
    create(target, "new-own", 1)
    target.append("new-own", 0, batch(b"own", timestamp=1_000))
    more = ("--offset", "0", "--on-gap", "record", "--exactly-once", "-o", "json")
    with running(monkeypatch, *arguments(source, target, *PATTERN, *SOON, *more)) as mirror:
        until(lambda: partitions(target, "t") and values(target, "t") == [b"3"])
        create(source, "new-own", 1)
        create(source, "new", 1)
        source.append("new-own", 0, batch(b"other", timestamp=1_000))
        source.append("new", 0, batch(b"n", timestamp=1_000))
        until(lambda: partitions(target, "new") and values(target, "new") == [b"n"])
        with Producer(bootstrap_servers=target.bootstrap, transactional_id=OWN) as other:
            other.init_transactions(PATIENCE)
        source.append("t", 0, batch(b"4", timestamp=1_000))
        until(lambda: values(target, "t") == [b"3", b"4"])
        create(source, "new-later", 1)
        source.append("new-later", 0, batch(b"l", timestamp=1_000))
        until(lambda: partitions(target, "new-later") and values(target, "new-later") == [b"l"])
        until(lambda: set(topics_of_job(target)) == {"t", "new", "new-later"})
        mirror.stop()
        done = mirror.done()
    assert "the transaction timed out" in done.err
    assert values(target, "new-own") == [b"own"]
    assert values(target, "new") == [b"n"]
    assert [error["what"] for error in done.errors] == [
        "topic new-own has been created since and is not copied",
        "t-0: offsets 0 to 1 were not copied",
    ]
    row = done.rows[TopicPartition("t", 0)]
    assert (row["from_offset"], row["to_offset"]) == (0, 4)
    assert (row["records"], row["passed_through_batches"], row["gaps"]) == (2, 2, [[0, 1]])


def test_after_a_fence_a_topic_that_the_source_no_longer_has_ends_alone(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster
) -> None:
    words = ("-t", "t", "-t", "other", "--exactly-once", "-o", "json")
    source.append("other", 0, batch(b"o", timestamp=1_000))
    with running(monkeypatch, *arguments(source, target, *SOON, *words)) as mirror:
        until(lambda: partitions(target, "t") and values(target, "t") == [b"1", b"2"])
        until(lambda: partitions(target, "other") and values(target, "other") == [b"o"])
        with Producer(bootstrap_servers=target.bootstrap, transactional_id=OWN) as other:
            other.init_transactions(PATIENCE)
        source.delete_topic("other")
        source.append("t", 0, batch(b"3", timestamp=1_000))
        until(lambda: values(target, "t") == [b"1", b"2", b"3"])
        mirror.stop()
        done = mirror.done()
    assert "the transaction timed out" in done.err
    rows = {str(tp): row for tp, row in done.rows.items()}
    assert (rows["t-0"]["records"], rows["t-0"]["error"]) == (3, None)
    assert (rows["other-0"]["records"], rows["other-0"]["to_offset"]) == (1, 1)
    assert rows["other-0"]["error"].startswith("other-0 of the source was deleted: ")


JOB = JobId("fake-kafka-cluster-id0", "j")
OWN = transactional_id(JOB)


def topics_of_job(target: FakeCluster) -> dict[str, str]:
    """What the state says that the job copies."""
    records = target.log("__kcli_mirror").records(committed=True)
    return load_jobs((record.key, record.value) for record in records)[JOB].state.topics


def test_a_run_with_an_end_copies_no_topic_that_appears_later(
    source: FakeCluster, target: FakeCluster
) -> None:
    asked = len(source.requests)
    assert mirrored(source, target, *PATTERN, *SOON).code == 0
    assert len(source.requests) - asked < 40


def test_the_job_says_whether_it_runs(source: FakeCluster, target: FakeCluster, follow: Follow) -> None:
    with follow() as mirror:

        def states() -> set[tuple[object, ...]]:
            done = command("mirror", "status", "--to", target.bootstrap, "-o", "json")
            return {(row["state"], row["running"], row["why"]) for row in json.loads(done.out)["items"]}

        until(lambda: states() == {("caught_up", True, None)})
        mirror.stop()
        mirror.done()
        assert states() == {("ended", False, "its last run has ended")}
