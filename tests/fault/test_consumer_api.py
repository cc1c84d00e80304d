"""The consumer's Python API, on the fake cluster: what the documents promise, call by call."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.cluster.offsets import EARLIEST
from kcli.core.consumer import consumer as consumer_module
from kcli.core.consumer import poll_buffer
from kcli.core.consumer.arguments import DeserializationError
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.subscription import Span
from kcli.core.errors import (
    ClosedError,
    CommitFailedError,
    ConfigError,
    KcliError,
    NoOffsetError,
    NotFoundError,
    TimedOutError,
)
from kcli.core.options import ConsumerOptions, ProducerOptions
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.records.view import BatchView
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.fault.producing import PATIENCE, numbers, quick, send
from tests.interrupting import Interrupter

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
OFFSET_METADATA_TOO_LARGE = 12


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"t": 2}) as made:
        fill(made, "t", 2, 30)
        yield made


def fill(cluster: FakeCluster, topic: str, partitions: int, count: int) -> None:
    with quick(cluster, batch_size=16_384) as producer:
        for partition in range(partitions):
            send(producer, topic, partition, *numbers(count))


def reader(cluster: FakeCluster, **options: Any) -> Consumer:
    wishes = {"group_id": "g", "auto_offset_reset": "earliest", "heartbeat_interval_ms": 100}
    return Consumer(bootstrap_servers=cluster.bootstrap, **{**wishes, **options})


def read(consumer: Consumer, count: int) -> list[Record]:
    return read_until(consumer, lambda found: len(found) >= count)


def read_until(consumer: Consumer, done: Callable[[list[Record]], Any]) -> list[Record]:
    found: list[Record] = []
    give_up = time.monotonic() + PATIENCE
    while not done(found):
        assert time.monotonic() < give_up, f"{len(found)} records"
        found += consumer.records(0.1)
    return found


# --- what is read --------------------------------------------------------------------------------------


def test_records_without_end_stop_at_the_stop_of_every_partition(cluster: FakeCluster) -> None:
    with reader(cluster, group_id="") as consumer:
        consumer.assign({P0: Span(5, 10), P1: Span(28, 30)})
        found = [(record.partition, record.offset) for record in consumer]
    assert sorted(found) == [*((0, offset) for offset in range(5, 10)), (1, 28), (1, 29)]


@pytest.mark.case("S0-34")
def test_a_group_is_named_once_in_the_options(cluster: FakeCluster) -> None:
    with reader(cluster, group_id="") as consumer:
        for call in (
            lambda: consumer.subscribe("t"),
            consumer.commit,
            lambda: consumer.committed([P0]),
            lambda: consumer.group_metadata,
        ):
            consumer.assign({P0: Span(0)})
            with pytest.raises(ConfigError, match=r"group\.id|has no group"):
                call()


@pytest.mark.case("S0-60")
def test_a_member_starts_its_partitions_at_given_offsets(cluster: FakeCluster) -> None:
    with reader(cluster) as consumer:

        def start(partitions: list[TopicPartition]) -> None:
            for tp in partitions:
                consumer.seek(tp, 25)

        consumer.subscribe("t", on_assigned=start)
        assert {record.offset for record in read(consumer, 10)} == set(range(25, 30))


@pytest.mark.case("S0-49")
@pytest.mark.parametrize(("policy", "first"), [("earliest", 0), ("by_duration:PT1H", 0), ("latest", 30)])
def test_without_a_committed_offset_the_policy_says_where_to_begin(
    cluster: FakeCluster, policy: str, first: int
) -> None:
    with reader(cluster, auto_offset_reset=policy) as consumer:
        consumer.assign([P0])
        assert consumer.position(P0, PATIENCE) == first


@pytest.mark.case("S0-49")
def test_without_a_policy_it_is_an_error_and_a_seek_continues(cluster: FakeCluster) -> None:
    with reader(cluster, auto_offset_reset="none") as consumer:
        consumer.assign([P0])
        with pytest.raises(NoOffsetError, match="t-0"):
            read(consumer, 1)
        consumer.seek(P0, 29)
        assert [record.offset for record in read(consumer, 1)] == [29]


@pytest.mark.parametrize("policy", ["newest", "by_duration:soon", "by_duration:"])
def test_an_invalid_policy_is_refused_at_once(policy: str) -> None:
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset"):
        Consumer(bootstrap_servers="localhost:1", auto_offset_reset=policy)


@pytest.mark.case("S0-50")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_new_partitions_reach_the_members_and_are_read_from_their_start(
    cluster: FakeCluster, protocol: str
) -> None:
    with reader(
        cluster, group_protocol=protocol, auto_offset_reset="earliest", metadata_max_age_ms=200
    ) as consumer:
        consumer.subscribe("t")
        read(consumer, 60)
        cluster.add_partitions("t", 3)
        with quick(cluster) as producer:
            send(producer, "t", 2, b"new")
        found = read_until(consumer, lambda records: any(r.partition == 2 for r in records))
        assert next(record for record in found if record.partition == 2).offset == 0


# --- polls ---------------------------------------------------------------------------------------------


@pytest.mark.case("S2-11")
def test_a_poll_hands_out_so_many_records_and_loses_none(cluster: FakeCluster) -> None:
    with reader(cluster, max_poll_records=7) as consumer:
        consumer.subscribe("t")
        found: list[tuple[int, int]] = []
        give_up = time.monotonic() + PATIENCE
        while len(found) < 60:
            assert time.monotonic() < give_up
            polled = [
                (fetched.tp.partition, record.offset)
                for fetched in consumer.poll(0.1)
                for record in fetched.batch.records(*fetched.tp)
                if fetched.first <= record.offset < fetched.stop
            ]
            assert len(polled) <= 7
            found += polled
    assert sorted(found) == [(partition, offset) for partition in range(2) for offset in range(30)]


def test_what_a_loop_did_not_take_is_read_again(cluster: FakeCluster) -> None:
    with reader(cluster, group_id="") as consumer:
        consumer.assign({P0: Span(0)})
        for record in consumer:
            if record.offset == 4:
                break
        assert consumer.position(P0) == 5
        assert next(iter(consumer)).offset == 5


def test_paused_partitions_keep_their_position(cluster: FakeCluster) -> None:
    with reader(cluster, group_id="", max_poll_records=5) as consumer:
        consumer.assign({P0: Span(0), P1: Span(0)})
        first = read(consumer, 5)
        paused = TopicPartition("t", first[-1].partition)
        place = consumer.position(paused)
        consumer.pause(paused)
        rest = read(consumer, 30)
        assert {record.partition for record in rest} == {1 - paused.partition}
        consumer.resume(paused)
        assert read(consumer, 1)[0].offset == place


@pytest.mark.case("S0-11")
def test_objects_instead_of_bytes(cluster: FakeCluster) -> None:
    def number(topic: str, data: bytes | None) -> int:
        assert topic == "t"
        return int(data or b"-1")

    with reader(cluster, group_id="", value_deserializer=number) as consumer:
        consumer.assign({P0: Span(0, 3)})
        assert [record.value for record in consumer] == [0, 1, 2]


@pytest.mark.case("S0-11")
def test_a_record_that_cannot_be_deserialized_is_named_and_passed(cluster: FakeCluster) -> None:
    def picky(_topic: str, data: bytes | None) -> bytes | None:
        if data == b"1":
            raise ValueError("not that one")
        return data

    with reader(cluster, group_id="", value_deserializer=picky) as consumer:
        consumer.assign({P0: Span(0, 3)})
        found: list[Any] = []
        with pytest.raises(DeserializationError, match=r"t-0, offset 1: .*not that one") as error:
            found.extend(record.value for record in consumer)
        assert error.value.record.value == b"1"
        found.extend(record.value for record in consumer)
    assert found[-1] == b"2"


# --- commits ---------------------------------------------------------------------------------------------


@pytest.mark.case("S0-33", "S0-59", "S1-3", "S1-5")
def test_offsets_are_committed_by_all_topic_partition_and_mapping(cluster: FakeCluster) -> None:
    cluster.create_topic("u", 1)
    fill(cluster, "u", 1, 5)
    other = TopicPartition("u", 0)
    with reader(cluster, enable_auto_commit=False) as consumer:
        consumer.assign({P0: Span(0), P1: Span(0), other: Span(0)})
        read(consumer, 65)
        consumer.commit("u")
        assert cluster.committed_offsets("g") == {other: 5}
        consumer.commit(P0)
        assert cluster.committed_offsets("g") == {other: 5, P0: 30}
        consumer.commit()
        assert cluster.committed_offsets("g") == {other: 5, P0: 30, P1: 30}
        consumer.commit({P0: 7, P1: OffsetAndMetadata(8, "why")})
        assert consumer.committed([P0, P1, other, TopicPartition("u", 9)]) == {
            P0: OffsetAndMetadata(7),
            P1: OffsetAndMetadata(8, "why"),
            other: OffsetAndMetadata(5, "", 0),
            TopicPartition("u", 9): None,
        }


@pytest.mark.case("S1-3", "S1-4")
def test_each_partition_of_a_commit_has_its_own_error(cluster: FakeCluster) -> None:
    cluster.fail(OffsetCommitRequest, OFFSET_METADATA_TOO_LARGE, where=P1)
    with reader(cluster) as consumer:
        with pytest.raises(CommitFailedError, match="t-1") as error:
            consumer.commit({P0: 1, P1: OffsetAndMetadata(1, "x" * 5_000)})
        assert list(error.value.errors) == [P1]
        assert "OFFSET_METADATA_TOO_LARGE" in str(error.value)
    assert cluster.committed_offsets("g") == {P0: 1}


@pytest.mark.case("S1-11")
def test_a_commit_after_every_record_keeps_its_order(cluster: FakeCluster) -> None:
    with reader(cluster, enable_auto_commit=False) as consumer:
        consumer.subscribe("t")
        commits = []
        for record in consumer:
            commits.append(consumer.commit_async(TopicPartition(record.topic, record.partition)))
            if len(commits) == 60:
                break
        consumer.commit({P0: 30, P1: 30})
        assert all(commit.done and commit.error is None for commit in commits)
    sent = [
        (topic.name or "t", row.partition_index, row.committed_offset)
        for seen in cluster.seen(OffsetCommitRequest)
        for topic in seen.request.topics
        for row in topic.partitions
    ]
    for partition in range(2):
        offsets = [offset for _, number, offset in sent if number == partition]
        assert offsets == sorted(offsets)
    assert cluster.committed_offsets("g") == {P0: 30, P1: 30}


@pytest.mark.case("S1-1", "S1-9")
def test_thousands_of_partitions_are_committed_in_one_request() -> None:
    with FakeCluster(1, topics={"t": 3_000}) as cluster, reader(cluster) as consumer:
        offsets = {TopicPartition("t", partition): partition for partition in range(3_000)}
        consumer.commit(offsets)
        assert len(cluster.seen(OffsetCommitRequest)) == 1
        assert cluster.committed_offsets("g") == offsets


@pytest.mark.case("S1-2")
def test_a_loop_that_fails_reads_its_records_again(cluster: FakeCluster) -> None:
    def fails_at_the_third() -> None:
        with reader(cluster, auto_commit_interval_ms=0) as consumer:
            consumer.subscribe("t")
            for number, _record in enumerate(consumer):
                if number == 2:
                    raise LookupError("mine")

    with pytest.raises(LookupError):
        fails_at_the_third()
    assert sum(cluster.committed_offsets("g").values()) <= 3
    with reader(cluster) as consumer:
        consumer.subscribe("t")
        read(consumer, 57)


# --- the rest ----------------------------------------------------------------------------------------------


@pytest.mark.case("S0-68")
def test_figures_describe_what_was_read(cluster: FakeCluster) -> None:
    with reader(cluster) as consumer:
        consumer.subscribe("t")
        read(consumer, 60)
        consumer.commit()
        figures = consumer.metrics()
    assert (figures.records, figures.partitions, figures.rebalances) == (60, 2, 1)
    assert figures.commits >= 1
    assert figures.fetches >= 1
    assert figures.bytes_fetched > 60
    assert figures.lag == {P0: 0, P1: 0}


@pytest.mark.case("S2-12")
def test_defaults_are_those_of_today() -> None:
    """KIP-62's, but for the session timeout, which KIP-735 made 45 s."""
    options = ConsumerOptions()
    assert (options.session_timeout_ms, options.heartbeat_interval_ms) == (45_000, 3_000)
    assert (options.max_poll_interval_ms, options.max_poll_records) == (300_000, 500)
    assert (options.enable_auto_commit, options.auto_commit_interval_ms) == (True, 5_000)
    assert options.auto_offset_reset == "latest"


