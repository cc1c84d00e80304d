"""``kcli pipeline verify`` between two fake clusters: equal is equal, a difference is found, named and repaired."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.producer.producer import Producer
from kcli.core.types import ProducerRecord, Record, TopicPartition
from kcli.pipeline.kernels import compare as kernel
from tests.fake.cluster import FakeCluster
from tests.run import Done
from tests.run import kcli_as_set_up as command

Rows = list[tuple[bytes | None, bytes | None]]


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="source", topics={"t": 2}) as made:
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="target", topics={"t": 2}) as made:
        yield made


def fill(cluster: FakeCluster, rows: Rows, partition: int = 0, topic: str = "t", **values: Any) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        for key, value in rows:
            record = ProducerRecord(topic, value, key, partition=partition, timestamp=1_000)
            producer.send(record._replace(**values))


def records(cluster: FakeCluster, partition: int = 0) -> list[Record]:
    with Consumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        tp = TopicPartition("t", partition)
        end = consumer.list_offsets({tp: -1}, 5)[tp].offset
        found: list[Record] = []
        consumer.assign([tp])
        while len(found) < end:
            found += [
                r for one in consumer.poll(1) for r in one.batch.records() if one.first <= r.offset < one.stop
            ]
        return found


def verify(source: FakeCluster, target: FakeCluster, *more: str, runner: str = "inline") -> tuple[Done, Any]:
    sides = ["--from", source.bootstrap, "--to", target.bootstrap]
    topics = [] if "-t" in more else ["-t", "t"]
    done = command("pipeline", "verify", *sides, *topics, "--runner", runner, "-o", "json", *more)
    return done, json.loads(done.out) if done.out else None


@pytest.mark.parametrize("choice", [["-t", "x*"], ["-t", "^x"], ["-t", "*", "--exclude", "t*"]])
@pytest.mark.parametrize("level", ["offsets", "digest", "records"])
def test_nothing_is_not_equal_to_nothing(
    source: FakeCluster, target: FakeCluster, choice: list[str], level: str
) -> None:
    done, _ = verify(source, target, *choice, "--level", level)
    assert (done.code, "no topic is selected" in done.err) == (1, True), done


def rows(count: int, start: int = 0) -> Rows:
    return [(b"k%d" % (n % 7), b"v%d" % n) for n in range(start, count)]


@pytest.mark.parametrize(
    ("level", "runner"),
    [("offsets", "inline"), ("digest", "inline"), ("records", "inline"), ("digest", "processes")],
)
def test_equal_topics(source: FakeCluster, target: FakeCluster, level: str, runner: str) -> None:
    for cluster in (source, target):
        fill(cluster, rows(30))
        fill(cluster, [(None, None), (b"", b""), (None, b"")], 1)
    done, report = verify(source, target, "--level", level, runner=runner)
    assert done.code == 0, done.err
    read = level != "offsets"
    assert report["items"] == [
        {
            "item": "partition",
            "topic": "t",
            "partition": n,
            "target_topic": "t",
            "target_partition": n,
            "equal": True,
            "compared_records": count if read else 0,
            "first_difference": None,
        }
        for n, count in ((0, 30), (1, 3))
    ]
    assert {name: report[name] for name in ("kind", "api", "cluster", "command", "runner", "warnings")} == {
        "kind": "PipelineReport",
        "api": "kcli/v1",
        "cluster": "source",
        "command": "verify",
        "runner": runner if read else "inline",
        "warnings": [],
    }
    assert report["totals"]["records"] == (33 if read else 0)
    assert report["totals"]["task_retries"] == 0


DIFFERENCES: dict[str, tuple[Rows, int | None, str]] = {
    "another value": ([*rows(9), (b"k2", b"other"), *rows(20, 10)], 9, "different value"),
    "another key": ([*rows(9), (b"other", b"v9"), *rows(20, 10)], 9, "different key"),
    "null and empty": ([*rows(9), (None, b"v9"), *rows(20, 10)], 9, "different key"),
    "one is missing": ([*rows(9), *rows(20, 10)], 9, "the target has no record for it"),
    "the end is missing": (rows(15), 15, "the target has no record for it"),
    "all is missing": ([], 0, "the target has no record for it"),
    "one too many": (rows(21), None, "the target has a record too many"),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_first_difference_is_named(source: FakeCluster, target: FakeCluster, name: str) -> None:
    theirs, offset, why = DIFFERENCES[name]
    fill(source, rows(20))
    fill(target, theirs)
    done, report = verify(source, target, "--level", "records")
    assert done.code == 8, done.err
    first = report["items"][0]["first_difference"]
    assert (first["offset"], first["why"]) == (offset, why)
    assert [item["equal"] for item in report["items"]] == [False, True]
    assert why in done.err


def test_the_records_that_differ_are_named_with_their_keys_and_not_what_they_shift(
    source: FakeCluster, target: FakeCluster
) -> None:
    ours: Rows = [(b"o%d" % n, b"v%d" % n) for n in range(200)]
    theirs = [
        *ours[:5],
        *ours[6:40],
        (b"o40", b"other"),
        *ours[41:80],
        (b"\xff", b"new"),
        *ours[80:150],
        *ours[151:199],
    ]
    fill(source, ours)
    fill(target, theirs)
    done, report = verify(source, target, "--level", "records")
    assert done.code == 8
    item = report["items"][0]
    missing = "the target has no record for it"
    assert item["differences"] == [
        {"offset": 5, "why": missing, "key": "o5"},
        {"offset": 40, "why": "different value", "key": "o40"},
        {"offset": None, "why": "the target has a record too many", "target_offset": 79, "key": "/w==",
         "key_encoding": "base64"},
        {"offset": 150, "why": missing, "key": "o150"},
        {"offset": 199, "why": missing, "key": "o199"},
    ]  # fmt: skip
    assert (item["first_difference"], item["different_records"]) == (item["differences"][0], 5)
    assert (
        "offset 5, key o5: the target has no record for it; offset 40, key o40: different value; offset 79 of the "
        "target, key /w==: the target has a record too many; offset 150, key o150"
    ) in done.err


def test_ten_differences_are_named_and_the_others_counted(source: FakeCluster, target: FakeCluster) -> None:
    fill(source, rows(40))
    fill(target, [(b"k%d" % (n % 7), b"w%d" % n) for n in range(40)])
    done, report = verify(source, target, "--level", "records")
    item = report["items"][0]
    assert [one["offset"] for one in item["differences"]] == list(range(10))
    assert item["different_records"] == 40
    assert "; and 30 more" in done.err


@pytest.mark.parametrize(
    ("level", "why"),
    [
        ("offsets", "the source has 20 offsets, the target 19"),
        ("digest", "the target has 19 records where the source has 20, within offsets 0 to 19 of the source"),
    ],
)
def test_what_the_lower_levels_see(source: FakeCluster, target: FakeCluster, level: str, why: str) -> None:
    fill(source, rows(20))
    fill(target, rows(19))
    done, report = verify(source, target, "--level", level)
    assert done.code == 8
    assert report["items"][0]["first_difference"]["why"] == why
    assert "differ at offset" not in done.err
    assert f"--level {'digest compares' if level == 'offsets' else 'records names'} the record" in done.err


def test_topics_and_partitions_that_one_side_lacks(source: FakeCluster) -> None:
    with FakeCluster(1, cluster_id="target", topics={"t": 3}) as target:
        done, report = verify(source, target)
        assert done.code == 8
        assert [item["equal"] for item in report["items"]] == [True, True, False]
        assert report["items"][2]["first_difference"]["why"] == "the source has no partition 2"
        done, report = verify(target, source)
        assert report["items"][2]["first_difference"]["why"] == "the target has no partition 2"
    with FakeCluster(1, cluster_id="target", topics={"other": 1}) as target:
        done, report = verify(source, target)
        assert done.code == 8
        assert {item["first_difference"]["why"] for item in report["items"]} == {"the target has no topic t"}


def test_records_of_a_time(source: FakeCluster, target: FakeCluster) -> None:
    fill(source, [(b"old", b"1")], timestamp=1_700_000_000_000)
    for cluster in (source, target):
        fill(cluster, rows(5), timestamp=1_700_000_100_000)
    assert verify(source, target)[0].code == 8
    assert verify(source, target, "--since", "1700000050000")[0].code == 0


COMPACTED = [(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"c", None), (b"d", b"1")]


@pytest.mark.parametrize("keys_at_once", [1, 2, 1_000])
def test_compaction_that_ran_on_one_side_only_is_no_difference(
    source: FakeCluster, target: FakeCluster, keys_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(source, COMPACTED)
    fill(target, [(b"b", b"1"), (b"a", b"2"), (b"d", b"1")])
    monkeypatch.setattr(kernel.CompareTask, "buckets", lambda *_: max(1, 6 // keys_at_once))
    done, report = verify(source, target, "--compacted")
    assert done.code == 0, done.err
    assert report["items"][0]["compared_records"] == 3


COMPACTED_DIFFERENCES: dict[str, tuple[Rows, int | None, str]] = {
    "older": ([(b"b", b"1"), (b"a", b"1"), (b"d", b"1")], 2, "the target has another last record of its key"),
    "missing": ([(b"b", b"1"), (b"a", b"2")], 5, "the target has no record of its key"),
    "deleted": (
        [(b"b", b"1"), (b"a", b"2"), (b"d", b"1"), (b"b", None)],
        1,
        "the target has no record of its key",
    ),
    "not deleted": (
        [(b"c", b"1"), (b"b", b"1"), (b"a", b"2"), (b"d", b"1")],
        4,
        "the target still has a key",
    ),
    "unknown": ([(b"x", b"1"), (b"b", b"1"), (b"a", b"2"), (b"d", b"1")], None, "the target has a key that"),
}


@pytest.mark.parametrize("name", COMPACTED_DIFFERENCES)
def test_keys_that_differ_are_repaired(source: FakeCluster, target: FakeCluster, name: str) -> None:
    theirs, offset, why = COMPACTED_DIFFERENCES[name]
    fill(source, COMPACTED)
    fill(target, theirs)
    done, report = verify(source, target, "--compacted")
    assert done.code == 8
    first = report["items"][0]["first_difference"]
    assert first["offset"] == offset
    assert first["why"].startswith(why)
    done, report = verify(source, target, "--compacted", "--repair", "--yes")
    assert done.code == 0, done.err
    assert report["items"][0]["repaired_records"] == 1
    last = {record.key: record.value for record in records(target) if record.value is not None}
    gone = {record.key for record in records(target) if record.value is None}
    assert {k: v for k, v in last.items() if k not in gone or k == b"b"} == {
        b"a": b"2",
        b"b": b"1",
        b"d": b"1",
    }


def test_a_missing_end_is_repaired_exactly(source: FakeCluster, target: FakeCluster) -> None:
    full = [*rows(20), (None, None), (b"", b"")]
    fill(source, full, headers=(("h", b"1"), ("h", None), ("é", b"")))
    fill(target, full[:12], headers=(("h", b"1"), ("h", None), ("é", b"")))
    done, report = verify(source, target, "--repair", "--yes")
    assert done.code == 0, done.err
    assert report["items"][0]["repaired_records"] == 10
    without = [record._replace(leader_epoch=0) for record in records(target)]
    assert without == [record._replace(leader_epoch=0) for record in records(source)]
    done, report = verify(source, target, "--repair", "--yes")
    assert (done.code, "repaired_records" in report["items"][0]) == (0, False)


def test_a_difference_in_the_middle_is_not_repaired(source: FakeCluster, target: FakeCluster) -> None:
    fill(source, rows(20))
    fill(target, [*rows(9), *rows(20, 10)])
    done, report = verify(source, target, "--repair", "--yes")
    assert done.code == 7, done.err
    assert "cannot be repaired by adding records" in report["items"][0]["error"]
    assert "delete topic t on the target" in done.err
    assert len(records(target)) == 19


def test_nothing_is_written_without_a_confirmation(source: FakeCluster, target: FakeCluster) -> None:
    fill(source, rows(20))
    done, _ = verify(source, target, "--repair")
    assert done.code == 2
    assert "confirmation required" in done.err
    assert "t-0 → t-0: from source offset 0 on" in done.err
    assert verify(source, target, "--repair", "--dry-run")[0].code == 8
    with Admin(bootstrap_servers=target.bootstrap) as admin:
        assert admin.list_topics()
    assert records(target) == []


@pytest.mark.case("K5")
def test_a_range_that_retention_removes_meanwhile(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(source, rows(20))
    fill(target, rows(20))
    whole = kernel.run

    def late(settings: Any, task: Any, context: Any) -> Any:
        with Admin(bootstrap_servers=source.bootstrap) as admin:
            admin.delete_records({TopicPartition("t", 0): 5})
        return whole(settings, task, context)

    monkeypatch.setattr(kernel, "run", late)
    done, report = verify(source, target)
    assert done.code == 5, done.err
    assert "out of range" in report["items"][0]["error"]
    assert [item.get("equal") for item in report["items"]] == [None, True]


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--level", "offsets", "--repair"), "--repair with --level offsets"),
        (("--level", "offsets", "--compacted"), "--compacted with --level offsets"),
        (("--master", "spark://h:1"), "--master with --runner inline"),
        (("--spark-conf", "a=b"), "--spark-conf with --runner inline"),
        (("--local", "2"), "--local with --runner inline"),
        (("--since", "1h", "--until", "2h"), "--until is before --since"),
        (("--since", "+1h"), "--since is in the future"),
        (("-t", "nope"), "topic nope does not exist"),
        (("--map-topic", "x=y"), "--map-topic x=y renames no topic"),
    ],
)
def test_what_makes_no_sense_is_refused(
    source: FakeCluster, target: FakeCluster, flags: tuple[str, ...], text: str
) -> None:
    done, report = verify(source, target, *flags)
    assert done.code in (1, 2)
    assert text in done.err
    assert report is None


def test_a_topic_is_not_compared_with_itself(source: FakeCluster) -> None:
    done, report = verify(source, source)
    assert (done.code, report) == (2, None)
    assert "topic t would be compared with itself" in done.err


def test_a_table_says_where_and_what_differs(source: FakeCluster, target: FakeCluster) -> None:
    fill(source, rows(3))
    sides = ("--from", source.bootstrap, "--to", target.bootstrap)
    done = command("pipeline", "verify", *sides, "-t", "t", "--runner", "inline", "-o", "table")
    assert done.code == 8
    assert "the target has no record for offset 0 of the source" in done.out
    assert "compared 0 records, in" in done.err
