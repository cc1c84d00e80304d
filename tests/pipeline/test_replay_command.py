"""``kcli pipeline replay`` on a real Kafka: what is sent once and only once, what is skipped, what is refused."""

import json
from typing import Any

import pytest

from kcli.core import Consumer, Producer
from kcli.core.consumer.subscription import Span
from kcli.core.types import ProducerRecord, Record, TopicPartition
from kcli.pipeline.job import StoppedTaskError, TaskContext
from kcli.pipeline.kernels import replay as kernel
from tests.kafka import Kafka
from tests.run import Done, kcli

START = 1_700_000_000_000


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--to", ""), "--to names nothing"),
        (("--to", "header:"), "--to names nothing"),
        (("--to", "a/b"), "a/b"),
        (("--to", "dlq"), "records of dlq would be sent to dlq itself"),
        (
            ("--to", "orders", "--where", "key = 'a'", "--runner", "inline"),
            "the condition is SQL, which Spark evaluates",
        ),
        (("--to", "orders", "--where", "value:a[x]"), "a path into JSON is wrong"),
        (("--to", "orders", "--max-replays", "0"), "0"),
        (("--to", "orders", "--dedupe", "value"), "value"),
        ((), "--to"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_started(
    arguments: tuple[str, ...], what: str
) -> None:
    done = kcli("pipeline", "replay", "dlq", *arguments, bootstrap="127.0.0.1:1")
    assert (done.code, done.out) == (2, "")
    assert what in done.err


class DeadLetters:
    """A dead-letter topic of two partitions, and two topics that its records came from."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.source = kafka.topic("dlq", partitions=2)
        self.one, self.two = kafka.topic("one", partitions=3), kafka.topic("two")
        with Producer(bootstrap_servers=kafka.bootstrap) as producer:
            for number in range(60):
                to = (self.one, self.two)[number % 2].encode()
                headers: tuple[Any, ...] = (("from", to), ("reason", b"timeout"), ("x", None))
                if number % 10 == 0:
                    headers += (("kcli-replays", b"3"),)
                if number == 7:
                    headers = ()
                value = None if number == 8 else b'{"n":%d}' % number
                producer.send(
                    ProducerRecord(
                        self.source, value, b"k%d" % (number % 7), headers, number % 2, START + number
                    )
                )
            assert producer.flush(30)

    def replay(self, *arguments: str, source: str = "") -> Done:
        return kcli(
            "pipeline", "replay", source or self.source, "--runner", "inline", *arguments, bootstrap=self.kafka.bootstrap
        )  # fmt: skip

    def records(self, topic: str, partitions: int) -> list[Record]:
        tps = [TopicPartition(topic, number) for number in range(partitions)]
        with Consumer(bootstrap_servers=self.kafka.bootstrap) as consumer:
            # Also those whose commit marker the broker has not written yet: reading waits for it.
            ends = consumer.list_offsets(dict.fromkeys(tps, -1), 10, committed_only=False)
        with Consumer(bootstrap_servers=self.kafka.bootstrap, isolation_level="read_committed") as consumer:
            consumer.assign({tp: Span(0, ends[tp].offset) for tp in tps})  # type: ignore[union-attr]
            found: list[Record] = []
            while not consumer.done:
                found += consumer.records(1)
            return found


@pytest.fixture
def letters(kafka: Kafka) -> DeadLetters:
    return DeadLetters(kafka)


def test_a_dry_run_says_what_would_go_where_and_writes_nothing(letters: DeadLetters) -> None:
    done = letters.replay("--to", "header:from", "--dry-run")
    assert done.code == 0, done.err
    assert f"Replay {letters.source} to header:from" in done.out
    assert "53 records of 60 offsets in 2 partitions" in done.out
    row = next(line.split() for line in done.out.splitlines() if line.split()[:1] == [letters.two])
    assert row == [letters.two, "timeout", "2023-11-14T22:00Z", "29"]
    assert "replayed 3 times or more: 6 records" in done.out
    assert "no header names their topic: 1 record" in done.out
    assert letters.records(letters.one, 3) == letters.records(letters.two, 1) == []


def test_each_record_goes_back_once_and_only_once(letters: DeadLetters) -> None:
    done = letters.replay("--to", "header:from", "--yes", "-o", "json")
    assert done.code == 6  # one record has no header
    report = json.loads(done.out)
    assert (report["kind"], report["command"], report["totals"]["records"]) == (
        "PipelineReport",
        "replay",
        53,
    )
    assert [
        (i["partition"], i["start"], i["end"], i["records"], i["skipped_records"]) for i in report["items"]
    ] == [
        (0, 0, 30, 24, 6),
        (1, 0, 30, 29, 1),
    ]
    sent = letters.records(letters.one, 3)
    assert sorted(record.value or b"" for record in sent) == sorted(
        b"" if n == 8 else b'{"n":%d}' % n for n in range(0, 60, 2) if n % 10
    )
    first = next(record for record in sent if record.value == b'{"n":2}')
    assert (first.key, first.timestamp) == (b"k2", START + 2)
    assert first.headers == (
        ("from", letters.one.encode()),
        ("reason", b"timeout"),
        ("x", None),
        ("kcli-replays", b"1"),
        ("kcli-replayed-from", f"{letters.source}/0/1".encode()),
    )
    again = letters.replay("--to", "header:from", "--yes", "-o", "json")
    assert again.code == 0, again.err
    items = json.loads(again.out)["items"]
    assert [(i["partition"], i["start"], i["end"], i["records"]) for i in items] == [
        (0, 30, 30, 0),
        (1, 30, 30, 0),
    ]
    assert "60 offsets were done by earlier runs" in again.err
    assert len(letters.records(letters.one, 3)) == 24


def test_a_task_that_is_killed_anywhere_sends_nothing_twice(
    letters: DeadLetters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends without a word after each step of a transaction, and is begun again: as after a SIGKILL."""
    from kcli.pipeline.cluster_ref import ClusterRef
    from kcli.pipeline.plan import Slice
    from kcli.pipeline.redrive import Routing

    class Killed(BaseException): ...

    cluster = ClusterRef({"bootstrap_servers": letters.kafka.bootstrap}, {}, {}, {})
    settings = kernel.ReplaySettings(cluster, "kills", Routing(letters.two, "", 3))
    task = kernel.ReplayTask(Slice(letters.source, bytes(16), 0, 0, 30))
    monkeypatch.setattr(kernel, "_IN_TRANSACTION", 7)
    steps = ["send", "send_offsets_to_transaction", "commit_transaction"]
    for step in steps:
        made = getattr(Producer, step)
        calls: list[int] = []

        def dying(
            self: Producer, *rest: Any, _made: Any = made, _calls: list[int] = calls, **named: Any
        ) -> Any:
            found = _made(self, *rest, **named)
            _calls.append(1)
            if len(_calls) == 2:
                raise Killed
            return found

        with monkeypatch.context() as patched:
            patched.setattr(Producer, step, dying)
            patched.setattr(kernel._Sending, "abort", lambda _self: None)
            with pytest.raises(Killed):
                kernel.run(settings, task, TaskContext(0))
    item = kernel.run(settings, task, TaskContext(1))
    assert item["end"] == 30
    sent = letters.records(letters.two, 1)
    assert [record.value for record in sent] == [
        None if n == 8 else b'{"n":%d}' % n for n in range(0, 60, 2) if n % 10
    ]


def test_what_was_sent_before_an_error_is_reported(
    letters: DeadLetters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it is stopped, or the topic is deleted: what was committed is there, and counted."""
    made, calls = kernel._Sending.commit, []

    def failing(self: Any, offset: int) -> None:
        calls.append(offset)
        if len(calls) == 3:
            raise StoppedTaskError
        made(self, offset)

    monkeypatch.setattr(kernel, "_IN_TRANSACTION", 7)
    with monkeypatch.context() as patched:
        patched.setattr(kernel._Sending, "commit", failing)
        done = letters.replay("--to", letters.two, "--yes", "-o", "json")
    assert done.code == 6
    first, second = json.loads(done.out)["items"]
    assert (first["partition"], first["records"], first["skipped_records"]) == (0, 11, 3)
    assert "was stopped" in first["error"]
    assert second["records"] == 30
    again = letters.replay("--to", letters.two, "--yes", "-o", "json")
    assert [(one["start"], one["records"]) for one in json.loads(again.out)["items"]] == [(14, 13), (30, 0)]
    assert len(letters.records(letters.two, 1)) == 54


def test_of_a_key_the_last_record_is_sent(letters: DeadLetters) -> None:
    done = letters.replay(
        "--to", letters.two, "--dedupe", "key", "--yes", "-o", "json", "--timestamps", "now"
    )
    assert done.code == 0, done.err
    totals = json.loads(done.out)
    assert sum(item["skipped_records"] for item in totals["items"]) == 53
    last = {n % 7: n for n in range(60) if n % 10}
    sent = letters.records(letters.two, 1)
    assert sorted(record.value for record in sent if record.value) == sorted(
        b'{"n":%d}' % n for n in last.values()
    )
    assert all(record.timestamp > START + 1_000_000 for record in sent)


def test_what_is_refused(letters: DeadLetters) -> None:
    assert "there is no terminal" in letters.replay("--to", letters.two).err
    missing = letters.replay("--to", "nowhere-4711", "--yes")
    assert (missing.code, missing.out) == (1, "")
    assert "nowhere-4711" in missing.err
    with Producer(bootstrap_servers=letters.kafka.bootstrap) as producer:
        producer.send(ProducerRecord(letters.two, b"x", None, (("from", b"nowhere-4711"),)))
        producer.send(ProducerRecord(letters.one, b"x", None, (("from", letters.one.encode()),)))
        assert producer.flush(30)
    missing = letters.replay("--to", "header:from", "--yes", source=letters.two)
    assert missing.code == 1
    assert "the header from of some records names it; nothing was sent" in missing.err
    loop = letters.replay("--to", "header:from", "--yes", source=letters.one)
    assert loop.code == 2
    assert "without end" in loop.err
    bounded = letters.replay("--to", letters.one, "--yes", "--until", "+1m", source=letters.one)
    assert bounded.code == 0, bounded.err
    assert sorted(len(record.headers) for record in letters.records(letters.one, 3)) == [1, 3]


@pytest.mark.integration
@pytest.mark.long
def test_records_are_chosen_by_sql(letters: DeadLetters, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    monkeypatch.setattr("kcli.commands.pipeline.replay.runner_of", lambda *_: nullcontext(spark))
    done = kcli(
        "pipeline", "replay", letters.source, "--to", letters.two, "--yes", "-o", "json",
        "--where", "value:n::int between 11 and 20 -- some",
        bootstrap=letters.kafka.bootstrap,
    )  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["runner"] == "spark"
    assert sorted(record.value or b"" for record in letters.records(letters.two, 1)) == [
        b'{"n":%d}' % n for n in range(11, 20)
    ]
