"""Topics of a real Kafka are exported and restored; confluent-kafka judges whether nothing is lost or changed."""

import json
from pathlib import Path

import pytest

from tests.command import kcli, ok
from tests.fault.mirror_command import command
from tests.integration.mirroring import (
    COMPACTED,
    WRITER_PARTITIONS,
    contents,
    judged,
    wait_until_compacted,
    write_by_java,
    write_to_be_compacted,
)
from tests.kafka import Kafka

_COUNT = 200


def _run(kafka: Kafka, *words: str) -> dict[str, list[dict[str, int]]]:
    done = command("-b", kafka.bootstrap, "pipeline", *words, "--yes", "-o", "json")
    assert done.code == 0, done.err
    found: dict[str, list[dict[str, int]]] = json.loads(done.out)
    return found


@pytest.mark.case("K6")
def test_all_codecs_transactions_and_what_compaction_left_are_restored(kafka: Kafka, tmp_path: Path) -> None:
    mixed = kafka.topic("mixed", partitions=WRITER_PARTITIONS)
    counts = write_by_java(kafka, mixed, _COUNT)
    compacted = kafka.topic("compacted", partitions=2, config=COMPACTED)
    write_to_be_compacted(kafka, compacted, 2, 5)
    left = wait_until_compacted(kafka, compacted)
    folders = [str(tmp_path / form) for form in ("parquet", "ndjson")]
    report = _run(kafka, "export", mixed, compacted, folders[0], "--runner", "processes", "--local", "2")
    records = {(item["topic"], item["partition"]): item["records"] for item in report["items"]}
    assert [records[mixed, n] for n in range(WRITER_PARTITIONS)] == counts
    assert [records[compacted, n] for n in left] == [len(rows) for rows in left.values()]
    text = ("--format", "ndjson", "--runner", "inline")
    _run(kafka, "export", mixed, compacted, folders[1], *text)
    for name, folder in zip(("p", "n"), folders, strict=True):
        renamed = ("--map-topic", rf"^(.*)$=\1.{name}", "--runner", "inline")
        _run(kafka, "import", folder, *renamed)
        for topic in (mixed, compacted):
            source = contents(judged(kafka, topic))
            restored = contents(judged(kafka, f"{topic}.{name}"))
            assert {n: rows for n, rows in restored.items() if rows} == {
                n: rows for n, rows in source.items() if rows
            }
    # The lines are those of consume, so that produce restores them too.
    again = kafka.topic("again", partitions=WRITER_PARTITIONS)
    lines = b"".join(
        path.read_bytes() for path in sorted(Path(folders[1], f"topic={mixed}").rglob("*.ndjson"))
    )
    ok(
        kcli(
            "produce",
            again,
            "-i",
            "ndjson",
            "--partitioner",
            "manual",
            "-q",
            bootstrap=kafka.bootstrap,
            stdin=lines,
        )
    )
    assert contents(judged(kafka, again)) == contents(judged(kafka, mixed))