@pytest.mark.case("S0-47")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_subscription_may_be_left_and_taken_up_again(cluster: FakeCluster, protocol: str) -> None:
    with reader(cluster, group_protocol=protocol) as consumer:
        consumer.subscribe("t")
        read(consumer, 60)
        consumer.unsubscribe()
        assert consumer.assignment == frozenset()
        assert cluster.group_state("g") == "Empty"
        assert cluster.committed_offsets("g") == {P0: 30, P1: 30}
        consumer.assign({P0: Span(29)})
        assert [record.offset for record in read(consumer, 1)] == [29]
        consumer.unsubscribe()
        consumer.subscribe("t")
        read_until(consumer, lambda _: len(consumer.assignment) == 2)


# --- what is no call ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["5", 1.5, None, -1, OffsetAndMetadata(-5)], ids=repr)
def test_an_invalid_offset_is_refused_before_anything_happens(cluster: FakeCluster, wrong: Any) -> None:
    with reader(cluster) as consumer:
        consumer.subscribe("t")
        read(consumer, 60)
        for call in (consumer.commit, consumer.commit_async, consumer.rewind_offsets):
            with pytest.raises(ConfigError, match="not an offset"):
                call({P0: wrong})
        if wrong not in (-1, OffsetAndMetadata(-5)):  # −1 is the end
            with pytest.raises(ConfigError):
                consumer.seek(P0, wrong)
        consumer.commit()
    assert cluster.committed_offsets("g") == {P0: 30, P1: 30}


