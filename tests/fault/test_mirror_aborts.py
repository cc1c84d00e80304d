"""Transactions of a mirror that are aborted: all is copied again, once, and positions belong to what is committed."""

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until, values
from tests.fault.mirroring import Job, saved_job

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NUMBERS = [b"%d" % number for number in range(10)]


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    """Partition 1 is empty."""
    with FakeCluster(1, topics={"t": 2}) as made:
        for value in NUMBERS:
            made.append("t", 0, batch(value, codec=1, timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"copy": 2, "t": 2, STATE_TOPIC: 1}, cluster_id="there") as made:
        yield made


def about_t(target: FakeCluster) -> Any:
    found = target.topic_id("t")
    return lambda request: any(one.name == "t" or one.topic_id == found for one in request.topic_data)


@pytest.mark.case("M2", "R7")
def test_after_an_abort_at_the_commit_the_position_is_that_of_the_records(
    source: FakeCluster, target: FakeCluster
) -> None:
    target.fail(EndTxnRequest, Code.TRANSACTION_ABORTABLE, times=1)
    with Job(source, target, 2, exactly_once=True) as job:
        job.run()
    saved = saved_job(target)
    assert saved is not None
    assert saved.partitions[T0].progress.position == len(NUMBERS)
    with Job(source, target, 2, exactly_once=True) as job:
        assert job.run()[T0].started_at == len(NUMBERS)
    assert target.log("copy", 0).values(committed=True) == NUMBERS


@pytest.mark.case("M2", "R7")
def test_an_empty_partition_is_not_read_again_after_an_abort(
    source: FakeCluster, target: FakeCluster
) -> None:
    target.fail(EndTxnRequest, Code.TRANSACTION_ABORTABLE, times=1, after=1)
    done = mirrored(source, target, "--exactly-once")
    assert done.code == 0, done
    assert values(target, "t") == NUMBERS


@pytest.mark.case("M2", "M17", "R7")
@pytest.mark.parametrize(
    "code",
    [
        Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Code.UNKNOWN_PRODUCER_ID,
        Code.INVALID_TXN_STATE,
        Code.TRANSACTION_ABORTABLE,
    ],
    ids=lambda code: str(code.name),
)
def test_an_error_that_an_abort_cures_ends_no_partition(
    source: FakeCluster, target: FakeCluster, code: Code
) -> None:
    target.fail(ProduceRequest, code, where=T0, times=1, when=about_t(target))
    done = mirrored(source, target, "--exactly-once")
    assert done.code == 0, done
    assert values(target, "t") == NUMBERS


@pytest.mark.case("M7", "R7")
def test_a_failure_that_is_noticed_early_is_not_committed(source: FakeCluster, target: FakeCluster) -> None:
    target.configure("copy", message_timestamp_type="LogAppendTime")
    with Job(source, target, 2, exactly_once=True, interval=5) as job:
        job.copy._most_unconfirmed = 300
        assert job.run()[T0].error is not None
    assert target.log("copy", 0).values(committed=True) == []


@pytest.mark.case("M17", "R16")
def test_ctrl_c_while_the_target_does_not_answer_is_130_with_a_report(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(monkeypatch, *arguments(source, target, "--yes", "-o", "json", *delivery)) as mirror:
        until(lambda: values(target, "t") == NUMBERS)
        target.pause(1)
        source.append("t", 0, batch(b"more", timestamp=1_000))
        mirror.join(1.5)
        mirror.stop()
        mirror.join(12)
        assert not mirror.is_running
        done = mirror.done()
        target.resume(1)
    assert done.code == 130, done
    assert done.rows[T0]["to_offset"] == len(NUMBERS)


@pytest.mark.case("M7", "M19")
def test_batches_that_are_split_keep_their_order(target: FakeCluster, delivery: tuple[str, ...]) -> None:
    """Small batches are joined into larger ones than the target accepts."""
    with FakeCluster(1, topics={"t": 1}) as source:
        for cluster in (source, target):
            cluster.configure("t", max_message_bytes="100000")
        expected = [b"%06d" % number + b"x" * 1_000 for number in range(3_000)]
        for first in range(0, len(expected), 15):
            source.append("t", 0, batch(*expected[first : first + 15], timestamp=1_000))
        done = mirrored(source, target, *delivery)
    assert done.code == 0, done
    assert values(target, "t") == expected
