"""kcli mirror killed at each step of a transaction, and then started again: nothing is lost, nothing is stored twice.

Each step is a request that one of the clusters holds, before it is applied or before it is answered.
"""

import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import ProducerRecord
from kcli.flows.mirror.job.lease import transactional_id
from kcli.flows.mirror.job.state import JobId
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from tests.fake.cluster import FakeCluster
from tests.fault.producing import quick
from tests.run import kcli_process, start

PARTITIONS = 2
OWN = transactional_id(JobId("fake-kafka-cluster-id0", "j"))


class Step(NamedTuple):
    """Where the mirror is killed: ``at`` is ``request`` (not applied yet) or ``answer`` (applied, not answered)."""

    side: str
    api: type[Request]
    at: str
    topic: str = ""
    after: int = 0


STEPS = {
    "fetching": Step("source", FetchRequest, "request"),
    "fetched": Step("source", FetchRequest, "answer"),
    "initialising": Step("target", InitProducerIdRequest, "request"),
    "initialised": Step("target", InitProducerIdRequest, "answer"),
    "records sent": Step("target", ProduceRequest, "request", "t"),
    "records stored": Step("target", ProduceRequest, "answer", "t"),
    "later records sent": Step("target", ProduceRequest, "request", "t", after=3),
    "later records stored": Step("target", ProduceRequest, "answer", "t", after=3),
    "position sent": Step("target", ProduceRequest, "request", STATE_TOPIC, after=1),
    "position stored": Step("target", ProduceRequest, "answer", STATE_TOPIC, after=1),
    "commit sent": Step("target", EndTxnRequest, "request", after=1),
    "committed": Step("target", EndTxnRequest, "answer", after=1),
}


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    """Records of plain and transactional producers, a tenth of the transactions aborted."""
    rng = random.Random(5)
    with FakeCluster(1, topics={"t": PARTITIONS}) as made:
        with quick(made, transactional_id="writer", batch_size=2_000) as producer:
            producer.init_transactions(20)
            number = 0
            for round_number in range(20):
                producer.begin_transaction()
                for _ in range(rng.randrange(1, 12)):
                    partition = rng.randrange(PARTITIONS)
                    producer.send(ProducerRecord("t", b"%d" % number, key=b"k", partition=partition))
                    number += 1
                producer.flush(20)
                if round_number % 10 == 3:
                    producer.abort_transaction(20)
                else:
                    producer.commit_transaction(20)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


@pytest.fixture
def old_target() -> Iterator[FakeCluster]:
    """One with the transactions of before KIP-890."""
    with FakeCluster(1, topics={}, cluster_id="there", transaction_version=0) as made:
        yield made


def mirror(source: FakeCluster, target: FakeCluster, *more: str) -> list[str]:
    return [
        "mirror", "--from", source.address(1), "--to", target.address(1), "-t", "t", "--job", "j", "--exactly-once",
        "--until-caught-up", *more,
    ]  # fmt: skip


def stored(cluster: FakeCluster) -> dict[int, list[Any]]:
    return {number: cluster.log("t", number).values(committed=True) for number in range(PARTITIONS)}


def concerns(cluster: FakeCluster, topic: str) -> Any:
    """Whether a request is about the topic, by name or by id; any request without one."""

    def match(request: Any) -> bool:
        asked = getattr(request, "topic_data", ())
        return not topic or any(one.name == topic or one.topic_id == cluster.topic_id(topic) for one in asked)

    return match


def kill_at(step: Step, source: FakeCluster, target: FakeCluster) -> None:
    """Kills a mirror at the step, starts it again, and compares the clusters."""
    cluster = source if step.side == "source" else target
    hold = cluster.hold(step.api, at=step.at, after=step.after, when=concerns(cluster, step.topic))
    process = start(*mirror(source, target, "--rate", "100"))
    try:
        hold.wait(timeout=30)
    finally:
        process.kill()
        process.communicate(timeout=30)
    hold.remove()
    hold.release()
    began = time.monotonic()
    done = kcli_process(*mirror(source, target, "--verify"))
    assert time.monotonic() - began < 40, (
        "the new run fences the old transaction, which would time out after 60 s"
    )
    assert done.returncode == 0, done.stderr.decode()
    assert stored(target) == stored(source)
    assert b"2 of 2 partitions equal" in done.stderr


