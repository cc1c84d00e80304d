"""``kcli perf produce`` on a cluster with faults: every record is counted, a stall is in the corrected latencies, records
that are lost, repeated or swapped are found, and a request to stop ends it in order."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kcli.core.kernels.shapes import Row
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.records.batch import split_batches
from kcli.core.records.passing import batch_of_rows
from kcli.core.types import Codec
from kcli.flows.stop import Stop
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.fault.mirror_command import until
from tests.fault.producing import PATIENCE
from tests.run import Done, environment
from tests.run import kcli_as_set_up as command
from tests.warm_kcli import KCLI

MESSAGE_TOO_LARGE = 10
TOPIC_AUTHORIZATION_FAILED = 29
UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
Item = dict[str, Any]
PLAIN = ("-X", "enable.idempotence=false")


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="c", topics={"t": 3}) as made:
        yield made


def perf(cluster: FakeCluster, *more: str, topic: str = "t") -> Done:
    return command("perf", "produce", "-b", cluster.bootstrap, "-t", topic, *more)


def item(done: Done) -> Item:
    (found,) = json.loads(done.out)["items"]
    assert isinstance(found, dict)
    return found


def values(cluster: FakeCluster) -> list[bytes]:
    return [value or b"" for partition in range(3) for value in cluster.log("t", partition).values()]


@pytest.mark.case("S4-30")
def test_the_report_has_exactly_the_records_that_are_stored(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "5k", "--record-size", "50..150", "-o", "json")
    assert done.code == 0, done.err
    found, stored = item(done), values(cluster)
    assert found["records"] == len(stored) == 5_000
    assert found["bytes"] == sum(map(len, stored))
    assert (min(map(len, stored)), max(map(len, stored))) == (50, 150)
    assert sum(one["records"] for one in found["intervals"]) == 5_000
    assert sum(count for _, count in found["histogram_raw_us"]) == 5_000
    assert sum(count for _, count in found["histogram_corrected_us"]) == 5_000
    assert (found["errors"], found["unconfirmed"], found["lost"]) == (0, 0, None)
    assert found["overhead"]["generator_records_per_second"] > 0
    assert found["configuration"]["record-size"] == "50..150"


def test_processes_send_their_shares_and_are_measured_together(cluster: FakeCluster) -> None:
    done = perf(
        cluster, "--num-records", "1001", "--processes", "2", "--warmup-records", "101", "--verify", "-o", "json"
    )  # fmt: skip
    assert done.code == 0, done.err
    found, stored = item(done), values(cluster)
    assert (found["records"], found["warmup_records"], len(stored)) == (900, 101, 1_001)
    assert (found["processes"], found["checked"], found["lost"]) == (2, 1_001, 0)
    assert sum(count for _, count in found["histogram_corrected_us"]) == 900
    producers = {value[13:16] for value in stored}
    assert producers == {b"000", b"001"}
    assert len({value[:28] for value in stored}) == 1_001


def test_records_are_sent_in_transactions_that_are_all_committed(cluster: FakeCluster) -> None:
    """Each process with an id of its own; those of the end, too."""
    done = perf(
        cluster, "--num-records", "40", "--throughput", "40", "--processes", "2", "--transactional-id", "load",
        "--transaction-duration", "100ms", "--verify", "-o", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = item(done)
    assert (found["records"], found["checked"], found["lost"]) == (40, 40, 0)
    assert found["configuration"]["transaction-duration"] == 0.1
    ended = [seen.request for seen in cluster.seen(EndTxnRequest)]
    assert {request.transactional_id for request in ended} == {"load-0", "load-1"}
    assert all(request.committed for request in ended)


def test_one_process_has_the_transactional_id_that_was_given(cluster: FakeCluster) -> None:
    done = perf(
        cluster, "--num-records", "5", "--record-size", "9", "--transactional-id", "load", "-o", "json"
    )
    assert done.code == 0, done.err
    (ended,) = cluster.seen(EndTxnRequest)
    assert (ended.request.transactional_id, ended.request.committed) == ("load", True)
    assert item(done)["configuration"]["transaction-duration"] == 3.0


def test_a_transaction_that_cannot_be_committed_ends_the_test_with_its_error(cluster: FakeCluster) -> None:
    cluster.fail(EndTxnRequest, Code.PRODUCER_FENCED, times=FOREVER)
    done = perf(cluster, "--num-records", "5", "--transactional-id", "load", "-o", "json")
    assert done.code == 7, done.err
    assert "load" in done.err


def test_a_transaction_must_be_shorter_than_coordinators_wait(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "5", "--transaction-duration", "60s")
    assert (done.code, "coordinators abort transactions after 1m" in done.err) == (2, True)
    done = perf(cluster, "--num-records", "5", "--transaction-duration", "59s")
    (ended,) = cluster.seen(EndTxnRequest)
    assert (done.code, ended.request.transactional_id[:10]) == (0, "kcli-perf-")


def test_a_stall_is_in_the_corrected_latencies_and_not_in_those_of_requests(cluster: FakeCluster) -> None:
    hold = cluster.hold(ProduceRequest)

    def stall() -> None:
        hold.wait()
        time.sleep(2.0)
        hold.release()

    stalling = Thread(target=stall)
    stalling.start()
    done = perf(
        cluster, "--num-records", "600", "--throughput", "200", "-X", "max.in.flight=1", "-o", "json"
    )  # fmt: skip
    stalling.join()
    assert done.code == 0, done.err
    found = item(done)
    assert found["records"] == 600
    assert found["latency_max_us"] >= 2_000_000  # the request that was held
    assert found["latency_p95_corrected_us"] >= 1_500_000
    assert found["latency_p95_us"] < 1_000_000


@pytest.mark.parametrize(
    ("change", "figures"),
    [
        (lambda rows: [*rows[:3], *rows[4:]], (99, 1, 0, 0)),
        (lambda rows: [*rows[:3], rows[2], *rows[3:]], (101, 0, 1, 0)),
        (lambda rows: [*rows[:3], rows[4], rows[3], *rows[5:]], (100, 0, 0, 1)),
    ],
    ids=["lost", "duplicated", "reordered"],
)
def test_a_record_that_is_not_stored_as_sent_is_found(
    cluster: FakeCluster, change: Callable[[list[Row]], list[Row]], figures: tuple[int, ...]
) -> None:
    cluster.intercept(ProduceRequest, lambda request: edit(request, change), times=1)
    done = perf(cluster, "--num-records", "100", "--verify", *PLAIN, "-o", "json")
    assert done.code == 5, done.err
    found = item(done)
    assert tuple(found[key] for key in ("checked", "lost", "duplicated", "reordered")) == figures
    assert (found["records"], found["errors"]) == (100, 0)


def edit(request: Any, change: Callable[[list[Row]], list[Row]]) -> None:
    """Stores other records than were sent."""
    for topic in request.topic_data:
        for part in topic.partition_data:
            (batch,) = split_batches(part.records)
            rows = [(r.key, r.value, b"\0", r.timestamp) for r in batch.records()]
            part.records = memoryview(b"".join(batch_of_rows(change(rows), Codec.NONE).wire()))


def test_records_of_other_runs_are_not_mistaken_for_its_own(cluster: FakeCluster) -> None:
    for _ in range(2):
        done = perf(cluster, "--num-records", "300", "--verify", "-o", "json")
        assert done.code == 0, done.err
        assert item(done)["checked"] == 300


def test_records_that_failed_are_not_expected_to_be_there(cluster: FakeCluster) -> None:
    cluster.fail(ProduceRequest, UNSUPPORTED_FOR_MESSAGE_FORMAT, after=1)
    done = perf(
        cluster, "--num-records", "400", "--throughput", "400", "--verify", *PLAIN, "-o", "json"
    )  # fmt: skip
    found = item(done)
    assert done.code == 6, done.err
    assert found["errors_by_kind"] == {"UNSUPPORTED_FOR_MESSAGE_FORMAT": found["errors"]}
    assert found["errors"] + found["records"] == 400
    assert (found["checked"], found["lost"]) == (found["records"], 0)
    failed = f"{found['errors']:,}"
    assert f"{failed} of 400 records of t failed: {failed} UNSUPPORTED_FOR_MESSAGE_FORMAT" in done.err


def test_a_load_that_is_refused_from_the_beginning_ends_at_once(cluster: FakeCluster) -> None:
    cluster.fail(ProduceRequest, TOPIC_AUTHORIZATION_FAILED, times=1_000)
    done = perf(cluster, "--duration", "60", "--throughput", "100", "-o", "json")
    assert done.code == 4, done.err
    found = item(done)
    assert found["records"] == 0
    assert set(found["errors_by_kind"]) == {"TOPIC_AUTHORIZATION_FAILED"}
    assert values(cluster) == []


def test_a_topic_that_is_deleted_meanwhile_ends_the_load(cluster: FakeCluster) -> None:
    thread, found = in_thread(lambda: perf(cluster, "--duration", "600", "--throughput", "100", "-o", "json"))
    until(lambda: len(values(cluster)) >= 20)
    stored = len(values(cluster))
    cluster.delete_topic("t")
    thread.join(PATIENCE)
    (done,) = found
    assert done.code == 6, done.err
    assert item(done)["records"] >= stored
    assert item(done)["errors"] > 0


def test_a_topic_that_does_not_exist_is_not_created(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "1", topic="tt")
    assert done.code == 1
    assert "did you mean t? `kcli topics create tt --partitions N` creates it" in done.err


def test_a_dry_run_shows_the_plan_and_sends_nothing(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "5k", "--throughput", "10MB/s", "--processes", "3", "--dry-run")
    assert done.code == 0
    assert "Load t (3 partitions) by 3 processes" in done.out
    assert "5,000 records of 1,024 bytes, at most 10.0 MB/s; acks=all, idempotent" in done.out
    assert "the records stay in the topic" in done.out
    assert values(cluster) == []
    assert cluster.seen(ProduceRequest) == []


def test_a_file_is_sent_line_by_line(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"one\ntwo\nthree\n")
    done = perf(cluster, "--num-records", "7", "--payload-file", str(file), "-o", "json")
    assert done.code == 0, done.err
    assert sorted(values(cluster)) == sorted([b"one", b"two", b"three", b"one", b"two", b"three", b"one"])
    assert item(done)["bytes"] == 25
    assert f"7 records from {file}, as fast as possible" in done.err
    assert item(done)["overhead"]["generator_records_per_second"] is None  # nothing is made


def test_a_duration_is_that_of_all_processes_however_late_the_first_record_of_one_is_due(
    cluster: FakeCluster,
) -> None:
    """At one record a second the first records of four processes are due at 0, 1, 2 and 3 s."""
    done = perf(cluster, "--duration", "1s", "--throughput", "1", "--processes", "4", "-o", "json")
    assert (done.code, item(done)["records"]) == (0, 1), done.err


def test_a_throughput_in_bytes_is_one_of_records_of_the_mean_size(cluster: FakeCluster) -> None:
    done = perf(
        cluster, "--num-records", "200", "--record-size", "1kB", "--throughput", "200kB/s", "-o", "json"
    )  # fmt: skip
    assert done.code == 0, done.err
    assert item(done)["seconds"] >= 0.99
    assert item(done)["overhead"]["late_p99_us"] is not None


def test_a_condition_that_is_true_is_status_8(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "100", "--fail-if", "rate<1G", "--fail-if", "errors>0")
    assert done.code == 8
    assert "--fail-if rate<1G" in done.err
    assert "errors>0" not in done.err


def test_kafkas_line(cluster: FakeCluster) -> None:
    done = perf(cluster, "--num-records", "100", "-o", "kafka")
    assert done.code == 0, done.err
    assert done.out.startswith("100 records sent, ")
    assert "ms 99.9th." in done.out


class Stops:
    """The requests to stop of a command in a thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[Stop] = []
        monkeypatch.setattr("kcli.commands.perf.measuring.Stop", self._new)

    def _new(self, **_more: Any) -> Stop:
        self.made.append(Stop())
        return self.made[-1]

    def request(self) -> None:
        until(lambda: self.made)
        self.made[-1].request()


