"""On a real Kafka: old records are deleted as soon as they are restored, a clock that is ahead ends ranges early; what
``pipeline`` says of both, and how it avoids them.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Consumer, Producer
from kcli.core.types import ProducerRecord, TopicPartition
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed, version_of
from tests.run import Done
from tests.run import kcli as command

pytestmark = pytest.mark.integration

DAY = 86_400_000
NOW = int(time.time() * 1000)
EAGER = {"log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "100"}
PATIENCE = 120.0


@pytest.fixture(scope="module")
def eager(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    """A broker that looks for what retention deletes three times a second, and not every five minutes."""
    extra = {**TEST_PROPERTIES, **EAGER}
    with sandboxed(version=version_of(pytestconfig), jvm_options=QUICK_JVM, extra=extra) as found:
        yield found


def write(kafka: Kafka, topic: str, times: list[int]) -> None:
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for n, at in enumerate(times):
            producer.send(ProducerRecord(topic, b"%d" % n, b"k%d" % n, timestamp=at))
        assert producer.flush(30)


def run(kafka: Kafka, *words: str) -> tuple[Done, Any]:
    done = command("pipeline", *words, "--runner", "inline", "--yes", "-o", "json", bootstrap=kafka.bootstrap)
    return done, json.loads(done.out) if done.out else None


def left(kafka: Kafka, topic: str) -> tuple[int, int]:
    """The first offset that is kept and the high watermark: a transaction that the coordinator has committed is not
    read at once by read_committed, since its markers are written after the answer.
    """
    partition = TopicPartition(topic, 0)
    with Consumer(bootstrap_servers=kafka.bootstrap) as consumer:
        start, end = (consumer.list_offsets({partition: at}, 5)[partition].offset for at in (-2, -1))
    return start, end


def test_what_retention_would_delete_is_foreseen(eager: Kafka, tmp_path: Path) -> None:
    source, folder = eager.topic("old"), str(tmp_path / "x")
    write(eager, source, [NOW - 30 * DAY + n for n in range(40)])
    assert run(eager, "export", source, folder)[0].code == 0

    def restored(name: str, *flags: str) -> tuple[Done, Any]:
        # The configuration of the source is restored with it, and there it keeps everything.
        target = eager.topic(name, config={"retention.ms": str(7 * DAY)})
        done, report = run(eager, "import", folder, "--map-topic", f"{source}={target}", *flags)
        return done, (target, report)

    done, (target, _) = restored("refused")
    assert done.code == 7, done.err
    assert f"40 of 40 records would not be kept by topic {target}; nothing was sent" in done.err
    assert "(by the metadata of the files): 40 are older than its retention.ms of 7d" in done.err
    assert left(eager, target) == (0, 0)

    done, (kept, _) = restored("extended", "--extend-retention", "60d")
    assert done.code == 0, done.err
    done, (anew, _) = restored("now", "--timestamps", "now")
    assert done.code == 0, done.err
    done, (forced, report) = restored("forced", "--force")
    assert (done.code, len(report["warnings"])) == (0, 1), done.err

    # The proof: this is what became of them without a word.
    deadline = time.monotonic() + PATIENCE
    while left(eager, forced)[0] < 40 and time.monotonic() < deadline:
        time.sleep(0.2)
    # The marker of the transaction is the last offset.
    assert [left(eager, name) for name in (forced, kept, anew)] == [(40, 41), (0, 41), (0, 41)]


def test_a_broker_refuses_what_the_plan_has_foreseen(eager: Kafka) -> None:
    source = eager.topic("dlq")
    target = eager.topic("narrow", config={"message.timestamp.before.max.ms": str(DAY)})
    write(eager, source, [NOW - 2 * DAY, NOW])
    done, _ = run(eager, "replay", source, "--to", target, "--force")
    assert done.code == 7, done.err
    assert "1 of 2 records" in done.err
    assert "refused (INVALID_TIMESTAMP), as older than its message.timestamp.before.max.ms of 1d" in done.err
    write_refused = command("produce", target, "-i", "ndjson", stdin=b'{"value":"x","timestamp":%d}\n' % (NOW - 2 * DAY),
                            bootstrap=eager.bootstrap)  # fmt: skip
    assert "INVALID_TIMESTAMP" in write_refused.err


def test_a_clock_that_is_ahead_is_reported_and_exact_times_pass_it(eager: Kafka, tmp_path: Path) -> None:
    topic = eager.topic("ahead", config={"message.timestamp.after.max.ms": str((1 << 63) - 1)})
    day = NOW // DAY * DAY
    within = [day - DAY + n * 1000 for n in range(500)]
    write(eager, topic, [day - 2 * DAY, NOW + 900 * DAY, *within, day, day + 1])
    limits = ("--since", str(day - DAY), "--until", str(day))
    done, report = run(eager, "export", topic, str(tmp_path / "x"), *limits)
    assert (done.code, report["totals"]["records"]) == (0, 0), done.err
    (warning,) = report["warnings"]
    assert "500 of the 503 records that follow are older and left out" in warning
    assert f"the record of {topic}-0 at offset 1 has a time in the future" in warning
    done, report = run(eager, "export", topic, str(tmp_path / "y"), *limits, "--exact-times")
    assert (done.code, report["totals"]["records"], report["warnings"]) == (0, 500, []), done.err
    assert (
        command(
            "groups", "create", "g", "-t", topic, "--from", "latest", "--yes", bootstrap=eager.bootstrap
        ).code
        == 0
    )
    rewind = ("groups", "rewind", "g", "--topic", topic, "--to", f"@{day}", "--dry-run", "-o", "json")
    (item,) = command(*rewind, bootstrap=eager.bootstrap).items
    assert item["new"] == 1
    assert item["note"].startswith("times are not in order: 500 of the 503 records that follow are older")
