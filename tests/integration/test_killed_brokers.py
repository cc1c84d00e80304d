"""Three real brokers, ``__consumer_offsets`` with one replica, and two of them killed one after the other: each sample
has each group, or says that it is missing.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import confluent_kafka
import pytest

from kcli.core import Admin
from kcli.core.hooks import NO_HOOKS
from kcli.core.options import ClientOptions
from kcli.flows.groups.commit_times import offsets_partition
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from tests.exporting import command, get, until
from tests.kafka import FAST_FAILOVER, QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed
from tests.run import kcli_process, start
from tests.unit.exporter.pages import labels, parsed

pytestmark = [pytest.mark.integration, pytest.mark.long]

GROUPS = frozenset(f"g{number:02}" for number in range(12))


class Coordinators(NamedTuple):
    """The brokers that the partitions of ``__consumer_offsets`` are at."""

    leaders: Sequence[int]

    def of(self, group: str) -> int:
        return self.leaders[offsets_partition(group, len(self.leaders)).partition]

    def named(self, parts: Sequence[Mapping[str, Any]]) -> set[str]:
        """The groups that ``missing`` is about."""
        found: set[str] = set()
        for part in parts:
            kind, _, rest = part["what"].partition(" ")
            if kind == "group":
                found.add(rest)
            elif part["what"].startswith("the groups of broker "):
                found |= {group for group in GROUPS if self.of(group) == int(part["what"][-1])}
            elif kind == "groups":
                homes = [int(one) for one in part["where"].removeprefix("__consumer_offsets-").split(",")]
                count = len(self.leaders)
                found |= {group for group in GROUPS if offsets_partition(group, count).partition in homes}
        return found


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    single = {"offsets.topic.replication.factor": "1"}
    extra = {**TEST_PROPERTIES, **FAST_FAILOVER, **single}
    with sandboxed(brokers=3, extra=extra, jvm_options=QUICK_JVM) as made:
        yield made


def commit(kafka: Kafka) -> Coordinators:
    """Ten of thirty records of each group."""
    topic = kafka.topic("t", replicas=3)
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap})
    for _ in range(30):
        producer.produce(topic, b"x", partition=0)
    producer.flush()
    for group in sorted(GROUPS):
        consumer = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
        consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 10)], asynchronous=False)
        consumer.close()
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        [found] = admin.describe_topics(["__consumer_offsets"]).values()
        leaders = [part.leader for part in found.partitions]  # type: ignore[union-attr]
    assert {1, 2} <= {*leaders}
    return Coordinators(leaders)


def check_commands(kafka: Kafka, homes: Coordinators, lost: set[str]) -> None:
    for line in ("groups list -o json", "groups lag -o json"):
        done = kcli_process("--timeout", "3s", *line.split(), bootstrap=kafka.bootstrap)
        document = json.loads(done.out)
        read = {item["group"] for item in document["items"]}
        assert (read, homes.named(document["missing"])) == (GROUPS - lost, lost), line
        assert (done.returncode, document["complete"]) == ((6, False) if lost else (0, True)), line
    done = kcli_process(
        "--timeout", "3s", "groups", "export", "--all", "--format", "ndjson", bootstrap=kafka.bootstrap
    )
    lines = [json.loads(text) for text in done.out.splitlines()]
    missing = lines[0]["missing"] if lines[0]["kind"] == "OffsetExportHead" else []
    assert {one["group"] for one in lines if "group" in one} == GROUPS - lost
    assert homes.named(missing) == lost


def test_each_sample_has_each_group_or_says_that_it_is_missing(kafka: Kafka) -> None:
    homes = commit(kafka)
    latencies, board = Latencies(NO_HOOKS), Board()
    options = ClientOptions(bootstrap_servers=kafka.bootstrap)
    watch = start("--timeout", "3s", "groups", "lag", "--watch=1s", "-o", "ndjson", bootstrap=kafka.bootstrap)
    with (
        command(kafka.bootstrap, "--timeout", "3s", "--interval", "1s") as (_, url),
        Admin(options, latencies.hooks, timeout=3.0) as admin,
    ):
        monitor = Monitor(admin, latencies, Wanted())
        until(lambda: len(parsed(get(url).text).get("kcli_group_partitions", {})) == len(GROUPS))
        check_commands(kafka, homes, set())

        def sample() -> set[str]:
            """The groups that are not read, on the screen; each is on the page, or counted there."""
            shown = board.add(monitor.read(View()))
            unread = {line.group for line in shown.unread}
            assert {line.group for line in shown.groups} | unread == GROUPS
            assert all(line.last is not None and line.last.lag == 20 for line in shown.unread)
            assert bool(shown.lacks) >= bool(unread)
            page = parsed(get(url).text)
            if page["kcli_exporter_up"][labels()]:
                parts = page.get("kcli_missing", {})
                lacking = sum(count for at, count in parts.items() if ("what", "group") in at)
                assert len(page["kcli_group_partitions"]) + lacking == len(GROUPS)
                assert page["kcli_sample_complete"][labels()] == (not parts)
            else:
                assert not page["kcli_sample_complete"][labels()]
            return unread

        sample()
        lost: set[str] = set()
        for node in kafka.nodes[:2]:
            node.kill()
            lost |= {group for group in GROUPS if homes.of(group) == node.node_id}
            ends = time.monotonic() + 8  # the controller, if there is one, fences a broker after three
            while time.monotonic() < ends:
                assert sample() <= lost
            assert sample() == lost
            check_commands(kafka, homes, lost)
        assert kafka.sandbox is not None
        kafka.sandbox.up()  # those that are missing
        until(lambda: not sample(), 60)
        until(lambda: parsed(get(url).text)["kcli_sample_complete"][labels()] == 1, 30)
    watch.terminate()
    out, err = watch.communicate(timeout=30)
    first = min(group for group in GROUPS if homes.of(group) == kafka.nodes[0].node_id)
    assert {json.loads(line)["group"] for line in out.splitlines()} == GROUPS
    assert f"not read: group {first}" in err.decode()
