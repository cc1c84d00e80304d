"""Three brokers under load are killed and thrown away; their folders are restored to a new cluster. Its records are those
that the brokers had acknowledged, each once and in order, none of an aborted transaction; its groups are at the right
records. Judged by another client's journal (``rescue_load.py``), and by what it reads.
"""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as JudgePartition

from kcli.sandbox.state import log_dirs
from tests.chaos.checker import check
from tests.chaos.ledger import read_ledger
from tests.chaos.mirror_audit import CommittedReader
from tests.chaos.payload import decode
from tests.integration.rescue_load import IN_TRANSACTIONS, PLAIN, RUN, read_commits
from tests.kafka import QUICK_JVM, Kafka, sandboxed

PARTITIONS = 3
TOPIC = "rescued"


@contextmanager
def load(kafka: Kafka, seed: int, folder: Path) -> Iterator[None]:
    """The load in a process of its own, which is killed at the end."""
    words = [kafka.bootstrap, TOPIC, str(PARTITIONS), str(seed), str(folder)]
    process = subprocess.Popen([sys.executable, "-m", "tests.integration.rescue_load", *words])
    try:
        yield
        assert process.poll() is None, "the load has ended by itself"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def folders(kafka: Kafka) -> list[Path]:
    """The log directories of the nodes, in their order."""
    assert kafka.sandbox is not None
    state = kafka.sandbox._state()
    return [path for node in kafka.nodes for path in log_dirs(state, node.node_id)]


def killed(kafka: Kafka, seed: int, journal: Path) -> list[Path]:
    """The log directories of a cluster that was killed under load."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    new = [NewTopic(name, PARTITIONS, 3) for name in (TOPIC, f"{TOPIC}-copies")]
    for made in admin.create_topics(new).values():
        made.result(120)
    with load(kafka, seed, journal):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            time.sleep(0.5)
            commits = [one.group for one in read_commits(journal, TOPIC) if one.event == "acked"]
            if min(commits.count(PLAIN), commits.count(IN_TRANSACTIONS)) >= 30:
                break
        else:
            pytest.fail("the load made no progress")
        time.sleep(random.Random(seed).uniform(0, 3))
        for node in kafka.nodes:
            node.kill()
    return folders(kafka)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "kcli", "segments", "restore", *map(str, words), "--yes", "-o", "json"]


def restore(*words: object) -> subprocess.CompletedProcess[str]:
    """A run of the command."""
    done = subprocess.run(command(*words), capture_output=True, text=True, timeout=600, check=False)
    print(done.stderr)
    return done


def judged(bootstrap: str, journal: Path) -> Counter[str]:
    """The verdicts on the records of the new cluster, by the journal; the positions of its groups are asserted."""
    ledger = read_ledger((journal / "records").read_text().splitlines(keepends=True))
    with CommittedReader(bootstrap, TOPIC, PARTITIONS) as there:
        there.read()
        found = check(ledger, RUN, there.reads(TOPIC))
        del found["unknown"]  # in flight when the brokers were killed
        print(f"{len(ledger.acked)} acknowledged, {sum(map(len, there.records))} restored: {dict(found)}")
        for group in (PLAIN, IN_TRANSACTIONS):
            _judge_group(bootstrap, journal, group, there)
    return found


def _judge_group(bootstrap: str, journal: Path, group: str, there: CommittedReader) -> None:
    """Between the last commit that was acknowledged and the last one that was sent."""
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    wanted = [JudgePartition(TOPIC, partition) for partition in range(PARTITIONS)]
    committed = {one.partition: one.offset for one in reader.committed(wanted, timeout=60)}
    reader.close()
    commits = [one for one in read_commits(journal, TOPIC) if one.group == group]
    for partition in range(PARTITIONS):
        own = [one for one in commits if one.partition == partition]
        acked = [one.last for one in own if one.event == "acked"]
        records = [payload.id for one in there.records[partition] if (payload := decode(one.value))]
        before = sum(offset < committed[partition] for offset in there._offsets[partition])
        least = records.index(acked[-1]) + 1
        most = records.index(own[-1].last) + 1
        print(f"{group} {partition}: offset {committed[partition]} after {before} records, {least} to {most}")
        assert least <= before <= most


@pytest.mark.long
@pytest.mark.parametrize(("seed", "lost"), [(1, None), (2, None), (3, 0), (4, 1), (5, 2)])
def test_a_cluster_that_was_killed_under_load_is_restored(
    seed: int, lost: int | None, tmp_path: Path
) -> None:
    """``lost``: the broker whose disk is gone."""
    with sandboxed(brokers=3, jvm_options=QUICK_JVM) as old, sandboxed(jvm_options=QUICK_JVM) as new:
        paths = [path for node, path in enumerate(killed(old, seed, tmp_path)) if node != lost]
        done = restore(*paths, "--to", new.bootstrap, "--with-groups")
        report = json.loads(done.stdout)
        assert (done.returncode, report["complete"]) == (0, True), done.stderr
        assert all(one["digest_source"] == one["digest_target"] for one in report["items"])
        assert judged(new.bootstrap, tmp_path) == {}


@pytest.mark.long
def test_damage_is_read_around_and_a_restore_that_is_killed_continues(tmp_path: Path) -> None:
    """A batch is damaged on one disk: another one has it. Then on all of them: it ends the partition, or is left out."""
    with (
        sandboxed(brokers=3, jvm_options=QUICK_JVM) as old,
        sandboxed(jvm_options=QUICK_JVM) as new,
        sandboxed(jvm_options=QUICK_JVM) as other,
    ):
        paths = killed(old, 6, tmp_path)
        line = [*paths, "--to", new.bootstrap, "--with-groups"]
        _damage(paths[0], 0)
        for seconds in (1.0, 1.5, 2.0, 2.5, 3.0):
            process = subprocess.Popen(command(*line), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            process.kill()
            process.wait()
        done = restore(*line)
        assert done.returncode == 0
        assert judged(new.bootstrap, tmp_path) == {}
        records = max([_damage(path, 0) for path in paths[1:]])
        line = [*paths, "--to", other.bootstrap, "-t", TOPIC, "--with-groups"]
        stopped = restore(*line)
        assert stopped.returncode == 5
        skipped = restore(*line, "--on-corrupt", "skip")
        assert skipped.returncode == 6
        report = json.loads(skipped.stdout)
        assert [one["gaps"] != [] for one in report["items"]] == [True, False, False]
        found = judged(other.bootstrap, tmp_path)
        assert found.pop("lost", 0) <= records
        assert found == {}


def _damage(path: Path, partition: int) -> int:
    """Flips a byte of the hundredth batch of the partition, or of the next with records; returns how many it has."""
    file = next((path / f"{TOPIC}-{partition}").glob("*.log"))
    data = bytearray(file.read_bytes())
    at = 0
    places = []
    while at < len(data):
        places.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    place = next(at for at in places[100:] if not data[at + 22] & 0x20)  # no marker
    data[place + 70] ^= 0x55
    file.write_bytes(data)
    return int.from_bytes(data[place + 57 : place + 61], "big")