def in_thread(call: Callable[[], Done]) -> tuple[Thread, list[Done]]:
    found: list[Done] = []
    thread = Thread(target=lambda: found.append(call()))
    thread.start()
    return thread, found


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_request_to_stop_prints_the_result_so_far(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    stops = Stops(monkeypatch)
    thread, found = in_thread(
        lambda: perf(
            cluster, "--duration", "60", "--throughput", "100", "--processes", processes, "-o", "json"
        )
    )
    until(lambda: len(values(cluster)) >= 20)
    stops.request()
    thread.join(PATIENCE)
    (done,) = found
    assert done.code == 130, done.err
    assert item(done)["records"] == len(values(cluster)) >= 20
    assert item(done)["unconfirmed"] == 0
    assert "stopped before its end" in done.err


def test_a_request_to_stop_does_not_wait_for_brokers_that_are_silent(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops = Stops(monkeypatch)
    hold = cluster.hold(ProduceRequest, times=1_000)
    thread, found = in_thread(
        lambda: perf(cluster, "--duration", "60", "-X", "buffer.memory=100000", "-o", "json")
    )
    hold.wait()
    stops.request()
    thread.join(PATIENCE)
    (done,) = found
    assert done.code == 130, done.err
    assert item(done)["records"] == 0
    assert item(done)["unconfirmed"] > 0
    hold.release()


def test_a_request_to_stop_while_reading_back_leaves_the_records_unchecked(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops = Stops(monkeypatch)
    hold = cluster.hold(FetchRequest, times=1_000)
    thread, found = in_thread(lambda: perf(cluster, "--num-records", "50", "--verify", "-o", "json"))
    hold.wait()
    stops.request()
    thread.join(PATIENCE)
    (done,) = found
    assert done.code == 130, done.err
    assert (item(done)["records"], item(done)["checked"]) == (50, None)
    assert "not all records were read back" in done.err
    hold.release()


def test_figures_are_printed_although_reading_back_fails(cluster: FakeCluster) -> None:
    """The permission to read is taken away while records are sent."""
    cluster.intercept(
        ProduceRequest,
        lambda _request: cluster.fail(ListOffsetsRequest, TOPIC_AUTHORIZATION_FAILED, times=1_000),
        times=1,
    )
    done = perf(cluster, "--num-records", "50", "--verify", "-o", "json", *PLAIN)
    assert done.code == 4, done.err
    assert (item(done)["records"], item(done)["checked"]) == (50, None)
    assert "not all records were read back, because of an error" in done.err


def test_partitions_that_are_silent_end_the_reading_back(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.flows.perf.read_back._SILENCE", 0.5)
    hold = cluster.hold(FetchRequest, times=1_000)
    done = perf(cluster, "--num-records", "50", "--verify", "-o", "json")
    hold.release()
    assert done.code == 3, done.err
    assert (item(done)["records"], item(done)["checked"]) == (50, None)
    assert re.search(r"no record of t-\d.* came for 0.5 s", done.err)
    type_remedy("`kcli perf consume -t TOPIC` judges the topic later", done.err, cluster.bootstrap, TOPIC="t")


def test_progress_has_rate_and_latency(cluster: FakeCluster) -> None:
    done = perf(
        cluster, "--num-records", "300", "--throughput", "200", "--reporting-interval", "500ms", "-o", "json"
    )  # fmt: skip
    lines = [line for line in done.err.splitlines() if line.startswith("at ")]
    assert len(lines) >= 2
    assert all("records/s" in line and "p99" in line for line in lines)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "missing --num-records or --duration"),
        (("--num-records", "1", "--record-size", "0"), "at least one byte"),
        (("--num-records", "1", "--record-size", "2MB"), "max.request.size"),
        (("--num-records", "1", "--record-size", "9..3"), "ends before it starts"),
        (("--num-records", "1", "--throughput", "0"), "more than 0"),
        (("--num-records", "1", "--throughput", "fast"), "is not a throughput"),
        (("--num-records", "5", "--warmup-records", "5"), "no record would be measured"),
        (("--num-records", "1", "--processes", "2"), "each of them sends one"),
        (("--num-records", "1", "--verify", "--record-size", "28"), "need 29 bytes"),
        (("--num-records", "1", "--verify", "--payload-file", __file__), "a file is sent as it is"),
        (("--num-records", "1", "--verify", "-X", "acks=0"), "no record is confirmed"),
        (("--num-records", "1", "--record-size", "9", "--payload-file", __file__), "--record-size with"),
        (("--num-records", "1", "--compressible", "0.5", "--payload-file", __file__), "--compressible with"),
        (("--num-records", "1", "--payload-delimiter", ";"), "--payload-delimiter without"),
        (("--num-records", "1", "--compressible", "1.5"), "range"),
        (("--num-records", "1", "--fail-if", "lost>0"), "never be judged"),
        (("--num-records", "1", "--fail-if", "p98>5ms"), "did you mean"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(
    cluster: FakeCluster, flags: tuple[str, ...], text: str
) -> None:
    done = perf(cluster, *flags)
    assert (done.code, text in done.err) == (2, True), done.err
    assert cluster.seen(ProduceRequest) == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_signal_to_the_group_ends_all_processes_and_prints_the_result(
    cluster: FakeCluster, processes: str, number: int, code: int
) -> None:
    """It reaches every process: so do Ctrl-C, a terminal that is closed, ``timeout`` and systemd."""
    flags = ("--duration", "60", "--throughput", "100", "--processes", processes, "-o", "json")
    with subprocess.Popen(
        [*KCLI, "perf", "produce", "-t", "t", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(cluster.bootstrap),
        start_new_session=True,
    ) as process:
        until(lambda: len(values(cluster)) >= 20)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=PATIENCE)
    done = Done((), process.returncode, out, err)
    assert done.code == code, done.err
    assert item(done)["records"] == len(values(cluster)) >= 20
    assert "Traceback" not in done.err
