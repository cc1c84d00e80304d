"""Times out of order, and old ones: what ``consume``, ``groups rewind`` and ``produce`` say, and ``--exact-times``."""

import json
import re
import time
from collections.abc import Iterator

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import Record, TopicPartition
from kcli.flows.time_limits import TimeLimit, look
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import Done, kcli

DAY = 86_400_000
DAY0 = 1_790_000_000_000 // DAY * DAY
FUTURE = DAY0 + 9000 * DAY
RANGE = ("--since", str(DAY0 + DAY), "--until", str(DAY0 + 2 * DAY))


def put(cluster: FakeCluster, times: list[int], partition: int = 0, size: int = 1) -> None:
    """A batch with a record for each time; values are offsets."""
    end = cluster.log("t", partition).end_offset
    rows = [
        Record("t", partition, end + n, time, 0, None, b"%0*d" % (size, end + n), ())
        for n, time in enumerate(times)
    ]
    cluster.append("t", partition, bytes(batch_of(rows).raw))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Two records of a day, one of a clock that is ahead, three of the next day, and one of the day after."""
    with FakeCluster(1, topics={"t": 2}) as found:
        put(found, [DAY0, DAY0 + 1])
        put(found, [FUTURE, *(DAY0 + DAY + n for n in range(3)), DAY0 + 2 * DAY])
        put(found, [DAY0 + DAY + n for n in range(2)], 1)
        yield found


def consume(cluster: FakeCluster, *words: str) -> Done:
    return kcli("consume", "t", *words, bootstrap=cluster.bootstrap)


def test_records_that_a_range_misses_are_counted(cluster: FakeCluster) -> None:
    for more in (("-e",), (), ("--dry-run",)):
        done = consume(cluster, *RANGE, *more)
        assert "3 of the 5 records that follow are older and left out" in done.err
        assert "(3 in partition 0 from offset 2 on)" in done.err
        assert "the record of t-0 at offset 2 has a time in the future, 2051" in done.err
        assert done.code == 0


def test_records_that_a_range_has_too_many_are_counted(cluster: FakeCluster) -> None:
    put(cluster, [DAY0 + DAY, DAY0, DAY0 + 1], 1)
    done = consume(cluster, "--since", str(DAY0 + DAY), "-e", "-p", "1")
    assert "where the range begins: 2 of the 5 records that follow are older and read as well" in done.err
    assert done.out.split() == ["0", "1", "2", "3", "4"]
    exact = consume(cluster, "--since", str(DAY0 + DAY), "-e", "-p", "1", "--exact-times")
    assert exact.out.split() == ["0", "1", "2"]


def test_a_dry_run_has_the_warning_in_its_document(cluster: FakeCluster) -> None:
    done = consume(cluster, *RANGE, "--dry-run", "-o", "json")
    (warning,) = json.loads(done.out)["warnings"]
    assert "3 of the 5 records" in warning


@pytest.mark.parametrize("more", [("-e",), ()])
def test_exact_times_finds_every_record_of_the_range_and_ends(
    cluster: FakeCluster, more: tuple[str, ...]
) -> None:
    done = consume(cluster, *RANGE, "--exact-times", *more, "-f", "%p/%o ")
    assert sorted(done.out.split()) == ["0/3", "0/4", "0/5", "1/0", "1/1"]
    assert (done.code, "warning" in done.err) == (0, False)
    plan = consume(cluster, *RANGE, "--exact-times", "--dry-run")
    assert plan.out.splitlines() == ["t-0: from 2 to 7", "t-1: from 0 to 2"]


def test_exact_times_combine_with_filters_and_a_limit(cluster: FakeCluster) -> None:
    done = consume(cluster, *RANGE, "--exact-times", "-p", "0", "--grep", "v:[45]", "-n", "1")
    assert done.out.split() == ["4"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--exact-times",), "--exact-times without a time"),
        (("--offset", "2:5", "--exact-times"), "--exact-times without a time"),
        ((*RANGE, "--exact-times", "-g", "g"), "--group and --exact-times together"),
    ],
)
def test_exact_times_that_mean_nothing_are_refused(words: tuple[str, ...], why: str) -> None:
    done = kcli("consume", "t", *words, bootstrap="127.0.0.1:1")
    assert done.code == 2
    assert why in done.err


def test_a_rewind_to_a_time_says_how_many_older_records_are_read_again(cluster: FakeCluster) -> None:
    done = kcli("groups", "create", "g", "-t", "t", "--from", "latest", "--yes", bootstrap=cluster.bootstrap)
    assert done.code == 0, done.err
    words = ("groups", "rewind", "g", "--topic", "t", "--to", f"@{DAY0 + DAY + 2}")
    done = kcli(*words, "--dry-run", "-o", "json", bootstrap=cluster.bootstrap)
    assert done.code == 0, done.err
    notes = {item["partition"]: item["note"] for item in done.items}
    assert notes[0].startswith(
        "times are not in order: 2 of the 5 records that follow are older; the record of t-0"
    )
    assert "not in order" not in (notes[1] or "")


def test_of_a_long_log_only_a_stretch_is_looked_at_and_the_count_says_so(cluster: FakeCluster) -> None:
    for _ in range(8):
        put(cluster, [DAY0 + DAY] * 2, size=300_000)
    done = consume(cluster, *RANGE, "--dry-run")
    assert re.search(
        r"at least [3-9] of the \d+ records that follow \(1\d further offsets were not looked at\)", done.err
    )
    asked = [seen.request for seen in cluster.seen(FetchRequest)]
    assert 0 < len(asked) <= 6


def test_a_partition_that_cannot_be_read_is_reported_beside_the_others(cluster: FakeCluster) -> None:
    ok, missing = TopicPartition("t", 0), TopicPartition("t", 9)
    limits = [TimeLimit(ok, DAY0 + 2 * DAY, 2, 7, end=True), TimeLimit(missing, 1, 0, 5)]
    with Admin(ClientOptions(bootstrap_servers=cluster.bootstrap)) as admin:
        admin.connect()
        one, two = look(admin.cluster, limits, 2.0, committed_only=True)
    assert (one.records, one.seen, one.unseen) == (3, 5, 0)
    assert (two.records, two.seen, two.unseen) == (0, 0, 5)


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_produce_warns_of_records_that_retention_deletes_at_once(
    cluster: FakeCluster, more: tuple[str, ...]
) -> None:
    now = int(time.time() * 1000)
    times = [now - 30 * DAY] * 3 + [now - DAY, now, None, -1]
    lines = "".join(
        json.dumps({"value": "v"} | ({} if at is None else {"timestamp": at})) + "\n" for at in times
    )

    def produce() -> Done:
        return kcli("produce", "t", "-i", "ndjson", *more, stdin=lines.encode(), bootstrap=cluster.bootstrap)

    done = produce()
    assert (
        "t: of 5 records with a time at least 3 are older than its retention.ms of 7d, the oldest one is"
        in done.err
    )
    assert done.code == 0
    for key, value in (("retention_ms", "-1"), ("message_timestamp_type", "LogAppendTime")):
        cluster.configure("t", retention_ms=str(7 * DAY), message_timestamp_type="CreateTime")
        cluster.configure("t", **{key: value})
        assert "retention" not in produce().err
