"""A broker with tiered storage (KIP-405): special offsets as Kafka's script prints them, what describe and consume say.

The remote storage is a folder (``FolderStorage.java``); the broker's own code copies segments there and reads them back.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration import kafka_script
from tests.integration.members import compiled
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed, version_of
from tests.run import Done, kcli, ok

pytestmark = [pytest.mark.integration, pytest.mark.long]

RECORDS = 120_000
NOTICE = "reading from remote storage: {}-0, up to what is on the leaders' disks"
TIERED = {
    "remote.storage.enable": "true",
    "local.retention.bytes": "1",
    "retention.bytes": "-1",
    "segment.bytes": "1048576",
    "file.delete.delay.ms": "0",
}
WORDS = ("max-timestamp", "earliest-local", "latest-tiered", "earliest-pending-upload")


@pytest.fixture(scope="module")
def tiered(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    version = version_of(pytestconfig)
    if int(version.split(".")[0]) < 4:
        pytest.skip(f"Kafka {version} does not have all special offsets")
    folder, _jars = compiled(version, Path(__file__).with_name("FolderStorage.java"), "17")
    extra = {
        **TEST_PROPERTIES,
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": "FolderStorage",
        "remote.log.storage.manager.class.path": f"{folder}/",
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": str(tmp_path_factory.mktemp("remote")),
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "remote.log.manager.task.interval.ms": "200",
        "log.retention.check.interval.ms": "200",
        "log.initial.task.delay.ms": "100",
    }
    with sandboxed(version=version, extra=extra, jvm_options=QUICK_JVM) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def topic(tiered: Kafka) -> str:
    """A topic whose older segments are in remote storage only; returns when the broker has moved them."""
    name = tiered.topic("tiered", config=TIERED)
    lines = "".join(f"{number} {'x' * 40}\n" for number in range(RECORDS)).encode()
    ok(kcli("produce", name, "-z", "none", bootstrap=tiered.bootstrap, stdin=lines))
    end = time.monotonic() + 60
    while True:
        local, copied = (offset(tiered, name, word) for word in ("earliest-local", "latest-tiered"))
        if local and copied is not None and local == copied + 1:
            return name
        assert time.monotonic() < end, (local, copied)
        time.sleep(0.2)


def run(kafka: Kafka, line: str) -> Done:
    return kcli(*line.split(), bootstrap=kafka.bootstrap)


def offset(kafka: Kafka, topic: str, word: str) -> int | None:
    (item,) = run(kafka, f"topics offsets {topic} --time {word} -o json").items
    found: int | None = item["offset"]
    return found


def scripts(kafka: Kafka, topic: str, word: str) -> int | None:
    """What kafka-get-offsets.sh prints, which is nothing where there is no such offset."""
    done = kafka_script.get_offsets(kafka, "--topic", topic, "--time", word)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(f"{topic}:")]
    return int(lines[0].rpartition(":")[2]) if lines else None


@pytest.mark.parametrize("word", WORDS)
def test_special_offsets_are_those_of_kafkas_script(tiered: Kafka, topic: str, word: str) -> None:
    found = offset(tiered, topic, word)
    assert found is not None
    assert found == scripts(tiered, topic, word)
    assert 0 < found < RECORDS


@pytest.mark.parametrize("word", WORDS)
def test_special_offsets_of_a_topic_that_is_not_tiered(tiered: Kafka, word: str) -> None:
    name = tiered.topic("plain")
    ok(kcli("produce", name, bootstrap=tiered.bootstrap, stdin=b"a\nb\n"))
    assert offset(tiered, name, word) == scripts(tiered, name, word)
    done = run(tiered, f"consume {name} --offset {word} -e")
    assert (done.code == 7) == (word in ("latest-tiered", "earliest-pending-upload")), done.err


def test_describe_shows_where_records_are(tiered: Kafka, topic: str) -> None:
    (item,) = run(tiered, f"topics describe {topic} -o json").items
    (part,) = item["partitions"]
    local = scripts(tiered, topic, "earliest-local")
    assert (part["log_start"], part["earliest_local"], part["end"]) == (0, local, RECORDS)
    assert part["latest_tiered"] == scripts(tiered, topic, "latest-tiered")
    assert 0 < part["local_bytes"] < RECORDS * 50
    assert f"{local:,} offsets in remote storage only" in run(tiered, f"topics describe {topic}").out
    assert (part["elr"], part["last_known_elr"]) == ([], [])


def test_consume_reads_all_and_says_once_that_it_reads_from_remote_storage(tiered: Kafka, topic: str) -> None:
    whole = run(tiered, f"consume {topic} -e")
    numbers = [int(line.split()[0]) for line in whole.out.splitlines()]
    assert (whole.code, numbers) == (0, list(range(RECORDS)))
    assert whole.err.count(NOTICE.format(topic)) == 1
    for word, count in (("earliest-local", 0), ("latest-tiered", 1)):
        done = run(tiered, f"consume {topic} --offset {word} -e -o ndjson")
        first = json.loads(done.out.splitlines()[0])["offset"]
        assert (first, done.err.count(NOTICE.format(topic))) == (offset(tiered, topic, word), count)


def test_a_rewind_to_the_local_start_reads_nothing_remote(tiered: Kafka, topic: str) -> None:
    group = tiered.unused_name("g")
    done = run(tiered, f"groups create {group} -t {topic} --from earliest-local --yes -o json")
    assert [item["new"] for item in done.items] == [scripts(tiered, topic, "earliest-local")]
    read = run(tiered, f"consume {topic} -g {group} -n 1 -o ndjson")
    assert NOTICE.format(topic) not in read.err
    done = run(tiered, f"groups rewind {group} --to latest-tiered --yes -o json")
    assert [item["new"] for item in done.items] == [scripts(tiered, topic, "latest-tiered")]
