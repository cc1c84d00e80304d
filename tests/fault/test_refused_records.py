"""One bad record of a batch: it fails with the broker's reason, and the others are stored, in order (KIP-467)."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Producer
from kcli.core.errors import BrokerError, KcliError, OutcomeUnknownError
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.producer.report import Report
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import BatchIndexAndErrorMessage, ProduceRequest, ProduceResponse
from kcli.core.types import ProducerRecord
from kcli.flows.topics.lifetime import KEEPS_ALL
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.fault.mirror_command import arguments
from tests.fault.producing import PATIENCE, quick, sent_batches, values
from tests.run import kcli_as_set_up as command
from tests.unit.core.producer.rows import each_row

pa = pytest.importorskip("pyarrow")

NO_KEY = "Compacted topic cannot accept message without key in topic partition c-0"
COUNT = 12
BAD = (0, 3, 4, 11)
GOOD = [row for row in range(COUNT) if row not in BAD]
LINES = b"a:1\nno key\nb:2\nneither\n"
Send = Callable[[Producer], object]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=1, topics={"c": 1, "t": 1}) as made:
        made.configure("c", cleanup_policy="compact")
        yield made


def key(row: int) -> bytes | None:
    return None if row in BAD else b"k"


def value(row: int) -> bytes:
    return b"%d" % row


def as_text(producer: Producer) -> None:
    text = b"".join(value(row) + b"\n" if row in BAD else b"k:%d\n" % row for row in range(COUNT))
    producer.send_text("c", text, key_delimiter=b":", origin="o")


def as_rows(producer: Producer) -> None:
    rows = [(key(row), value(row), NO_HEADERS, 1_700_000_000_000 - row) for row in range(COUNT)]
    producer.send_rows("c", rows[:5], origin="o")
    for row in range(5, COUNT):
        producer.send_rows("c", rows[row : row + 1], origin="o", first_row=row)


def as_table(producer: Producer) -> None:
    table = pa.table(
        {"key": [key(row) for row in range(COUNT)], "value": [value(row) for row in range(COUNT)]}
    )
    producer.send_arrow("c", table, origin="o")


@pytest.mark.parametrize("send", [as_text, as_rows, as_table])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_only_the_records_that_the_broker_names_fail(cluster: FakeCluster, send: Send, codec: str) -> None:
    reports: list[Report] = []
    with Producer(
        bootstrap_servers=cluster.bootstrap, on_delivery=reports.append, linger_ms=50, compression_type=codec
    ) as producer:
        send(producer)
        assert producer.flush(PATIENCE)
        assert (producer.totals.confirmed, producer.totals.failed) == (len(GOOD), len(BAD))
        assert (producer.outstanding, producer.metrics().buffer_used) == (0, 0)
    assert values(cluster, "c") == [value(row) for row in GOOD]
    assert sorted(row for r in reports if r.error for _, row in each_row(r.origins)) == list(BAD)
    assert [row for r in reports if not r.error for _, row in each_row(r.origins)] == GOOD
    assert {str(r.error) for r in reports if r.error} == {f"produce to c-0: INVALID_RECORD (87): {NO_KEY}"}


@pytest.mark.parametrize(
    "options",
    [{}, {"enable_idempotence": False}, {"acks": "1"}, {"max_in_flight_requests_per_connection": 1}],
    ids=["idempotent", "not idempotent", "acks=1", "one in flight"],
)
def test_what_was_sent_behind_the_batch_stays_behind_its_rest(
    cluster: FakeCluster, options: dict[str, Any]
) -> None:
    """Batches of four are in flight together: each second one has a record without a key."""
    with Producer(
        bootstrap_servers=cluster.bootstrap, linger_ms=0, batch_size=100, retry_backoff_ms=10, **options
    ) as producer:
        first = producer.send(ProducerRecord("c", b"first", key=b"k"))
        first.result(PATIENCE)  # the leader knows the producer: several batches may be in flight
        hold = cluster.hold(ProduceRequest, at="request")
        futures = [
            producer.send(ProducerRecord("c", b"%03d" % n, key=None if n % 8 == 1 else b"k"))
            for n in range(60)
        ]
        producer.push()
        time.sleep(0.05)
        hold.release()
        assert producer.flush(PATIENCE)
        failed = [n for n, future in enumerate(futures) if future.error]
        offsets = [future.result().offset for future in futures if not future.error]
    assert failed == list(range(1, 60, 8))
    stored = values(cluster, "c")
    assert stored == [b"first", *(b"%03d" % n for n in range(60) if n % 8 != 1)]
    assert offsets == list(range(1, len(stored)))


def test_numbers_close_the_gap_without_a_new_epoch(cluster: FakeCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50) as producer:
        for _ in range(3):
            as_text(producer)
            assert producer.flush(PATIENCE)
    assert values(cluster, "c") == [value(row) for row in GOOD] * 3
    assert len(cluster.seen(InitProducerIdRequest)) == 1


def test_each_record_has_its_own_reason(cluster: FakeCluster) -> None:
    """A wrong timestamp makes the code of the batch INVALID_TIMESTAMP, that of records without a key as well."""
    late = (int(time.time()) + 86_400) * 1000
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50) as producer:
        futures = [
            producer.send(ProducerRecord("c", b"%d" % n, key=k, timestamp=stamp))
            for n, (k, stamp) in enumerate(
                [(b"k", late), (b"k", None), (None, None), (b"k", late + 1), (b"k", 5)]
            )
        ]
        assert producer.flush(PATIENCE)
    codes = [getattr(future.error, "name", None) for future in futures]
    assert codes == ["INVALID_TIMESTAMP", None, "INVALID_RECORD", "INVALID_TIMESTAMP", None]
    assert f"Timestamp {late + 1} of message with offset 3 is out of range" in str(futures[3].error)
    assert values(cluster, "c") == [b"1", b"4"]


def test_a_batch_of_bad_records_only_does_not_stop_the_next(cluster: FakeCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50) as producer:
        for k in (None, b"k", None, b"k"):
            futures = [producer.send(ProducerRecord("c", b"%d" % n, key=k)) for n in range(5)]
            assert producer.flush(PATIENCE)
            assert [future.error is None for future in futures] == [k is not None] * 5
    assert values(cluster, "c") == [b"%d" % n for n in range(5)] * 2


def test_callbacks_of_all_records_are_called_once(cluster: FakeCluster) -> None:
    done: list[tuple[int, bool]] = []
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50) as producer:
        for row in range(COUNT):
            producer.send(
                ProducerRecord("c", value(row), key=key(row)),
                lambda future, row=row: done.append((row, future.error is None)),  # type: ignore[misc]
            )
        assert producer.flush(PATIENCE)
    assert sorted(done) == [(row, row not in BAD) for row in range(COUNT)]


def test_the_rest_is_not_sent_again_when_an_earlier_attempt_may_have_stored_it(cluster: FakeCluster) -> None:
    """The topic becomes compacted after a batch was stored and before it is sent again: nothing may be stored twice."""
    cluster.configure("c", cleanup_policy="delete")
    lost = cluster.swallow(ProduceRequest, then="close")
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50, retry_backoff_ms=400) as producer:
        futures = [producer.send(ProducerRecord("c", value(row), key=key(row))) for row in range(COUNT)]
        producer.push()
        assert lost.wait(1)
        cluster.configure("c", cleanup_policy="compact")
        assert producer.flush(PATIENCE)
        after = producer.send(ProducerRecord("c", b"after", key=b"k"))
        assert after.result(PATIENCE)
    assert all(isinstance(future.error, OutcomeUnknownError) for future in futures)
    assert "refused another record" in str(futures[1].error)
    assert values(cluster, "c") == [*(value(row) for row in range(COUNT)), b"after"]


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_transaction_with_a_refused_record_is_aborted_for_that_record(cluster: FakeCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50, transactional_id="x") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        futures = [producer.send(ProducerRecord("c", value(row), key=key(row))) for row in range(COUNT)]
        with pytest.raises(KcliError, match=NO_KEY):
            producer.commit_transaction(PATIENCE)
        producer.abort_transaction(PATIENCE)
        names = [type(future.error).__name__ for future in futures]
        assert names == [
            "RecordRefusedError" if row in BAD else "TransactionAbortableError" for row in range(COUNT)
        ]
        with producer.transaction():
            producer.send(ProducerRecord("c", b"next", key=b"k"))
    assert values(cluster, "c", committed=True) == [b"next"]


# --- brokers that name no record ------------------------------------------------------------------------------------


def before_2_4(cluster: FakeCluster) -> None:
    """INVALID_TIMESTAMP of Produce v7 names no record."""
    cluster.cap_versions({ProduceRequest: 7})


def names(*found: int) -> Callable[[FakeCluster], object]:
    """A broker that is not Apache Kafka's: it names none of the records that it refuses, or some that there are not."""

    def edit(_request: object, answer: ProduceResponse) -> None:
        for part in (part for topic in answer.responses for part in topic.partition_responses):
            if part.error_code:
                part.record_errors = [BatchIndexAndErrorMessage(batch_index=at) for at in found]

    return lambda cluster: cluster.replace(ProduceRequest, edit)


