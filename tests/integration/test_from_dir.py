"""``--from-dir`` gives what the broker gave that wrote the directory, for each group of options of its commands."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kcli.sandbox.state import log_dirs, read_state
from tests.kafka import QUICK_JVM, Kafka, sandboxed
from tests.run import Done, kcli

pytestmark = pytest.mark.integration

BASE = 1_700_000_000_000
LINES = (
    "consume {topic} -e -o value",
    "consume {topic} -e -o ndjson",
    "consume {topic} -e -o csv",
    "consume {topic} -e -o kcat",
    "consume {topic} -e -f %T|%t|%p|%o|%k|%h|%v\\n",
    "consume {topic} -p 0 -e -o raw",
    "consume {topic} -p 0 -e -o table --offset 100:200",
    "consume {topic} -e -o ndjson --isolation-level read_uncommitted",
    "consume {topic} -e -o ndjson --print-control",
    "consume {topic} -e -o ndjson --merge",
    "consume {topic} -e -o ndjson -s value=json",
    "consume {topic} -e -o ndjson --offset -50",
    "consume {topic} -e -o ndjson --offset +2000",
    f"consume {{topic}} -e -o ndjson --since @{BASE + 1_000_000} --until @{BASE + 2_000_000}",
    f"consume {{topic}} -e -o ndjson --since @{BASE + 1_000_000} --exact-times",
    "consume {topic} --tail 20 -o ndjson",
    "consume {topic} -e --key k14",
    "consume {topic} -e --grep v:777",
    "consume {topic} -e --where value.status==3 --select key,value.n",
    "consume {topic} -n 100 -p 1 -o ndjson",
    "consume {topic} --count",
    "consume {topic} --count --by value.status",
    "consume {topic} --latest-per-key -o ndjson",
    "consume {topic} --distinct value.status -e",
    "consume {topic} --sample 1/100 -e -o ndjson",
    "consume {topic} --count --expect 1",
    "consume {topic} --offset 999999 -e",
    "consume {topic} -p 9 -e",
    "pipeline profile {topic} --runner inline -o csv",
)


@dataclass(frozen=True)
class World:
    """A broker with a topic, and its log directory."""

    kafka: Kafka
    topic: str
    path: Path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with sandboxed(jvm_options=QUICK_JVM) as kafka:
        topic = kafka.topic(
            "orders", partitions=3, config={"segment.bytes": str(1 << 20), "retention.ms": "-1"}
        )
        for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
            rows = "".join(_row(5_000 * number + at) for at in range(5_000))
            words = ["produce", topic, "-i", "ndjson", "-z", codec]
            words += ["--transactional-id", "t", "--transaction-every", "500"] if codec == "lz4" else []
            done = kcli(*words, bootstrap=kafka.bootstrap, stdin=rows.encode())
            assert done.code == 0, done.err
        assert kafka.sandbox is not None
        state = read_state(kafka.sandbox.home)
        assert state is not None
        yield World(kafka, topic, log_dirs(state, 1)[0])


def _row(number: int) -> str:
    stamp, head = BASE + number * 100, number % 3
    value = f'{{\\"n\\":{number},\\"status\\":{number % 7},\\"pad\\":\\"{"x" * 60}\\"}}'
    return f'{{"key":"k{number % 500}","value":"{value}","headers":[["h","{head}"]],"timestamp":{stamp}}}\n'


def _same(done: Done) -> list[bytes]:
    """Partitions are read side by side: their order says nothing."""
    return sorted(done.stdout.splitlines())


@pytest.mark.parametrize("line", LINES)
def test_a_directory_answers_as_its_broker(world: World, line: str) -> None:
    words = [word.format(topic=world.topic) for word in line.split()]
    by_broker = kcli(*words, bootstrap=world.kafka.bootstrap)
    from_files = kcli(*words, "--from-dir", str(world.path))
    assert from_files.code == by_broker.code, from_files.err
    assert _same(from_files) == _same(by_broker)
    assert "open: what it writes meanwhile may be missing" in from_files.err
    assert by_broker.stdout or by_broker.code


def test_jobs_and_a_mirror_read_a_directory(world: World, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(world.path, copy)
    there = ["--from-dir", str(copy)]
    sql = "select partition, count(*) n, max(value:n::int) m from source group by 1 order by 1"
    rows = kcli("query", world.topic, sql, *there, "--engine", "duckdb", "-o", "csv")
    assert rows.code == 0, rows.err
    asked = kcli(
        "query", world.topic, sql, "--engine", "duckdb", "-o", "csv", bootstrap=world.kafka.bootstrap
    )
    assert (rows.out, rows.err) == (asked.out, "")
    jobs = ["--runner", "processes", "--local", "2"]
    exported = kcli("pipeline", "export", world.topic, str(tmp_path / "out"), *there, *jobs, "--with-config")
    assert exported.code == 0, exported.err
    assert "exported 25,000 records" in exported.err
    target = f"{world.topic}.copy"
    renamed = ["-t", world.topic, "--map-topic", f"{world.topic}={target}", "--to", world.kafka.bootstrap]
    mirrored = kcli("mirror", *there, *renamed)
    assert mirrored.code == 0, mirrored.err
    assert "25,000 records copied" in mirrored.err
    verified = kcli("pipeline", "verify", *there, *renamed, "--runner", "inline")
    assert verified.code == 0, verified.err
    again = kcli("pipeline", "mirror", *there, "-t", world.topic, "--map-topic", f"{world.topic}={target}2",
                 "--to", world.kafka.bootstrap, *jobs)  # fmt: skip
    assert again.code == 0, again.err
