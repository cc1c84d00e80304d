"""``kcli query --follow``: windows that close, rows as they come, what ends it, and the account. On the fake cluster."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any

import pytest

from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import KCLI, Done, environment, kcli

START = 1_700_000_040_000
"""The first of a minute, in ms."""
WINDOWS = "select tumble(timestamp, '1 minute') w, key_text k, count(*) n from source group by all order by k"
W = [
    "2023-11-14T22:14:00.000Z",
    "2023-11-14T22:15:00.000Z",
    "2023-11-14T22:16:00.000Z",
    "2023-11-14T22:17:00.000Z",
]
AT_ONCE = ("--follow", "--idle-timeout", "1s", "-o", "json")


def put(
    cluster: FakeCluster, topic: str, partition: int, first: int, *records: tuple[float | None, str]
) -> None:
    """Records of (second, key), from offset ``first`` on."""
    rows = [
        Record(
            topic,
            partition,
            first + n,
            -1 if at is None else START + round(at * 1000),
            0,
            key.encode(),
            b"{}",
            (),
        )
        for n, (at, key) in enumerate(records)
    ]
    cluster.append(topic, partition, bytes(batch_of(rows).raw))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"orders": 2, "other": 1, "select": 1}) as made:
        put(made, "orders", 0, 0, (0, "a"), (10, "b"), (59.999, "a"), (60, "a"), (125, "c"))
        put(made, "orders", 1, 0, (5, "a"), (70, "b"), (130, "c"))
        yield made


def follow(cluster: FakeCluster, sql: str, *words: str, topics: Sequence[str] = ("orders",)) -> Done:
    return kcli("query", *topics, sql, *words, bootstrap=cluster.bootstrap)


def document(done: Done, code: int = 0) -> Any:
    assert done.code == code, done.err
    return json.loads(done.out)


def rows(found: Any) -> list[tuple[Any, ...]]:
    return [tuple(item.values()) for item in found["items"]]


# --- windows ----------------------------------------------------------------------------------------------


def test_windows_that_are_complete_are_printed_and_the_others_named(cluster: FakeCluster) -> None:
    done = follow(cluster, WINDOWS, *AT_ONCE)
    found = document(done)
    assert rows(found) == [(W[0], "a", 3), (W[0], "b", 1), (W[1], "a", 1), (W[1], "b", 1)]
    assert found["open_windows"] == [{"window_start": W[2], "window_end": W[3], "records": 2}]
    assert found["closed_windows"] == 2
    assert found["partitions"] == [
        {"topic": "orders", "partition": n, "start": 0, "end": end, "records": end, "late_records": 0}
        for n, end in ((0, 5), (1, 3))
    ]
    assert (found["complete"], found["warnings"]) == (True, [])
    assert "read 8 records: orders-0 0 to 5, orders-1 0 to 3; 2 windows closed" in done.err
    assert f"still open, and not printed: 1 window: {W[2]} (2 records)" in done.err


def test_closed_windows_are_those_of_a_query_that_ends(cluster: FakeCluster) -> None:
    ended = follow(
        cluster, WINDOWS.replace("order by k", "order by w, k"), "--engine", "duckdb", "-o", "json"
    )
    followed = rows(document(follow(cluster, WINDOWS, *AT_ONCE)))
    assert followed == [row for row in rows(document(ended)) if row[0] < W[2]]


def test_a_window_waits_for_late_records(cluster: FakeCluster) -> None:
    found = document(follow(cluster, WINDOWS, *AT_ONCE, "--late", "6s"))
    assert {row[0] for row in rows(found)} == {W[0]}
    assert [each["window_start"] for each in found["open_windows"]] == W[1:3]


def test_late_records_are_counted_and_said(cluster: FakeCluster) -> None:
    put(cluster, "other", 0, 0, (0, "a"), (61, "a"))
    put(cluster, "other", 0, 2, (59, "late"), (62, "a"))
    put(cluster, "other", 0, 4, (1, "late"), (121, "a"))
    done = follow(cluster, WINDOWS, *AT_ONCE, "-X", "max.partition.fetch.bytes=1", topics=("other",))
    found = document(done)
    assert rows(found) == [(W[0], "a", 1), (W[1], "a", 2)]
    assert found["partitions"][0] == {
        "topic": "other", "partition": 0, "start": 0, "end": 6, "records": 6, "late_records": 2,
    }  # fmt: skip
    first, total = found["warnings"]
    assert first.startswith("other-0@2: a record came after its window had closed")
    assert total == (
        "2 records came after their windows had closed, and are in no result: 2 records of other-0, the first at 2"
    )
    unwanted = WINDOWS.replace("group", "where key_text <> 'late' group")
    quiet = document(follow(cluster, unwanted, *AT_ONCE, topics=("other",)))
    assert quiet["warnings"] == []  # they are not asked for


def test_an_idle_partition_holds_up_nothing(cluster: FakeCluster) -> None:
    """And where all are idle, the clock goes on: the last window closes too."""
    put(cluster, "other", 0, 0, (0, "a"), (59, "a"))
    done = follow(
        cluster,
        WINDOWS,
        "--follow",
        "--idle-after",
        "1s",
        "--limit",
        "1",
        "-o",
        "json",
        topics=("other", "select"),
    )
    assert rows(document(done)) == [(W[0], "a", 2)]


def test_records_without_a_time_are_counted(cluster: FakeCluster) -> None:
    put(cluster, "other", 0, 0, (None, "x"), (0, "a"), (61, "a"), (None, "x"))
    found = document(follow(cluster, WINDOWS, *AT_ONCE, topics=("other",)))
    assert rows(found) == [(W[0], "a", 1)]
    assert found["warnings"] == ["2 records without a timestamp are in no window"]


# --- rows -------------------------------------------------------------------------------------------------


def test_rows_come_as_they_are_and_the_limit_ends_it(cluster: FakeCluster) -> None:
    sql = "select partition, offset, key_text from source where key_text = 'a' and partition = 0"
    done = follow(cluster, sql, "--follow", "--limit", "2", "-o", "csv")
    assert (done.code, done.out) == (0, "partition,offset,key_text\n0,0,a\n0,2,a\n")
    assert "read 5 records: orders-0 0 to 5" in done.err
    assert "window" not in done.err


def test_a_limit_within_a_window_is_said(cluster: FakeCluster) -> None:
    done = follow(cluster, WINDOWS, "--follow", "--limit", "3", "-o", "json")
    found = document(done)
    assert rows(found) == [(W[0], "a", 3), (W[0], "b", 1), (W[1], "a", 1)]
    assert (found["closed_windows"], [each["window_start"] for each in found["open_windows"]]) == (1, W[1:3])
    assert f"--limit ended within the window {W[1]}" in done.err
    whole = document(follow(cluster, WINDOWS, "--follow", "--limit", "2", "-o", "json"))
    assert (whole["closed_windows"], [each["window_start"] for each in whole["open_windows"]]) == (1, W[1:3])


def test_a_range_of_offsets_ends_it(cluster: FakeCluster) -> None:
    found = document(
        follow(cluster, WINDOWS.replace("group", "where offset < 3 group"), "--follow", "-o", "json")
    )
    assert rows(found) == [(W[0], "a", 3), (W[0], "b", 1), (W[1], "b", 1), (W[2], "c", 1)]
    assert found["open_windows"] == []


def test_until_is_a_time_of_records(cluster: FakeCluster) -> None:
    """Windows up to then are complete, since all partitions are read beyond it."""
    until = "2023-11-14T22:15:30Z"
    found = document(follow(cluster, WINDOWS, "--follow", "--until", until, "-o", "json"))
    assert rows(found) == [(W[0], "a", 3), (W[0], "b", 1)]
    assert [each["window_start"] for each in found["open_windows"]] == [W[1]]
    sql = "select key_text, timestamp from source"
    listed = rows(document(follow(cluster, sql, "--follow", "--until", until, "-o", "json")))
    assert max(time for _, time in listed) == "2023-11-14T22:15:10.000Z"


def test_since_begins_in_the_middle(cluster: FakeCluster) -> None:
    found = document(follow(cluster, WINDOWS, *AT_ONCE, "--since", "2023-11-14T22:15:00Z"))
    assert rows(found) == [(W[1], "a", 1), (W[1], "b", 1)]
    assert [each["start"] for each in found["partitions"]] == [3, 1]


def test_an_empty_topic_has_no_windows(cluster: FakeCluster) -> None:
    done = follow(cluster, WINDOWS.replace("source", "`select`"), *AT_ONCE, topics=("select",))
    found = document(done)
    assert (found["items"], found["open_windows"], found["complete"]) == ([], [], True)
    assert "read 0 records: select-0 0 to 0; 0 windows closed" in done.err


@pytest.mark.parametrize("form", ["table", "plain", "tsv", "csv", "ndjson", "json", "yaml"])
def test_all_formats_have_the_rows(cluster: FakeCluster, form: str) -> None:
    done = follow(cluster, WINDOWS, "--follow", "--limit", "4", "-o", form)
    assert done.code == 0, done.err
    assert [done.out.count(start) >= 2 for start in W[:2]] == [True, True]


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--follow", "--engine", "spark"), "--engine spark with --follow"),
        (("--follow", "--master", "local"), "--master with --follow"),
        (("--follow", "--exact-times", "--since", "1h"), "--exact-times with --follow"),
        (("--late", "1s"), "--late without --follow"),
        (("--idle-after", "1s"), "--idle-after without --follow"),
        (("--idle-timeout", "1s"), "--idle-timeout without --follow"),
        (("--follow", "--since", "1h", "--until", "2h"), "--until is before --since"),
        (("--follow", "--since", "+1h"), "--since is in the future"),
    ],
)
def test_options_that_contradict_are_refused(words: tuple[str, ...], what: str) -> None:
    done = kcli("query", "orders", WINDOWS, *words, bootstrap="127.0.0.1:1")
    assert (done.code, done.out) == (2, "")
    assert what in done.err


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("select count(*) from source", "--follow with an aggregate without a window"),
        ("select o.key from orders o join other c on o.key = c.key", "--follow with a join"),
        ("select first(key) k from source", "--follow is on DuckDB only: the function first"),
        ("select nosuch from source", "there is no column nosuch"),
        ("select key, count(*) from source group by tumble(timestamp, '1m')", "the SQL is wrong"),
        ("select tumble(timestamp, 'often') from source", "a window is wrong"),
    ],
)
def test_queries_that_cannot_be_followed_are_refused(cluster: FakeCluster, sql: str, what: str) -> None:
    done = follow(cluster, sql, "--follow", topics=("orders", "other"))
    assert (done.code, done.out) == (2, "")
    assert what in done.err


# --- what goes wrong meanwhile ----------------------------------------------------------------------------


class Started:
    """A query that goes on."""

    def __init__(self, cluster: FakeCluster, sql: str, *words: str, topic: str = "orders") -> None:
        self._errors = TemporaryFile()  # noqa: SIM115 - ``ended`` closes it
        self.process = subprocess.Popen(
            [*KCLI, "query", topic, sql, "--follow", *words],
            stdout=subprocess.PIPE, stderr=self._errors, text=True, env=environment(cluster.bootstrap),
        )  # fmt: skip

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ended(self, number: signal.Signals | None = None) -> tuple[int, str, str]:
        if number is not None:
            self.process.send_signal(number)
        assert self.process.stdout is not None
        with self.process.stdout as stdout, self._errors as errors:
            out = stdout.read()
            code = self.process.wait(60)
            errors.seek(0)
            return code, out, errors.read().decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_an_account(cluster: FakeCluster, number: signal.Signals) -> None:
    started = Started(cluster, WINDOWS, "-o", "ndjson")
    assert json.loads(started.line()) == {"kind": "QueryRow", "w": W[0], "k": "a", "n": 3}
    for _ in range(3):
        started.line()
    code, out, err = started.ended(number)
    assert (code, out) == (128 + number, ""), err
    assert "read 8 records: orders-0 0 to 5, orders-1 0 to 3; 2 windows closed" in err
    assert f"still open, and not printed: 1 window: {W[2]} (2 records)" in err


def test_a_document_is_valid_after_a_signal(cluster: FakeCluster) -> None:
    started = Started(cluster, WINDOWS, "-o", "json")
    lines = [started.line() for _ in range(2)]
    code, out, err = started.ended(signal.SIGINT)
    assert code == 130, err
    found = json.loads("".join(lines) + out)
    assert found["complete"]
    assert found["open_windows"]


def test_windows_go_on_with_what_arrives(cluster: FakeCluster) -> None:
    started = Started(cluster, WINDOWS, "-o", "tsv", "--limit", "5")
    for _ in range(5):
        started.line()
    put(cluster, "orders", 0, 5, (181, "d"))
    put(cluster, "orders", 1, 3, (182, "d"))
    assert started.line().split() == [W[2], "c", "2"]
    assert started.ended()[0] == 0


def test_a_closed_pipe_ends_it(cluster: FakeCluster) -> None:
    started = Started(cluster, "select offset from source", "-o", "tsv")
    started.line()
    assert started.process.stdout is not None
    started.process.stdout.close()
    assert started.process.wait(120) in (-signal.SIGPIPE, 141)


def test_a_topic_that_is_deleted_is_an_error_with_the_account(cluster: FakeCluster) -> None:
    started = Started(cluster, WINDOWS, "-o", "json", "-X", "metadata.max.age.ms=200")
    lines = [started.line() for _ in range(2)]
    cluster.delete_topic("orders")
    code, out, err = started.ended()
    assert code != 0
    assert "orders" in err.partition("read 8 records")[2]
    found = json.loads("".join(lines) + out)
    assert not found["complete"]
    assert found["missing"]


def test_a_partition_that_is_not_read_holds_up_windows_and_is_named(cluster: FakeCluster) -> None:
    """Its records may be of any time: it is not idle."""
    hold = cluster.hold(FetchRequest)
    started = Started(cluster, WINDOWS, "-o", "json", "--idle-after", "1s", "--idle-timeout", "4s")
    hold.wait()
    code, out, err = started.ended()
    hold.release()
    found = json.loads(out)
    assert (code, found["items"], found["complete"]) == (6, [], False), err
    assert {each["what"] for each in found["missing"]} == {"orders-0", "orders-1"}


def test_what_ends_the_query_is_an_error_with_the_account(cluster: FakeCluster) -> None:
    sql = "select tumble(timestamp, '1 minute') w, sum(key_text::int) n from source group by 1"
    done = follow(cluster, sql, "--follow", "-o", "json")
    assert done.code == 1
    assert "the query failed" in done.err
    assert "is no whole number" in done.err
    found = json.loads(done.out)
    assert (found["items"], found["complete"]) == ([], False)


def test_memory_is_that_of_open_windows(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of closed windows are gone."""
    from kcli.pipeline.duckdb.follow import FollowQuery

    kept: list[int] = []
    close = FollowQuery._close_windows

    def counted(self: FollowQuery, mark: int | None) -> Iterator[Any]:
        yield from close(self, mark)
        kept.append(self._execute("select count(*) from kcli_rows")[0])

    monkeypatch.setattr(FollowQuery, "_close_windows", counted)
    for minute in range(50):
        put(cluster, "other", 0, minute * 100, *[(minute * 60 + n / 10, "a") for n in range(100)])
    done = follow(cluster, WINDOWS, *AT_ONCE, "-X", "max.partition.fetch.bytes=1", topics=("other",))
    assert [row[2] for row in rows(document(done))] == [100] * 49
    assert max(kept) <= 200