def test_what_cannot_be_committed_is_named(cluster: FakeCluster) -> None:
    with reader(cluster, enable_auto_commit=False) as consumer:
        consumer.assign({P0: Span(0), P1: Span(0)})
        read(consumer, 60)
        for wrong in ("nope", TopicPartition("t", 7), None, 5, [TopicPartition("u", 0)]):
            with pytest.raises(ConfigError, match="cannot be committed"):
                consumer.commit(wrong)
        consumer.commit([P0], (P1))
    assert cluster.committed_offsets("g") == {P0: 30, P1: 30}


@pytest.mark.parametrize("topics", [[1], [None], ["bad name!"], 5])
def test_invalid_topics_are_refused_and_forgotten(cluster: FakeCluster, topics: Any) -> None:
    with reader(cluster) as consumer:
        with pytest.raises(ConfigError):
            consumer.subscribe(topics)
        with pytest.raises(ConfigError):
            consumer.assign([("t", "0")])  # type: ignore[list-item]
        consumer.subscribe("t")
        read(consumer, 60)


def test_a_rewind_to_nowhere_leaves_the_group_alone(cluster: FakeCluster) -> None:
    with reader(cluster) as consumer:
        consumer.subscribe("t")
        with pytest.raises(ConfigError):
            consumer.rewind_offsets({})
        for nowhere in (TopicPartition("t", 9), TopicPartition("nope", 0)):
            with pytest.raises(NotFoundError):
                consumer.rewind_offsets({nowhere: 1})
        read(consumer, 60)
    assert cluster.seen(DescribeGroupsRequest) == []


