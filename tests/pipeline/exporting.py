"""What the tests of ``kcli pipeline export`` and ``import`` share. Not a test."""

import json
import os
from pathlib import Path
from typing import Any

from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.producer.producer import Producer
from kcli.core.types import Header, ProducerRecord, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.run import Done
from tests.run import kcli_as_set_up as command

Row = tuple[bytes | None, bytes | None, tuple[Header, ...], int]
"""Key, value, headers, timestamp."""

ROWS: list[Row] = [
    (b"k", b"v", (), 1),
    (None, None, (), 1_700_000_000_000),
    (b"", b"", (("h", None), ("h", b""), ("g", b"\xff\x00"), ("h", b"again")), 0),
    (b"\xfe", b'a "quoted", line\nand another', (("n\u00e4me", b"1"),), 5),
    (None, b'{"a": 1}', (), 1_780_000_000_123),
]


def fill(cluster: FakeCluster, rows: list[Row], partition: int = 0, topic: str = "t") -> None:
    """Adds records."""
    futures = []
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        for key, value, headers, timestamp in rows:
            record = ProducerRecord(
                topic, value, key, list(headers), partition=partition, timestamp=timestamp
            )
            futures.append(producer.send(record))
    for future in futures:
        future.result(120)


def contents(bootstrap: str, topic: str, partition: int = 0) -> list[Row]:
    """All records of a partition."""
    tp, found = TopicPartition(topic, partition), list[Row]()
    with Consumer(bootstrap_servers=bootstrap, isolation_level="read_committed") as consumer:
        end = consumer.list_offsets({tp: -1}, 5)[tp].offset
        start = consumer.list_offsets({tp: -2}, 5)[tp].offset
        consumer.assign({tp: Span(start, end)})
        for record in consumer:
            found.append((record.key, record.value, tuple(record.headers), record.timestamp))
    return found


def export(cluster: FakeCluster, folder: Path | str, *more: str) -> tuple[Done, Any]:
    """Exports topic ``t``, or those of ``more`` before the options; the report is None where none was printed."""
    topics = more[: next((at for at, word in enumerate(more) if word.startswith("-")), len(more))]
    options = more[len(topics) :]
    runner = () if "--runner" in options else ("--runner", "inline")
    done = command(
        "-b",
        cluster.bootstrap,
        "pipeline",
        "export",
        *(topics or ("t",)),
        str(folder),
        *runner,
        "-o",
        "json",
        *options,
    )
    return done, json.loads(done.out) if done.out else None


def import_(cluster: FakeCluster, folder: Path | str, *more: str) -> tuple[Done, Any]:
    """Imports, also records that retention would delete; the report is None where none was printed."""
    runner = () if "--runner" in more else ("--runner", "inline")
    if not {"--timestamps", "--extend-retention", "--no-force"} & set(more):
        more = (*more, "--force")
    more = tuple(word for word in more if word != "--no-force")
    done = command("-b", cluster.bootstrap, "pipeline", "import", str(folder), *runner, "-o", "json", *more)
    return done, json.loads(done.out) if done.out else None


def manifest(folder: Path) -> Any:
    """The manifest."""
    return json.loads((folder / "_kcli_manifest.json").read_text())


def files(folder: Path) -> dict[str, bytes]:
    """Everything in the folder, with hidden files."""
    return {
        os.path.relpath(os.path.join(base, name), folder): Path(base, name).read_bytes()
        for base, _folders, names in os.walk(folder)
        for name in names
    }