@pytest.mark.case("M2", "R7")
@pytest.mark.parametrize("name", STEPS)
def test_a_mirror_that_is_killed_at_any_step_stores_every_record_once(
    source: FakeCluster, target: FakeCluster, name: str
) -> None:
    kill_at(STEPS[name], source, target)


@pytest.mark.case("M2", "R7")
@pytest.mark.parametrize("name", ["later records stored", "position stored", "commit sent", "committed"])
def test_with_older_transactions_too(source: FakeCluster, old_target: FakeCluster, name: str) -> None:
    kill_at(STEPS[name], source, old_target)


@pytest.mark.case("M1")
def test_a_mirror_that_is_killed_before_its_job_is_stored_continues_without_a_question(
    source: FakeCluster,
) -> None:
    """At least once: no record is stored before the job is, so the next run does not find records of an unknown job."""
    with FakeCluster(2, topics={"t": PARTITIONS}, cluster_id="there") as target:
        target.create_topic(STATE_TOPIC, 1)
        elsewhere = 3 - target.leader(STATE_TOPIC, 0)
        for number in range(PARTITIONS):
            target.move_leader("t", number, elsewhere)
        hold = target.hold(ProduceRequest, when=concerns(target, STATE_TOPIC))
        command = [word for word in mirror(source, target) if word != "--exactly-once"]
        process = start(*command)
        try:
            hold.wait(timeout=30)
            time.sleep(0.5)  # what must not happen has the time to happen
            assert not any(stored(target).values())
        finally:
            process.kill()
            process.communicate(timeout=30)
        hold.remove()
        hold.lose()
        done = kcli_process(*command)
        assert done.returncode == 0, done.stderr.decode()
        assert stored(target) == stored(source)


@pytest.mark.case("M1", "M2")
@pytest.mark.parametrize("delivery", ["--exactly-once", "--timeout=30"])
def test_positions_are_saved_while_the_rate_delays_the_batches_of_one_poll(
    source: FakeCluster, target: FakeCluster, delivery: str
) -> None:
    """About five seconds for all records: a position each second, not one at the end."""
    words = [word for word in mirror(source, target, "--rate", "20") if word != "--exactly-once"]
    done = kcli_process(*words, delivery)
    assert done.returncode == 0, done.stderr.decode()
    assert stored(target) == stored(source)
    positions = target.seen(lambda one: concerns(target, STATE_TOPIC)(one.request))
    assert len(positions) >= 4


@pytest.mark.case("M2")
@pytest.mark.parametrize("delivery", ["--exactly-once", "--timeout=30"])
def test_records_whose_response_was_lost_are_stored_once_and_end_no_partition(
    source: FakeCluster, target: FakeCluster, delivery: str
) -> None:
    """A broker responds to what it has already with a timestamp, as if the target replaced those of the records."""
    target.swallow(ProduceRequest, "reset", when=concerns(target, "t"))
    words = [word for word in mirror(source, target) if word != "--exactly-once"]
    done = kcli_process(*words, delivery)
    assert done.returncode == 0, done.stderr.decode()
    assert any(one.outcome == "swallowed" for one in target.seen(ProduceRequest))
    assert stored(target) == stored(source)


def test_a_transaction_that_timed_out_is_copied_again(source: FakeCluster, target: FakeCluster) -> None:
    hold = target.hold(ProduceRequest, after=3, when=concerns(target, "t"))
    process = start(*mirror(source, target, "--rate", "100"))
    try:
        hold.wait(timeout=30)
        target.expire_transaction(OWN)
        hold.release()
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err.decode()
    assert b"the transaction timed out" in err
    assert stored(target) == stored(source)


@pytest.mark.case("M2", "R7")
def test_a_later_transaction_that_timed_out_is_copied_again_by_a_first_run(
    source: FakeCluster, target: FakeCluster
) -> None:
    """The topics that the run has created itself are there when it plans again."""
    process = start(*mirror(source, target, "--rate", "20"))
    try:
        target.wait_for(EndTxnRequest, 7, timeout=30)  # the first ones are short
        hold = target.hold(ProduceRequest, after=2, when=concerns(target, "t"))
        hold.wait(timeout=30)
        target.expire_transaction(OWN)
        hold.remove()
        hold.release()
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err.decode()
    assert b"the transaction timed out" in err
    assert stored(target) == stored(source)