def test_a_closed_consumer_says_so(cluster: FakeCluster) -> None:
    consumer = reader(cluster)
    consumer.subscribe("t")
    read(consumer, 60)
    consumer.close()
    consumer.close()
    for call in (lambda: consumer.poll(0), lambda: consumer.subscribe("t"), lambda: consumer.assign([P0])):
        with pytest.raises(ClosedError):
            call()
    assert "kcli-heartbeat" not in [thread.name for thread in threading.enumerate()]


def test_a_foreign_thread_cannot_close_it_and_does_no_harm(cluster: FakeCluster) -> None:
    errors: list[BaseException] = []
    with reader(cluster) as consumer:
        consumer.subscribe("t")
        read(consumer, 60)

        def close() -> None:
            try:
                consumer.close()
            except RuntimeError as error:
                errors.append(error)

        foreigner = threading.Thread(target=close)
        foreigner.start()
        foreigner.join()
        consumer.commit()
    assert len(errors) == 1
    assert cluster.group_state("g") == "Empty"


def test_the_first_thread_to_poll_owns_the_loop(cluster: FakeCluster) -> None:
    consumer = reader(cluster)
    found: list[Record] = []

    def work() -> None:
        with consumer:
            consumer.subscribe("t")
            found.extend(read(consumer, 60))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join(PATIENCE)
    assert len(found) == 60


