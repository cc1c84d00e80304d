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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
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


def restore(*words: object) -> subprocess.CompletedProcess[str]:
    """A run of the command."""
    line = [sys.executable, "-m", "kcli", "segments", "restore", *map(str, words), "--yes", "-o", "json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600)
    print(done.stderr)
    return done


def judge(bootstrap: str, journal: Path) -> None:
    """The records of the new cluster, by the journal, and the positions of its groups."""
    ledger = read_ledger((journal / "records").read_text().splitlines(keepends=True))
    with CommittedReader(bootstrap, TOPIC, PARTITIONS) as there:
        there.read()
        found = check(ledger, RUN, there.reads(TOPIC))
        del found["unknown"]  # in flight when the brokers were killed
        print(f"{len(ledger.acked)} acknowledged, {sum(map(len, there.records))} restored: {dict(found)}")
        assert found == {}
        for group in (PLAIN, IN_TRANSACTIONS):
            _judge_group(bootstrap, journal, group, there)


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
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cluster_that_was_killed_under_load_is_restored(seed: int, tmp_path: Path) -> None:
    with sandboxed(brokers=3, jvm_options=QUICK_JVM) as old, sandboxed(jvm_options=QUICK_JVM) as new:
        paths = killed(old, seed, tmp_path)
        done = restore(*paths, "--to", new.bootstrap, "--with-groups")
        report = json.loads(done.stdout)
        assert (done.returncode, report["complete"]) == (0, True), done.stderr
        assert all(one["digest_source"] == one["digest_target"] for one in report["items"])
        judge(new.bootstrap, tmp_path)
