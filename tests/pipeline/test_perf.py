"""``kcli pipeline perf`` reports as many records as the brokers have, obeys its limits, and stops."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import TaskContext
from kcli.pipeline.kernels.load import LoadSettings, LoadTask
from kcli.pipeline.kernels.load import run as load
from tests.fake.cluster import FakeCluster
from tests.run import Done
from tests.run import kcli_as_set_up as command

_TOPIC_AUTHORIZATION_FAILED = 29


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="c", topics={"t": 3}) as made:
        yield made


def perf(cluster: FakeCluster, *more: str, topic: str = "t") -> Done:
    runner = () if "--runner" in more else ("--runner", "inline")
    return command("pipeline", "perf", "-b", cluster.bootstrap, "-t", topic, *runner, *more)


def values(cluster: FakeCluster) -> list[bytes]:
    return [value or b"" for partition in range(3) for value in cluster.log("t", partition).values()]


def settings(cluster: FakeCluster, **more: Any) -> LoadSettings:
    ref = ClusterRef({"bootstrap_servers": cluster.bootstrap}, {}, {}, {})
    return LoadSettings(ref, "t", 100, 100, **more)


def test_as_many_records_as_reported_of_the_sizes_asked_for(cluster: FakeCluster) -> None:
    done = perf(
        cluster, "--num-records", "1001", "--record-size", "10..50", "--tasks", "3", "-o", "json",
        "--runner", "processes", "--local", "2",
    )  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["kind"], report["command"], report["runner"]) == ("PipelineReport", "perf", "processes")
    assert [(item["task"], item["records"]) for item in report["items"]] == [(0, 333), (1, 334), (2, 334)]
    totals = report["totals"]
    stored = values(cluster)
    assert len(stored) == totals["records"] == 1_001
    assert (min(map(len, stored)), max(map(len, stored))) == (10, 50)
    assert (totals["tasks"], totals["task_retries"]) == (3, 0)
    assert totals["bytes"] == sum(item["bytes"] for item in report["items"]) == sum(map(len, stored))
    assert totals["records_per_second"] > 0
    assert (totals["errors"], totals["unconfirmed"]) == (0, 0)
    for figures in (totals, *report["items"]):
        for ending in ("", "_corrected"):
            found = [figures[f"latency_{name}{ending}_us"] for name in ("p50", "p95", "p99", "p999", "max")]
            assert found == sorted(found)
            assert found[0] > 0


def test_table_and_summary(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "10", "-X", "acks=1", "-X", "compression.type=gzip")
    assert done.code == 0, done.err
    assert "LATENCY-P999-CORRECTED-US" in done.out
    assert "10 records of 1,024 bytes, as fast as possible; acks=1, compression gzip" in done.err
    assert "the records stay in the topic" in done.err
    assert "sent 10 records" in done.err
    assert "latency from the intended time p50" in done.err
    (seen, *_) = cluster.seen(ProduceRequest)
    assert isinstance(seen.request, ProduceRequest)
    assert seen.request.acks == 1


def test_throughput_and_duration_are_obeyed(cluster: FakeCluster) -> None:
    done = perf(cluster, "--duration", "1", "--throughput", "400", "--record-size", "20", "-o", "json")
    assert done.code == 0, done.err
    totals = json.loads(done.out)["totals"]
    assert 200 <= totals["records"] <= 440
    assert totals["records"] == len(values(cluster))
    assert 0.9 <= totals["seconds"] < 4


def test_the_throughput_is_that_of_all_tasks(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float | None, int]] = []

    def spy(settings: LoadSettings, task: LoadTask, context: TaskContext) -> dict[str, Any]:
        seen.append((settings.throughput, settings.at_once))
        return load(settings, task, context)

    monkeypatch.setattr("kcli.pipeline.kernels.load.run", spy)
    perf(cluster, "--num-records", "4", "--tasks", "2", "--throughput", "4k")
    perf(cluster, "--num-records", "4", "--throughput", "-1")
    assert seen == [(4_000, 1), (4_000, 1), (None, 1)]  # inline runs one at a time, each at the full rate


def test_a_stop_ends_a_task_and_what_was_sent_is_reported(cluster: FakeCluster) -> None:
    began, sent = time.monotonic(), 0

    def report(records: int, _size: int) -> None:
        nonlocal sent
        sent += records

    context = TaskContext(0, stopped=lambda: time.monotonic() > began + 0.5, report=report)
    item = load(settings(cluster, throughput=200), LoadTask(0), context)
    assert time.monotonic() - began < 4
    assert item["records"] == sent == len(values(cluster)) > 0
    assert (item["errors"], item["unconfirmed"]) == (0, 0)


def test_a_stop_does_not_wait_for_brokers_that_are_silent(cluster: FakeCluster) -> None:
    cluster.delay(ProduceRequest, 60.0)
    began = time.monotonic()
    context = TaskContext(0, stopped=lambda: time.monotonic() > began + 0.5)
    ref = ClusterRef({"bootstrap_servers": cluster.bootstrap, "buffer_memory": 1_000_000}, {}, {}, {})
    item = load(LoadSettings(ref, "t", 1_000, 1_000), LoadTask(0), context)
    assert time.monotonic() - began < 12
    assert item["records"] == 0
    assert item["unconfirmed"] > 0
    assert item["latency_p50_us"] is None


def test_an_error_of_the_brokers_ends_the_load_and_is_reported(cluster: FakeCluster) -> None:
    cluster.fail(ProduceRequest, _TOPIC_AUTHORIZATION_FAILED, times=1_000)
    done = perf(cluster, "--num-records", "10k", "-o", "json", "--tasks", "1")
    assert done.code == 4, done.err
    (item,) = json.loads(done.out)["items"]
    assert item["records"] == 0
    assert item["errors"] > 0
    assert item["error"]
    assert values(cluster) == []


@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        ((), 2, "missing --num-records or --duration"),
        (("--num-records", "1", "--record-size", "0"), 2, "at least one byte"),
        (("--num-records", "1", "--record-size", "2MB"), 2, "max.request.size"),
        (("--num-records", "1", "--record-size", "9..3"), 2, "ends before it starts"),
        (("--num-records", "1", "--throughput", "0"), 2, "more than 0"),
        (("--num-records", "1", "-X", "transactional.id=t"), 2, "the records are not sent in transactions"),
        (("--duration", "0"), 2, "more than 0"),
        (("--num-records", "1", "--master", "local[2]"), 2, "--master with --runner inline"),
    ],
)
def test_what_cannot_be_is_said(cluster: FakeCluster, flags: tuple[str, ...], code: int, text: str) -> None:
    done = perf(cluster, *flags)
    assert (done.code, text in done.err) == (code, True), done.err
    assert values(cluster) == []


def test_a_topic_that_does_not_exist_is_not_created(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "1", topic="tt")
    assert done.code == 1
    assert "did you mean t? `kcli topics create tt --partitions N` creates it" in done.err


def test_a_dry_run_sends_nothing(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "5", "--dry-run")
    assert done.code == 0
    assert "Load t (3 partitions)" in done.out
    assert values(cluster) == []