@pytest.mark.parametrize("bad", [(), (0,), (7,), (99,), (20, 21, 60)])
@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("age", [before_2_4, names(), names(-1, 100)], ids=["before 2.4", "none", "others"])
def test_brokers_that_name_no_record_are_asked_until_it_is_alone(
    age: Callable[[FakeCluster], object], bad: tuple[int, ...], *, transactional: bool
) -> None:
    with FakeCluster(nodes=1, topics={"t": 1}, transaction_version=0) as cluster:
        age(cluster)
        _search(cluster, bad, transactional=transactional)


def _search(cluster: FakeCluster, bad: tuple[int, ...], *, transactional: bool) -> None:
    late = (int(time.time()) + 86_400) * 1000
    options = {"transactional_id": "x"} if transactional else {}
    with Producer(
        bootstrap_servers=cluster.bootstrap, linger_ms=50, retry_backoff_ms=5, **options
    ) as producer:
        if transactional:
            producer.init_transactions()
            producer.begin_transaction()
        futures = [
            producer.send(ProducerRecord("t", b"%d" % n, timestamp=late if n in bad else None))
            for n in range(100)
        ]
        assert producer.flush(PATIENCE)
        refused = [n for n, f in enumerate(futures) if isinstance(f.error, BrokerError)]
        if transactional and bad:
            assert refused == [bad[0]]
            producer.abort_transaction(PATIENCE)
            return
        assert refused == list(bad)
    assert values(cluster, "t") == [b"%d" % n for n in range(100) if n not in bad]


