"""``kcli perf e2e`` on a cluster that delays, stalls, refuses, loses, repeats and reorders."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.admin.acls import AclOperation
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit
from tests.fake.cluster import FakeCluster
from tests.fault.consuming import options
from tests.fault.mirror_command import until
from tests.fault.perf_topics import fill
from tests.run import Done, kcli, start

REFUSED = 29
"""TOPIC_AUTHORIZATION_FAILED: not retried."""
UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
IN_FLIGHT = ()
AT_A_RATE = ("--throughput", "200")
MODES = pytest.mark.parametrize("mode", [IN_FLIGHT, AT_A_RATE], ids=["one in flight", "at a rate"])


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as made:
        yield made


def e2e(cluster: FakeCluster, *more: str) -> Done:
    return kcli(
        "perf", "e2e", "-t", "t", "--record-size", "50", "-o", "json", *more, bootstrap=cluster.bootstrap
    )


def item(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.out)["items"][0]
    return found


def figures(done: Done) -> tuple[int, ...]:
    return tuple(item(done)[name] for name in ("checked", "lost", "duplicated", "reordered"))


@MODES
def test_every_record_is_sent_received_and_checked(cluster: FakeCluster, mode: tuple[str, ...]) -> None:
    fill(cluster, {0: [None, 0, 1]})  # what is in the topic already does not matter
    done = e2e(cluster, "--num-records", "60", "--warmup-records", "10", *mode)
    assert done.code == 0, done.err
    found = item(done)
    assert (found["records"], found["warmup_records"], found["bytes"]) == (50, 10, 50 * 50)
    assert figures(done) == (60, 0, 0, 0)
    assert cluster.log("t").end_offset == 63
    for name in ("mean", "p50", "p95", "p99", "p999", "max"):
        assert 0 < found[f"latency_{name}_us"] <= found[f"latency_{name}_corrected_us"]
    for name in ("histogram_raw_us", "histogram_corrected_us"):
        assert sum(count for _, count in found[name]) == 50
    assert sum(one["records"] for one in found["intervals"]) == 50
    assert (found["errors"], found["unconfirmed"], found["configuration"]["linger.ms"]) == (0, 0, 0.0)


def test_one_record_is_in_flight_without_a_rate(cluster: FakeCluster) -> None:
    done = e2e(cluster, "--num-records", "20")
    assert done.code == 0, done.err
    assert [batch.count for batch in cluster.log("t").batches] == [1] * 20


def test_an_injected_delay_is_what_is_measured(cluster: FakeCluster) -> None:
    """The truth is measured inside the cluster, so that a busy machine cannot make the test fail: every latency is at
    least the delay of its own request; from above the median is compared, generously.
    """
    delays: list[float] = []

    async def act(_request: Any) -> None:
        began = time.monotonic()
        await asyncio.sleep(0.05)
        delays.append(time.monotonic() - began)

    cluster.intercept(ProduceRequest, act)
    done = e2e(cluster, "--num-records", "30")
    assert done.code == 0, done.err
    found, delays = item(done), sorted(delays)
    assert len(delays) == 30
    for name, truth in (("p50", delays[14]), ("p99", delays[29])):
        assert found[f"latency_{name}_us"] >= truth * 1e6
        assert found[f"latency_{name}_corrected_us"] >= truth * 1e6
    assert found["latency_p50_us"] < delays[14] * 2e6


def test_a_stall_is_in_the_corrected_latencies_and_not_in_the_raw_ones(cluster: FakeCluster) -> None:
    """At 100 records a second 200 are due during a stall of 2 s; those few that were in flight have it in both."""
    cluster.delay(ProduceRequest, 2.0, before=True, times=1, after=20)
    more = ("--num-records", "400", "--throughput", "100", "-X", "max.in.flight.requests.per.connection=1")
    done = e2e(cluster, *more)
    assert done.code == 0, done.err
    found = item(done)
    assert found["latency_max_corrected_us"] >= 2_000_000
    assert found["latency_p95_corrected_us"] >= 1_500_000
    assert found["latency_p95_us"] < 1_000_000 < found["latency_max_us"]
    assert figures(done) == (400, 0, 0, 0)


@MODES
@pytest.mark.parametrize(
    ("fault", "place"), [("lose", 1), ("repeat", 2), ("swap", 3)], ids=["lost", "repeated", "swapped"]
)
def test_a_record_that_is_not_stored_as_sent_is_found(
    cluster: FakeCluster, mode: tuple[str, ...], fault: str, place: int
) -> None:
    cluster.misplace_batch("t", 0, fault, nth=5)
    done = e2e(cluster, "--num-records", "40", "--idle-timeout", "300ms", *mode)
    assert done.code == 5, done.err
    found = figures(done)
    assert [index for index in (1, 2, 3) if found[index]] == [place]
    assert re.search(r"\d+ (lost|duplicated|reordered) of \d+ records of t", done.err)


def test_a_condition_that_is_true_is_status_8(cluster: FakeCluster) -> None:
    done = e2e(cluster, "--num-records", "5", "--fail-if", "p50>1us", "--fail-if", "lost>0")
    assert done.code == 8, done.err
    assert "--fail-if p50>1us: it is" in done.err
    assert "lost>0" not in done.err


@MODES
def test_a_stop_prints_the_result_so_far(cluster: FakeCluster, mode: tuple[str, ...]) -> None:
    """What is in flight then is waited for: it is not lost."""
    words = ("perf", "e2e", "-t", "t", "--duration", "60s", "--record-size", "50", "-o", "json", *mode)
    with start(*words, bootstrap=cluster.bootstrap, stdin=subprocess.DEVNULL) as process:
        until(lambda: cluster.log("t").end_offset >= 20)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    found = json.loads(out)["items"][0]
    assert found["records"] == found["checked"] == cluster.log("t").end_offset >= 20
    assert (found["lost"], found["duplicated"], found["reordered"], found["unconfirmed"]) == (0, 0, 0, 0)
    assert b"stopped before its end" in err


def test_records_that_failed_are_counted_by_kind_and_are_not_lost(cluster: FakeCluster) -> None:
    cluster.fail(ProduceRequest, UNSUPPORTED_FOR_MESSAGE_FORMAT, after=3)
    done = e2e(cluster, "--num-records", "20")
    found = item(done)
    assert (done.code, found["records"], found["errors"]) == (6, 19, 1)
    assert found["errors_by_kind"] == {"UNSUPPORTED_FOR_MESSAGE_FORMAT": 1}
    assert figures(done) == (19, 0, 0, 0)


def test_a_test_whose_first_records_are_refused_ends_at_once(cluster: FakeCluster) -> None:
    cluster.fail(ProduceRequest, REFUSED, times=1000)
    done = e2e(cluster, "--num-records", "1000")
    found = item(done)
    assert done.code == 4, done.err
    assert found["records"] == 0
    assert found["errors"] < 20


def test_a_member_of_a_group_receives_and_commits(cluster: FakeCluster) -> None:
    fill(cluster, {0: [0, 1, 2]})
    done = e2e(cluster, "--num-records", "20", "-g", "g", *AT_A_RATE)
    assert done.code == 0, done.err
    assert (item(done)["group"], *figures(done)) == ("g", 20, 0, 0, 0)
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g") as consumer:
        tp = TopicPartition("t", 0)
        committed = consumer.committed([tp], 20)[tp]
        assert committed is not None
        assert committed.offset == 23


@contextmanager
def other_member(cluster: FakeCluster) -> Iterator[None]:
    """A member of group ``g``, with partitions of its own."""
    cluster.add_partitions("t", 2)  # of a single one the member of the test might be the owner
    joined, over = threading.Event(), threading.Event()

    def run() -> None:
        with Consumer(**options(cluster, group_id="g")) as member:
            member.subscribe("t", on_assigned=lambda _partitions: joined.set())
            while not over.is_set():
                member.poll(0.02)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert joined.wait(120)
        yield
    finally:
        over.set()
        thread.join()


def test_a_group_with_another_member_is_refused(cluster: FakeCluster) -> None:
    """The other member would receive some of the records, which are not lost for that."""
    with other_member(cluster):
        done = e2e(cluster, "--num-records", "20", "-g", "g", "--timeout", "1s")
        assert done.code == 7, done.err
        assert "of 2 partitions of t are assigned" in done.err
        assert not cluster.seen(ProduceRequest)


def test_an_interrupt_while_the_member_joins_ends_the_test_at_once(cluster: FakeCluster) -> None:
    """The partitions that it waits for will not come, the wait is a long one, and nothing was sent."""
    words = ("perf", "e2e", "-t", "t", "--duration", "60s", "-g", "g", "--timeout", "600s", "-o", "json")
    with other_member(cluster):
        with start(*words, bootstrap=cluster.bootstrap, stdin=subprocess.DEVNULL) as process:
            until(lambda: len(cluster.group_members("g")) == 2)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, b""), err
        assert b"Traceback" not in err
        assert not cluster.seen(ProduceRequest)


def test_a_member_that_joins_during_the_test_ends_it_and_no_record_is_called_lost(
    cluster: FakeCluster,
) -> None:
    cluster.add_partitions("t", 2)

    def join(_request: Any) -> None:
        rule.remove()
        thread.start()

    def other() -> None:
        with Consumer(**options(cluster, group_id="g")) as member:
            member.subscribe("t")
            while not over.is_set():
                member.poll(0.02)

    over, thread = threading.Event(), threading.Thread(target=other)
    rule = cluster.intercept(ProduceRequest, join, after=20)
    done = e2e(cluster, "--duration", "30s", "-g", "g", "--throughput", "100")
    over.set()
    thread.join()
    assert done.code == 7, done.err
    assert "1 of 2 partitions of t are assigned" in done.err
    assert figures(done) == (None,) * 4
    assert item(done)["records"] >= 10


@pytest.mark.parametrize(
    "mode", [("--throughput", "100", "-g", "g"), AT_A_RATE, ()], ids=["group", "rate", "one"]
)
def test_records_in_partitions_that_were_added_are_not_called_lost(
    cluster: FakeCluster, mode: tuple[str, ...]
) -> None:
    """With so small batches the producer goes to another partition again and again."""
    cluster.intercept(ProduceRequest, lambda _request: cluster.add_partitions("t", 3), times=1, after=5)
    quick = ("-X", "metadata.max.age.ms=100", "-X", "batch.size=100", "--idle-timeout", "500ms")
    done = e2e(cluster, "--duration", "4s", *quick, *mode)
    assert done.code == 7, done.err
    assert "topic t has 3 partitions now, and had 1 when the test began" in done.err
    assert figures(done) == (None,) * 4


def test_a_slow_load_uses_all_partitions(cluster: FakeCluster) -> None:
    """Its batches are never full: a partition is left after as many bytes as a batch may have."""
    cluster.add_partitions("t", 3)
    done = e2e(cluster, "--num-records", "100", "-X", "batch.size=200")
    assert (done.code, *figures(done)) == (0, 100, 0, 0, 0), done.err
    assert sum(cluster.log("t", number).end_offset > 0 for number in range(3)) > 1


def test_records_of_others_do_not_prolong_the_wait_for_a_lost_one(cluster: FakeCluster) -> None:
    """They come all the time, at shorter intervals than it lasts."""
    over = threading.Event()

    def write() -> None:
        for _ in range(1_000):
            if over.wait(0.02):
                return
            fill(cluster, {0: [None]})

    def lose(_request: Any) -> None:
        rule.remove()
        cluster.misplace_batch("t", 0, "lose")
        writer.start()

    writer = threading.Thread(target=write)
    rule = cluster.intercept(ProduceRequest, lose)
    done = e2e(cluster, "--num-records", "3", "--idle-timeout", "500ms")
    still_writing = writer.is_alive()
    over.set()
    writer.join()
    assert (done.code, still_writing, *figures(done)) == (5, True, 2, 1, 0, 0)


def test_options_of_either_client_are_obeyed_and_others_refused(cluster: FakeCluster) -> None:
    words = ("-X", "linger.ms=3", "-X", "fetch.min.bytes=2", "--num-records", "5", "--dry-run")
    assert e2e(cluster, *words).code == 0
    done = e2e(cluster, "--num-records", "5", "-X", "linger.ms=3", "-X", "fetch.min.bytes=2")
    found = item(done)["configuration"]
    assert (found["linger.ms"], found["fetch.min.bytes"]) == (3.0, 2)
    for refused in ("auto.offset.reset=earliest", "session.timeout.ms=7000", "group.id=g"):
        assert e2e(cluster, "-X", refused).code == 2, refused
    assert not [one for one in cluster.requests if one.kind is ProduceRequest][5:]


def test_the_dry_run_checks_topic_and_group_on_one_connection(cluster: FakeCluster) -> None:
    counts = []
    for test in ("produce", "e2e"):
        before = len(cluster.connections)
        words = ("perf", test, "-t", "t", "--num-records", "5", "--dry-run")
        assert kcli(*words, bootstrap=cluster.bootstrap).code == 0
        counts.append(len(cluster.connections) - before)
    assert counts[0] == counts[1]
    commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(0)})
    cluster.configure_groups(operations=1 << AclOperation.DESCRIBE)
    denied = e2e(cluster, "-g", "g", "--dry-run")
    assert (denied.code, "GROUP_AUTHORIZATION_FAILED" in denied.err) == (4, True)


def test_kafkas_lines(cluster: FakeCluster) -> None:
    done = kcli("perf", "e2e", "-t", "t", "--num-records", "5", "-o", "kafka", bootstrap=cluster.bootstrap)
    assert re.fullmatch(
        r"Avg latency: \d+\.\d{4} ms\nPercentiles: 50th = \d+, 99th = \d+, 99.9th = \d+\n", done.out
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--record-size", "10"), "need 29 bytes"),
        (("--num-records", "5", "--warmup-records", "5"), "--warmup-records 5 of --num-records 5"),
        (("--fail-if", "p98>5ms"), "'p98' is not measured"),
        (("--payload-file", __file__), "there is no option --payload-file"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(
    cluster: FakeCluster, words: tuple[str, ...], text: str
) -> None:
    done = kcli("perf", "e2e", "-t", "t", *words, bootstrap=cluster.bootstrap)
    assert (done.code, done.out) == (2, "")
    assert text in done.err
    assert not cluster.requests


def test_a_topic_that_does_not_exist_is_not_created(cluster: FakeCluster) -> None:
    done = kcli("perf", "e2e", "-t", "unheard", bootstrap=cluster.bootstrap)
    assert done.code == 1
    assert "kcli topics create unheard" in done.err
