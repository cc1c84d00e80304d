"""Topics of a real Kafka are exported and restored in another one, and mirrored to it; `verify` and confluent-kafka judge
whether nothing is lost or changed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.mirroring import (
    CODECS,
    COMPACTED,
    WRITER_PARTITIONS,
    check_equal,
    numbered,
    wait_until_compacted,
    write,
    write_by_java,
    write_to_be_compacted,
)
from tests.kafka import QUICK_JVM, Kafka, sandboxed, version_of
from tests.run import kcli_as_set_up as command
from tests.run import kcli_process, ok

_COUNT = 200


@pytest.fixture(scope="module")
def target(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    """The other cluster; it has none of the topics."""
    with sandboxed(version=version_of(pytestconfig), jvm_options=QUICK_JVM) as found:
        yield found


@pytest.fixture(scope="module")
def sources(kafka: Kafka) -> dict[str, list[int]]:
    """Topics with all codecs, transactions and null and empty keys, values and headers, and one that was compacted; how
    many records each partition has.
    """
    mixed = kafka.topic("mixed", partitions=WRITER_PARTITIONS)
    counts = write_by_java(kafka, mixed, _COUNT)
    codecs = kafka.topic("codecs", partitions=len(CODECS))
    for partition, codec in enumerate(CODECS):
        write(kafka, codecs, numbered(_COUNT), partition=partition, batch=50, **{"compression.type": codec})
    compacted = kafka.topic("compacted", partitions=2, config=COMPACTED)
    write_to_be_compacted(kafka, compacted, 2, 5)
    left = wait_until_compacted(kafka, compacted)
    return {
        mixed: counts,
        codecs: [_COUNT] * len(CODECS),
        compacted: [len(left.get(partition, [])) for partition in (0, 1)],
    }


def _run(*words: str) -> dict[str, Any]:
    done = command("pipeline", *words, "--yes", "-o", "json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def _records(report: dict[str, Any]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for item in report["items"]:
        found.setdefault(item["topic"], []).append(item["records"])
    return found


def _check(kafka: Kafka, target: Kafka, sources: dict[str, list[int]], suffix: str, *flags: str) -> None:
    """Both sides are equal, as the command and as another client see them."""
    sides = ["--from", kafka.bootstrap, "--to", target.bootstrap, "--map-topic", rf"^(.*)$=\1{suffix}"]
    topics = [word for topic in sources for word in ("-t", topic)]
    report = _run("verify", *sides, *topics, *flags, "--runner", "inline")
    compared: dict[str, list[int]] = {}
    for item in report["items"]:
        assert (item["equal"], item["first_difference"]) == (True, None)
        compared.setdefault(item["topic"], []).append(item["compared_records"])
    assert compared == sources
    for topic, counts in sources.items():
        check_equal(kafka, topic, target, topic + suffix, counts)


@pytest.mark.case("K6")
@pytest.mark.parametrize(
    ("form", "runner"), [("parquet", ("processes", "--local", "2")), ("ndjson", ("inline",))]
)
def test_another_cluster_has_every_attribute_of_every_record_after_an_import(
    kafka: Kafka,
    target: Kafka,
    sources: dict[str, list[int]],
    form: str,
    runner: tuple[str, ...],
    tmp_path: Path,
) -> None:
    folder = str(tmp_path / form)
    report = _run("export", *sources, folder, "-b", kafka.bootstrap, "--format", form, "--runner", *runner)
    assert _records(report) == sources
    renamed = ("--map-topic", rf"^(.*)$=\1.{form}")
    assert _records(_run("import", folder, "-b", target.bootstrap, *renamed, "--runner", *runner)) == sources
    _check(kafka, target, sources, f".{form}", "--level", "records")
    if form == "ndjson":  # the lines are those of consume, so that produce restores them too
        mixed, counts = next(iter(sources.items()))
        again = target.topic("again", partitions=WRITER_PARTITIONS)
        lines = b"".join(
            path.read_bytes() for path in sorted(Path(folder, f"topic={mixed}").rglob("*.ndjson"))
        )
        flags = ("-i", "ndjson", "--partitioner", "manual", "-q")
        ok(kcli_process("produce", again, *flags, bootstrap=target.bootstrap, stdin=lines))
        check_equal(kafka, mixed, target, again, counts)


@pytest.mark.case("K6")
def test_another_cluster_has_every_attribute_of_every_record_after_a_mirror(
    kafka: Kafka, target: Kafka, sources: dict[str, list[int]]
) -> None:
    sides = ["--from", kafka.bootstrap, "--to", target.bootstrap, "--map-topic", r"^(.*)$=\1.copy"]
    topics = [word for topic in sources for word in ("-t", topic)]
    job = ["mirror", *sides, *topics, "--runner", "processes", "--local", "2"]
    assert _records(_run(*job)) == sources
    _check(kafka, target, sources, ".copy", "--level", "digest")
    assert _records(_run(*job)) == {topic: [0] * len(counts) for topic, counts in sources.items()}