def test_a_second_reader_takes_over_from_the_first_and_loses_nothing(cluster: FakeCluster) -> None:
    with reader(cluster, group_id="") as consumer:
        consumer.assign({P0: Span(0)})
        first = iter(consumer)
        assert [next(first).offset for _ in range(3)] == [0, 1, 2]
        second = iter(consumer)
        assert next(second).offset == 3
        assert next(first).offset == 4
        assert next(second).offset == 5


def test_a_wakeup_ends_the_loop(cluster: FakeCluster) -> None:
    with reader(cluster, group_id="") as consumer:
        consumer.assign({P0: Span(0)})
        timer = threading.Timer(0.5, consumer.wakeup)
        timer.start()
        assert len(list(consumer)) == 30


def test_callbacks_that_poll_are_reported(cluster: FakeCluster) -> None:
    told: list[KcliError] = []
    with reader(cluster) as consumer:

        def poll(_places: list[TopicPartition]) -> None:
            try:
                consumer.poll(0)
            except KcliError as error:
                told.append(error)

        consumer.subscribe("t", on_assigned=poll)
        read(consumer, 60)
    assert "must not poll" in str(told[0])


def test_what_was_read_is_committed_before_other_partitions_are_assigned(cluster: FakeCluster) -> None:
    with reader(cluster) as consumer:
        consumer.assign([P0])
        read(consumer, 30)
        consumer.assign([P1])
        assert cluster.committed_offsets("g") == {P0: 30}
        read(consumer, 30)
        consumer.unsubscribe()
        assert cluster.committed_offsets("g") == {P0: 30, P1: 30}


