"""The task of a mirror is killed at each step, and fenced: every record is on the target once, and in order."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcli.core.types import TopicPartition
from kcli.pipeline.job import ATTEMPTS, Job, TaskContext, run_task
from kcli.pipeline.kernels import copy as kernel
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.producing import PATIENCE
from tests.pipeline.mirroring import Run, position, settings, tasks

if TYPE_CHECKING:
    from kcli.pipeline.spark.runner import SparkRunner

T0 = TopicPartition("t", 0)
VALUES = [b"%d" % number for number in range(12)]


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="source", topics={"t": 1}) as made:
        for value in VALUES:
            made.append("t", 0, batch(value, timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="target", topics={"t": 1}) as made:
        yield made


class Step(NamedTuple):
    """Where the process is killed: ``after`` so many requests of the task, before or after the broker applied it.

    ``late``: the request that was sent is applied after the process is gone.
    """

    api: type[Request]
    at: str
    after: int = 0
    late: bool = False


CLAIM, SLICE = 0, 1
RUNS = {
    "the transactional id, and reading the position": (
        Step(InitProducerIdRequest, "request"),
        Step(InitProducerIdRequest, "answer"),
        Step(OffsetFetchRequest, "answer", after=1),
    ),
    "begin and produce": (
        Step(TxnOffsetCommitRequest, "answer", after=CLAIM),
        Step(ProduceRequest, "request", late=True),
        Step(ProduceRequest, "answer"),
    ),
    "the offsets of the transaction, and an end that is applied": (
        Step(TxnOffsetCommitRequest, "request", after=SLICE),
        Step(TxnOffsetCommitRequest, "request", after=SLICE, late=True),
        Step(EndTxnRequest, "answer", after=SLICE),
    ),
    "the end of the transaction, and one that comes late": (
        Step(EndTxnRequest, "answer", after=CLAIM),
        Step(TxnOffsetCommitRequest, "answer", after=SLICE),
        Step(EndTxnRequest, "request", after=SLICE, late=True),
    ),
}
assert all(len(steps) < ATTEMPTS for steps in RUNS.values())


@pytest.mark.long
@pytest.mark.case("K1", "K2")
@pytest.mark.parametrize("name", RUNS)
def test_a_task_that_is_killed_anywhere_stores_each_record_once(
    source: FakeCluster, target: FakeCluster, name: str
) -> None:
    first, *others = steps = RUNS[name]
    hold = target.hold(first.api, first.at, after=first.after)
    with Run(Job("copy", settings(source, target), tasks(source, "t", 0))) as run:
        for step, following in zip(steps, [*others, None], strict=True):
            held = hold
            held.wait(timeout=PATIENCE)
            if following is not None:
                hold = target.hold(following.api, following.at, after=following.after)
            run.kill()
            held.release() if step.late else held.lose()
        (result,) = run.results()
    assert result.item == {
        "topic": "t",
        "partition": 0,
        "target_topic": "t",
        "target_partition": 0,
        "start": 0,
        "end": len(VALUES),
        "records": len(VALUES),
        "skipped_records": 0,
        "bytes": result.item["bytes"] if result.item else 0,
    }
    assert result.attempts == 1 + len(RUNS[name])
    assert target.log("t", 0).values(committed=True) == VALUES


@pytest.mark.case("K2")
def test_at_least_once_a_kill_costs_records_that_are_there_twice_and_loses_none(
    source: FakeCluster, target: FakeCluster
) -> None:
    hold = target.hold(OffsetCommitRequest, "request", after=SLICE)
    with Run(Job("copy", settings(source, target, exactly_once=False), tasks(source, "t", 0))) as run:
        hold.wait(timeout=PATIENCE)
        run.kill()
        hold.lose()
        (result,) = run.results()
    assert (result.error, result.attempts) == (None, 2)
    assert target.log("t", 0).values() == VALUES * 2
    assert result.item is not None
    assert result.item["records"] == len(VALUES)


@pytest.mark.case("K3")
def test_a_task_that_was_frozen_is_refused_after_another_took_over(
    source: FakeCluster, target: FakeCluster
) -> None:
    """Its executor was thought dead: it wakes up in the middle of a transaction."""
    hold = target.hold(TxnOffsetCommitRequest, "request", after=SLICE)
    with Run(Job("copy", settings(source, target), tasks(source, "t", 0))) as run:
        hold.wait(timeout=PATIENCE)
        frozen = run.worker()
        os.kill(frozen, signal.SIGSTOP)
        try:
            second = kernel.run(
                settings(source, target, run="other"), tasks(source, "t", 0)[0], TaskContext(0)
            )
            assert second["records"] == len(VALUES)
            hold.release()
        finally:
            os.kill(frozen, signal.SIGCONT)
        (result,) = run.results()
    assert result.error is not None
    assert (result.error.exit_code, result.error.may_pass, result.attempts) == (7, False, 1)
    assert "mirror job j is run by another process" in result.error.what
    assert target.log("t", 0).values(committed=True) == VALUES


@pytest.mark.case("K3")
def test_an_attempt_that_was_replaced_by_the_next_one_of_its_run_is_refused(
    source: FakeCluster, target: FakeCluster
) -> None:
    wanted = settings(source, target)
    replaced: list[dict[str, Any]] = []

    def replace(_records: int, _size: int) -> None:
        """Called first between the claim of the task and its first record."""
        if not replaced:
            replaced.append({})
            replaced[0] = kernel.run(wanted, tasks(source, "t", 0)[0], TaskContext(1))

    context = TaskContext(0, last=True, report=replace)
    result = run_task(Job("copy", wanted, tasks(source, "t", 0)), 0, context)
    assert result.error is not None
    assert (result.error.exit_code, result.error.may_pass) == (7, True)
    assert replaced[0]["records"] == len(VALUES)
    assert target.log("t", 0).values(committed=True) == VALUES


@pytest.mark.case("K9")
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_broker_that_restarts_meanwhile_changes_no_result(
    source: FakeCluster, target: FakeCluster, side: str
) -> None:
    cluster, api = (source, FetchRequest) if side == "source" else (target, ProduceRequest)
    hold = cluster.hold(api, "answer")
    with Run(Job("copy", settings(source, target), tasks(source, "t", 0))) as run:
        hold.wait(timeout=PATIENCE)
        cluster.stop(1)
        hold.lose()
        cluster.start(1)
        (result,) = run.results()
    assert result.error is None
    assert result.item is not None
    assert result.item["records"] == len(VALUES)
    assert target.log("t", 0).values(committed=True) == VALUES


def test_a_stop_ends_a_task_where_it_is_and_the_next_run_continues(
    source: FakeCluster, target: FakeCluster
) -> None:
    stopped: list[bool] = []
    context = TaskContext(
        0, stopped=lambda: bool(stopped), report=lambda _records, _size: stopped.append(True)
    )
    for value in VALUES:
        source.append("t", 0, batch(value, timestamp=1_000))
    source.delay(FetchRequest, 0.5)
    item = kernel.run(settings(source, target), tasks(source, "t", 0)[0], context)
    source.heal()
    assert item["end"] == item["records"] < 2 * len(VALUES)
    found = position(target, T0)
    assert found is not None
    assert (found.offset, found.bookmark.ended) == (item["end"], True)
    rest = kernel.run(settings(source, target, run="next"), tasks(source, "t", 0)[0], TaskContext(0))
    assert (rest["start"], rest["end"]) == (item["end"], 2 * len(VALUES))
    assert target.log("t", 0).values(committed=True) == VALUES * 2


def test_a_task_whose_partition_is_copied_contacts_no_broker_for_records(
    source: FakeCluster, target: FakeCluster
) -> None:
    for run in ("first", "second"):
        done = kernel.run(settings(source, target, run=run), tasks(source, "t", 0)[0], TaskContext(0))
        assert done["records"] == (len(VALUES) if run == "first" else 0)
    assert len(target.seen(InitProducerIdRequest)) == 1


def test_a_source_that_is_away_fails_the_task_after_a_while(source: FakeCluster, target: FakeCluster) -> None:
    wanted = settings(source, target, patience=1.0)
    task = tasks(source, "t", 0)
    source.delay(FetchRequest, 60)
    result = run_task(Job("copy", wanted, task), 0, TaskContext(0, last=True))
    assert result.error is not None
    assert (result.error.exit_code, result.error.may_pass) == (3, True)
    assert "t-0: no progress for 1 s" in result.error.what
    source.heal()


@pytest.mark.integration
@pytest.mark.case("K1", "K2")
@pytest.mark.long
def test_on_spark_the_results_are_the_same_and_a_killed_worker_costs_an_attempt(
    source: FakeCluster, target: FakeCluster, spark: "SparkRunner"
) -> None:
    hold = target.hold(TxnOffsetCommitRequest, "answer", after=SLICE)
    with Run(Job("copy", settings(source, target), tasks(source, "t", 0)), lambda _slots: spark) as run:
        hold.wait(timeout=PATIENCE)
        for child in psutil.Process(spark.session.jvm_pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # as a zombie is
                if (
                    "pyspark" in " ".join(child.cmdline()) and not child.children()
                ):  # a worker, not their daemon
                    child.kill()
        hold.lose()
        (result,) = run.results()
    assert result.item is not None, result.error
    assert (result.item["start"], result.item["end"], result.item["records"]) == (0, len(VALUES), len(VALUES))
    assert result.attempts == 2
    assert target.log("t", 0).values(committed=True) == VALUES
    again = kernel.run(settings(source, target), tasks(source, "t", 0)[0], TaskContext(0))
    assert again == result.item