def test_brokers_before_record_errors_call_a_missing_key_corrupt(cluster: FakeCluster) -> None:
    cluster.cap_versions({ProduceRequest: 7})
    with quick(cluster, linger_ms=50, batch_size=10_000, delivery_timeout_ms=10_000) as producer:
        futures = [
            producer.send(ProducerRecord("c", b"%d" % n, key=None if n == 5 else b"k")) for n in range(9)
        ]
        assert producer.flush(PATIENCE)
    assert [n for n, future in enumerate(futures) if future.error] == [5]
    error = futures[5].error
    assert error is not None
    assert "without key" in error.do or "needs a key" in error.do
    assert values(cluster, "c") == [b"%d" % n for n in range(9) if n != 5]


def test_a_search_ends_where_nothing_is_ever_stored(cluster: FakeCluster) -> None:
    cluster.cap_versions({ProduceRequest: 7})
    late = (int(time.time()) + 86_400) * 1000
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50, retry_backoff_ms=5) as producer:
        for _ in range(2_000):
            producer.send(ProducerRecord("t", b"v", timestamp=late))
        assert producer.flush(PATIENCE)
        assert producer.totals.failed == 2_000
    assert len(sent_batches(cluster)) < 300


def test_where_nothing_is_ever_stored_no_record_is_blamed(cluster: FakeCluster) -> None:
    cluster.fail(ProduceRequest, Code.INVALID_RECORD, times=FOREVER)
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50) as producer:
        futures = [producer.send(ProducerRecord("t", b"v")) for _ in range(200)]
        assert producer.flush(PATIENCE)
    assert "records, the broker does not say which" in str(futures[-1].error)


@pytest.mark.parametrize(("lines", "code"), [(LINES, 6), (b"no key\n" * 300, 1)], ids=["some", "all"])
def test_a_record_that_old_brokers_call_corrupt_is_no_damage(
    cluster: FakeCluster, tmp_path: Path, lines: bytes, code: int
) -> None:
    before_2_4(cluster)
    (tmp_path / "in").write_bytes(lines)
    done = command("produce", "c", str(tmp_path / "in"), "-K", ":", "-b", cluster.bootstrap)
    assert (done.code, "CORRUPT_MESSAGE" in done.err) == (code, True), done.err


# --- commands -----------------------------------------------------------------------------------------------------


ROWS = (
    b'{"key":"a","value":"1"}\n{"value":"no key"}\n{"key":"b","value":"2"}\n{"key":"c","value":"late","timestamp":%d}\n'
    % ((int(time.time()) + 86_400) * 1000)
)