def test_one_record_a_poll_decodes_its_batch_once(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    original = BatchView.columns

    def counting(self: BatchView, limit: int | None = None) -> Any:
        decoded.append(1)
        return original(self, limit)

    monkeypatch.setattr(BatchView, "columns", counting)
    with reader(cluster, group_id="", max_poll_records=1) as consumer:
        consumer.assign({P0: Span(0)})
        assert [record.offset for record in read(consumer, 30)] == list(range(30))
    assert len(decoded) == len(cluster.log("t", 0).batches) < 30


def test_admin_accepts_no_string_for_a_list_of_names(cluster: FakeCluster) -> None:
    cluster.create_topic("a", 1)
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        for call in (admin.delete_topics, admin.describe_topics, admin.delete_groups, admin.describe_groups):
            with pytest.raises(ConfigError, match="list of names"):
                call("ab")
        with pytest.raises(ConfigError):
            admin.list_groups(states="Stable")
        assert "a" in [topic.name for topic in admin.list_topics()]
    with pytest.raises(ConfigError, match="security_protcol"):
        Admin(bootstrap_servers=cluster.bootstrap, security_protcol="SSL")


# --- Ctrl-C, and arguments that are none -------------------------------------------------------------------


def test_ctrl_c_inside_a_poll_loses_no_batch(cluster: FakeCluster) -> None:
    """Between the moment when a batch leaves the queue and the one when the application has it."""
    fill(cluster, "t", 2, 200)
    found: list[tuple[int, int]] = []
    with reader(cluster, group_id="", max_poll_records=3, fetch_max_wait_ms=5) as consumer:
        consumer.assign({P0: Span(0), P1: Span(0)})
        steps = iter(range(0, 400, 4))  # then it is left in peace
        give_up = time.monotonic() + PATIENCE
        while len(found) < 460:
            assert time.monotonic() < give_up, f"{len(found)} records"
            batches: list[FetchedBatch] = []
            at = next(steps, -1)
            with (
                suppress(KeyboardInterrupt),
                Interrupter(at, poll_buffer, consumer_module, names=_WAY_TO_THE_APPLICATION),
            ):
                batches = consumer.poll(0.1)
            found += [
                (one.tp.partition, record.offset)
                for one in batches
                for record in one.batch.records(*one.tp)
                if one.first <= record.offset < one.stop
            ]
    assert next(steps, None) is None
    for partition in range(2):
        assert [offset for p, offset in found if p == partition] == list(range(230))


_WAY_TO_THE_APPLICATION = ("poll", "_take_batches", "take_batches", "mark_returned", "_advance", "_state")


def test_partitions_that_stay_assigned_continue_where_they_are(cluster: FakeCluster) -> None:
    """As in Java: assigning one more is no reason to read the others again."""
    with reader(cluster, enable_auto_commit=False) as consumer:
        consumer.assign([P0])
        assert len(read(consumer, 30)) == 30
        consumer.assign([P0, P1])
        assert consumer.position(P0) == 30
        assert {(record.partition, record.offset) for record in read(consumer, 30)} == {
            (1, offset) for offset in range(30)
        }
        consumer.assign([P1])
        assert consumer.position(P1) == 30


@pytest.mark.parametrize("wrong", [float("nan"), -1, -0.5, "1", b"1", True, [1]], ids=repr)
def test_an_invalid_timeout_is_refused_and_nothing_happens(cluster: FakeCluster, wrong: Any) -> None:
    with reader(cluster) as consumer, Admin(bootstrap_servers=cluster.bootstrap, timeout=wrong) as admin:
        consumer.assign({P0: Span(0)})
        consumer.position(P0)
        calls: list[Callable[[], Any]] = [
            lambda: consumer.poll(wrong),
            lambda: list(consumer.records(wrong)),
            lambda: consumer.position(P0, wrong),
            lambda: consumer.commit({P0: 1}, timeout=wrong),
            lambda: consumer.committed([P0], wrong),
            lambda: consumer.partitions(["t"], wrong),
            lambda: consumer.list_offsets({P0: -1}, wrong),
            lambda: consumer.connect(wrong),
            lambda: consumer.close(wrong),
            admin.list_topics,
        ]
        for call in calls:
            with pytest.raises(
                ConfigError, match="timeout must be a non-negative number of seconds, got"
            ) as error:
                call()
            assert error.value.do
        assert len(read(consumer, 30)) == 30
    assert cluster.committed_offsets("g") == {P0: 30}


@pytest.mark.parametrize("client", [Consumer, Producer, Admin])
@pytest.mark.parametrize(
    ("wrong", "do"),
    [
        ("host:9092", "bootstrap_servers='host:9092'"),
        ({"bootstrap.servers": "host:9092"}, "underscores"),
        (5, "bootstrap_servers"),
        (["host"], "bootstrap_servers"),
    ],
)
def test_unknown_options_are_reported(client: Any, wrong: Any, do: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a \w+Options") as error:
        client(wrong)
    assert client.__name__ in error.value.do
    assert do in error.value.do


def test_options_of_another_client_are_reported() -> None:
    with pytest.raises(ConfigError, match="is not a ConsumerOptions"):
        Consumer(ProducerOptions(bootstrap_servers="host:9092"))  # type: ignore[arg-type]


def test_admin_calls_name_invalid_arguments(cluster: FakeCluster) -> None:
    pair: Any = ("t", 0)
    calls: dict[str, Callable[[Admin], Any]] = {
        "describe_groups of None": lambda a: a.describe_groups([None]),  # type: ignore[list-item]
        "describe_groups of nothing": lambda a: a.describe_groups(None),  # type: ignore[arg-type]
        "describe_topics of a list": lambda a: a.describe_topics([["t"]]),  # type: ignore[list-item]
        "list_offsets of a pair": lambda a: a.list_offsets({pair: -1}),
        "list_offsets of None": lambda a: a.list_offsets(None),  # type: ignore[arg-type]
        "list_offsets of a list": lambda a: a.list_offsets([P0]),  # type: ignore[arg-type]
        "list_offsets at a text": lambda a: a.list_offsets({P0: "latest"}),  # type: ignore[dict-item]
        "list_offsets of a text": lambda a: a.list_offsets({TopicPartition("t", "0"): -1}),  # type: ignore[arg-type]
        "delete_records": lambda a: a.delete_records({P0: None}),  # type: ignore[dict-item]
        "commit_offsets of a number": lambda a: a.commit_offsets({"g": {P0: 5}}),  # type: ignore[dict-item]
        "commit_offsets of a pair": lambda a: a.commit_offsets({"g": {pair: OffsetAndMetadata(5)}}),
        "commit_offsets of a list": lambda a: a.commit_offsets({"g": [P0]}),  # type: ignore[dict-item]
        "commit_offsets of nobody": lambda a: a.commit_offsets({None: {}}),  # type: ignore[dict-item]
        "commit_offsets of text": lambda a: a.commit_offsets({"g": {P0: OffsetAndMetadata("5")}}),  # type: ignore[arg-type]
        "delete_offsets": lambda a: a.delete_offsets({"g": [pair]}),
        "delete_offsets of all": lambda a: a.delete_offsets({"g": None}),  # type: ignore[dict-item]
        "fetch_offsets": lambda a: a.fetch_offsets({"g": P0}),  # type: ignore[dict-item]
        "describe_producers": lambda a: a.describe_producers([pair]),
        "describe_producers once": lambda a: a.describe_producers(one for one in [P0]),  # type: ignore[arg-type]
        "fetch_offsets once": lambda a: a.fetch_offsets({"g": (one for one in [P0])}),  # type: ignore[dict-item]
        "delete_offsets once": lambda a: a.delete_offsets({"g": iter([P0])}),  # type: ignore[dict-item]
    }
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.connect()
        before = len(cluster.requests)
        for name, call in calls.items():
            with pytest.raises(ConfigError) as error:
                call(admin)
            assert error.value.why, name
        assert len(cluster.requests) == before, "something was sent"
        assert set(admin.fetch_offsets({"g": None})) == {"g"}


@pytest.mark.parametrize(
    "wrong", [None, 5, "t", P0, [None], ["t"], [("t", "0")], [("t", 0, 1)], [("t", -1)]], ids=repr
)
def test_a_consumer_names_invalid_partitions(cluster: FakeCluster, wrong: Any) -> None:
    with reader(cluster) as consumer:
        for call in (consumer.assign, consumer.committed):
            with pytest.raises(ConfigError, match=r"partition|topic"):
                call(wrong)
        with pytest.raises(ConfigError, match="no Span"):
            consumer.assign({P0: 5})  # type: ignore[dict-item]
        with pytest.raises(ConfigError, match="partition"):
            consumer.commit({None: 5})  # type: ignore[dict-item]
        consumer.assign([P0])
        assert len(read(consumer, 30)) == 30


def test_a_poll_of_a_foreign_thread_changes_nothing(cluster: FakeCluster) -> None:
    with reader(cluster, group_id="", max_poll_records=10) as consumer:
        consumer.assign({P0: Span(0)})
        found = read(consumer, 10)
        version = consumer.state(P0).version
        raised: list[BaseException] = []

        def foreign() -> None:
            try:
                consumer.poll(0)
            except RuntimeError as error:
                raised.append(error)

        stranger = threading.Thread(target=foreign)
        stranger.start()
        stranger.join(PATIENCE)
        assert "owner thread" in str(raised[0])
        assert consumer.state(P0).version == version, "what was fetched is dropped"
        found += read(consumer, 20)
        assert [record.offset for record in found] == list(range(30))


# --- many partitions, long waits, the end ------------------------------------------------------------------


def test_a_commit_of_listed_partitions_reads_the_assignment_once(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each of thousands would be seconds for one call."""
    looks: list[int] = []
    assignment = Consumer.assignment

    def counted(consumer: Consumer) -> Any:
        looks.append(1)
        return assignment.__get__(consumer)

    with reader(cluster, enable_auto_commit=False) as consumer:
        consumer.assign({P0: Span(3), P1: Span(4)})
        with monkeypatch.context() as patch:
            patch.setattr(Consumer, "assignment", property(counted))
            consumer.commit([P0, P1], P0, ["t", [P1]])
        assert len(looks) <= 1
    assert cluster.committed_offsets("g") == {P0: 3, P1: 4}


def test_a_poll_may_wait_for_months(cluster: FakeCluster) -> None:
    with reader(cluster, group_id="") as consumer:
        consumer.assign({P0: Span(0)})
        assert len(read(consumer, 30)) == 30
        consumer.pause(P0)
        consumer.poll(0.2)
        waking = threading.Timer(0.3, consumer.wakeup)
        waking.start()
        assert consumer.poll(1e8) == []
        waking.join()


@pytest.mark.parametrize("timeout", [float("inf"), 1e300, 1e10])
def test_a_close_may_wait_indefinitely_and_commits(cluster: FakeCluster, timeout: float) -> None:
    held = cluster.delay(OffsetCommitRequest, 0.3, before=True)
    with reader(cluster, auto_commit_interval_ms=600_000) as consumer:
        consumer.subscribe("t")
        assert len(read(consumer, 60)) == 60
        consumer.close(timeout)
    assert held.count
    assert cluster.committed_offsets("g") == {P0: 30, P1: 30}
    assert not [thread for thread in threading.enumerate() if thread.name == "kcli-heartbeat"]


def test_waiting_for_a_position_is_no_hot_loop_when_polls_are_overdue(cluster: FakeCluster) -> None:
    """What only polls carry on is nothing that a wait for a position could do something about."""
    with reader(cluster, enable_auto_commit=False) as consumer:
        consumer.subscribe("t")
        assert len(read(consumer, 60)) == 60
        assert consumer._group is not None
        consumer._group._membership.polled_at -= 200  # of 300 seconds
        cluster.drop(ListOffsetsRequest, "silence")
        consumer.seek(P0, EARLIEST)
        turns, poll = list[float](), consumer.cluster.poll
        consumer.cluster.poll = lambda *given: turns.append(1) or poll(*given)  # type: ignore[method-assign, func-returns-value]
        with pytest.raises(TimedOutError):
            consumer.position(P0, 0.5)
        assert len(turns) < 150


def test_a_callback_that_closes_the_consumer_ends_the_poll(cluster: FakeCluster) -> None:
    with reader(cluster) as consumer:
        consumer.subscribe("t", on_assigned=lambda _places: consumer.close())
        with pytest.raises(ClosedError):
            read(consumer, 1)
    assert not [thread for thread in threading.enumerate() if thread.name == "kcli-heartbeat"]


def test_a_callback_of_a_commit_that_raises_does_not_keep_it_from_joining(cluster: FakeCluster) -> None:
    """What was committed of partitions that were assigned by hand is not waited for by who subscribes."""

    def defect(_done: Any) -> None:
        raise ValueError("mine")

    with reader(cluster, enable_auto_commit=False) as consumer:
        consumer.assign({P0: Span(0)})
        assert len(read(consumer, 30)) == 30
        loading = cluster.fail(OffsetCommitRequest, Code.COORDINATOR_LOAD_IN_PROGRESS, times=FOREVER)
        consumer.commit_async().on_done(defect)
        read_until(consumer, lambda _found: loading.count)
        consumer.assign({})
        with pytest.raises(ValueError, match="mine"):
            consumer.subscribe("t")
        assert len(read(consumer, 60)) == 60


def test_a_callback_of_a_commit_that_raises_does_not_keep_the_member_in_its_group(
    cluster: FakeCluster,
) -> None:
    """The error is raised; the member has left all the same, and its thread has ended."""

    def defect(_done: Any) -> None:
        raise ValueError("mine")

    consumer = reader(cluster, enable_auto_commit=False)
    consumer.subscribe("t")
    assert len(read(consumer, 60)) == 60
    cluster.drop(OffsetCommitRequest, "silence")
    commit = consumer.commit_async({P0: 5})
    commit.on_done(defect)
    with pytest.raises(ValueError, match="mine"):
        consumer.close(2.0)
    assert isinstance(commit.error, CommitFailedError)
    assert not [thread for thread in threading.enumerate() if thread.name == "kcli-heartbeat"]
    cluster.wait_until(lambda: not cluster.group_members("g"), PATIENCE)
    with pytest.raises(ClosedError):
        consumer.commit({P0: 5})
