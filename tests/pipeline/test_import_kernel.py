"""The task of an import is killed at each step, and fenced: every record is on the target once, and in order."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcli.core.types import TopicPartition
from kcli.flows.mirror.job.group_position import read_positions
from kcli.pipeline.job import ATTEMPTS, Job, TaskContext, run_task
from kcli.pipeline.kernels import import_ as kernel
from kcli.pipeline.manifest import Documents
from kcli.pipeline.store.folder import FolderStore
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE
from tests.pipeline.exporting import export, fill
from tests.pipeline.mirroring import Run, ref

VALUES = [b"%d" % number for number in range(12)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An export of 12 records in two files."""
    with FakeCluster(1, cluster_id="source", topics={"t": 1}) as source:
        fill(source, [(b"k", value, (), 1_000) for value in VALUES[:7]])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kcli.pipeline.drivers.export.wait", lambda _seconds, stop: stop.request())
            export(source, tmp_path, "--continuous")
            fill(source, [(b"k", value, (), 1_000) for value in VALUES[7:]])
            export(source, tmp_path, "--continuous")
    return tmp_path


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="target", topics={"t": 1}) as made:
        yield made


def settings(target: FakeCluster, folder: Path, run: str = "run") -> kernel.ImportSettings:
    return kernel.ImportSettings(ref(target), str(folder), "parquet", "source", "j", run, by_key=False)


def task(folder: Path) -> kernel.ImportTask:
    manifest = Documents(FolderStore(str(folder))).manifest()
    assert manifest is not None
    ((tp, one),) = manifest.partitions()
    return kernel.ImportTask(tp, manifest.topics[0].topic_id, tp, tuple(one.files), one.start, one.end, 1)


class Step(NamedTuple):
    """Where the process is killed: ``after`` so many requests of the task, before or after the broker applied it.

    ``late``: the request that was sent is applied after the process is gone.
    """

    api: type[Request]
    at: str
    after: int = 0
    late: bool = False


CLAIM, FILE = 0, 1
RUNS = {
    "the transactional id, and reading the position": (
        Step(InitProducerIdRequest, "request"),
        Step(InitProducerIdRequest, "answer"),
        Step(OffsetFetchRequest, "answer"),
    ),
    "begin and produce": (
        Step(TxnOffsetCommitRequest, "answer", after=CLAIM),
        Step(ProduceRequest, "request", late=True),
        Step(ProduceRequest, "answer"),
    ),
    "the offsets of the transaction, and an end that is applied": (
        Step(TxnOffsetCommitRequest, "request", after=FILE),
        Step(TxnOffsetCommitRequest, "request", after=CLAIM, late=True),
        Step(EndTxnRequest, "answer", after=CLAIM),
    ),
    "the second file": (
        Step(ProduceRequest, "request", after=1),
        Step(TxnOffsetCommitRequest, "request", after=CLAIM, late=True),
        Step(EndTxnRequest, "request", after=CLAIM, late=True),
    ),
}
SHORTEST = "the second file"
assert all(len(steps) < ATTEMPTS for steps in RUNS.values())


@pytest.mark.case("K2", "K4")
@pytest.mark.parametrize(
    "name", [SHORTEST, *(pytest.param(name, marks=pytest.mark.long) for name in RUNS if name != SHORTEST)]
)
def test_a_task_that_is_killed_anywhere_stores_each_record_once(
    folder: Path, target: FakeCluster, name: str
) -> None:
    first, *others = steps = RUNS[name]
    hold = target.hold(first.api, first.at, after=first.after)
    with Run(Job("import_", settings(target, folder), (task(folder),))) as run:
        for step, following in zip(steps, [*others, None], strict=True):
            held = hold
            held.wait(timeout=PATIENCE)
            if following is not None:
                hold = target.hold(following.api, following.at, after=following.after)
            run.kill()
            held.release() if step.late else held.lose()
        (result,) = run.results()
    assert result.error is None
    assert result.item is not None
    assert (result.item["start"], result.item["end"], result.item["records"]) == (0, 12, 12)
    assert len(result.item["files"]) == 2
    assert result.attempts == 1 + len(steps)
    assert target.log("t", 0).values(committed=True) == VALUES


@pytest.mark.case("K3")
def test_a_task_that_was_frozen_is_refused_after_another_took_over(folder: Path, target: FakeCluster) -> None:
    hold = target.hold(TxnOffsetCommitRequest, "request", after=FILE)
    with Run(Job("import_", settings(target, folder), (task(folder),))) as run:
        hold.wait(timeout=PATIENCE)
        frozen = run.worker()
        os.kill(frozen, signal.SIGSTOP)
        try:
            second = kernel.run(settings(target, folder, run="other"), task(folder), TaskContext(0))
            assert second["records"] == len(VALUES)
            hold.release()
        finally:
            os.kill(frozen, signal.SIGCONT)
        (result,) = run.results()
    assert result.error is not None
    assert (result.error.exit_code, result.attempts) == (7, 1)
    assert "another process runs this import" in result.error.what
    assert target.log("t", 0).values(committed=True) == VALUES


@pytest.mark.case("K1")
def test_a_request_that_is_lost_costs_nothing(folder: Path, target: FakeCluster) -> None:
    hold = target.hold(ProduceRequest, "request")
    with Run(Job("import_", settings(target, folder), (task(folder),))) as run:
        hold.wait(timeout=PATIENCE)
        hold.lose()
        (result,) = run.results()
    assert result.error is None
    assert target.log("t", 0).values(committed=True) == VALUES


@pytest.mark.case("K9")
def test_a_broker_that_restarts_meanwhile_changes_no_result(folder: Path, target: FakeCluster) -> None:
    hold = target.hold(ProduceRequest, "answer")
    with Run(Job("import_", settings(target, folder), (task(folder),))) as run:
        hold.wait(timeout=PATIENCE)
        target.stop(1)
        hold.lose()
        target.start(1)
        (result,) = run.results()
    assert result.error is None
    assert target.log("t", 0).values(committed=True) == VALUES


@pytest.mark.case("K2")
def test_a_stop_ends_a_task_between_transactions_and_the_next_run_continues(
    folder: Path, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_TRANSACTION_BYTES", 1)
    stopped: list[bool] = []
    context = TaskContext(
        0,
        stopped=lambda: bool(stopped),
        report=lambda records, _size: stopped.append(True) if records else None,
    )
    result = run_task(Job("import_", settings(target, folder), (task(folder),)), 0, context)
    assert result.error is not None
    assert result.error.exit_code == 130
    committed = target.log("t", 0).values(committed=True)
    assert committed == VALUES[: len(committed)]
    assert len(committed) < len(VALUES)
    rest: dict[str, Any] = kernel.run(settings(target, folder, run="next"), task(folder), TaskContext(0))
    assert (rest["start"], rest["records"]) == (len(committed), len(VALUES) - len(committed))
    assert target.log("t", 0).values(committed=True) == VALUES


def test_the_position_is_a_committed_offset_of_the_target_partition(
    folder: Path, target: FakeCluster
) -> None:
    kernel.run(settings(target, folder), task(folder), TaskContext(0))
    with Admin(bootstrap_servers=target.bootstrap) as admin:
        found = read_positions(admin, "__kcli.import.j.source")
    position = found[TopicPartition("t", 0)]
    assert position.offset == 12
    assert position.bookmark.ended
    assert position.bookmark.topic_id == task(folder).topic_id