@pytest.mark.parametrize("more", [(), ("-z", "zstd"), ("--no-idempotent",), ("--transactional-id", "x")])
@pytest.mark.parametrize(
    ("form", "data", "codes"),
    [
        (("-K", ":"), LINES, {2: "INVALID_RECORD", 4: "INVALID_RECORD"}),
        (("-i", "ndjson"), ROWS, {2: "INVALID_RECORD", 4: "INVALID_TIMESTAMP"}),
    ],
    ids=["lines", "ndjson"],
)
def test_produce_names_the_lines_and_keeps_only_them(
    cluster: FakeCluster,
    tmp_path: Path,
    form: tuple[str, ...],
    data: bytes,
    codes: dict[int, str],
    more: tuple[str, ...],
) -> None:
    path, failed = tmp_path / "in", tmp_path / "failed"
    path.write_bytes(data)
    done = command(
        "produce",
        "c",
        str(path),
        *form,
        *more,
        "--failed",
        str(failed),
        "-b",
        cluster.bootstrap,
        "-o",
        "json",
    )
    assert done.code == 6
    report = json.loads(done.out)["items"][0]
    assert [report[name] for name in ("lines", "confirmed", "failed", "unknown")] == [4, 2, 2, 0]
    kept = [json.loads(line) for line in failed.read_bytes().splitlines()]
    assert {one["line"]: one["code"] for one in kept} == codes
    assert [one["reason"] for one in kept if one["line"] == 2] == [
        f"produce to c-0: INVALID_RECORD (87): {NO_KEY}"
    ]
    assert f"line 2 of {path} was refused: INVALID_RECORD (87): {NO_KEY}" in done.err
    assert f"line 4 of {path} was refused: {codes[4]}" in done.err
    assert values(cluster, "c", committed=True) == [b"1", b"2"]


@pytest.mark.parametrize("partitions", ["keep", "by-key"])
def test_a_mirror_names_the_record_and_keeps_its_position(
    cluster: FakeCluster, delivery: tuple[str, ...], partitions: str
) -> None:
    """Nothing of a batch is stored that has the position in front of it, or the next run would store it again."""
    with FakeCluster(1, topics={"t": 1}, cluster_id="there") as target:
        target.configure("t", message_timestamp_before_max_ms="3600000")
        with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50) as producer:
            for n in range(4):
                producer.send(ProducerRecord("t", b"%d" % n, key=b"k", timestamp=1 if n == 2 else None))
        flags = arguments(cluster, target, "--until-caught-up", "--partitions", partitions, *delivery)
        for _ in range(2):
            done = command(*flags)
            assert "t-0 of the target refused the record of t-0 at offset 2" in done.err
            assert "Timestamp 1 of message with offset" in done.err
        if partitions == "keep" or delivery:
            assert target.log("t", 0).values(committed=True) == []


@pytest.fixture
def unforeseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration of a topic is changed after the plan was made."""
    monkeypatch.setattr("kcli.flows.topics.lifetime.terms_of", lambda *_, **__: KEEPS_ALL)


@pytest.mark.usefixtures("unforeseen")
@pytest.mark.parametrize("form", ["parquet", "ndjson"])
def test_an_import_names_the_record(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50) as producer:
        for n in range(4):
            producer.send(ProducerRecord("t", b"%d" % n, timestamp=1 if n == 2 else None))
    flags = ("--runner", "inline", "--yes")
    folder = str(tmp_path / "export")
    done = command("pipeline", "export", "t", folder, "-b", cluster.bootstrap, "--format", form, *flags)
    assert done.code == 0, done.err
    with FakeCluster(1, topics={"t": 1}, cluster_id="there") as target:
        target.configure("t", message_timestamp_before_max_ms="3600000")
        done = command("pipeline", "import", folder, "-b", target.bootstrap, *flags)
        assert "t-0 of the target refused the record of t-0 at offset 2" in done.err
        assert "INVALID_TIMESTAMP (32): Timestamp 1 of message" in done.err
        assert target.log("t", 0).values(committed=True) == []


@pytest.mark.usefixtures("unforeseen")
def test_a_replay_names_the_record(cluster: FakeCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, linger_ms=50) as producer:
        for n in range(4):
            producer.send(ProducerRecord("t", b"%d" % n, key=None if n == 2 else b"k"))
    done = command(
        "pipeline", "replay", "t", "--to", "c", "--runner", "inline", "--yes", "-b", cluster.bootstrap
    )
    assert "the record of t-0 at offset 2 was refused" in done.err
    assert NO_KEY in done.err
    assert values(cluster, "c", committed=True) == []
