"""What the rows of the error table are run against: a cluster with topics and groups, bad peers, files. Not a test."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from kcli.core import Consumer
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.peers import PEERS, Peer
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.fake.scram_store import Credential
from tests.fault.watching import closed_port
from tests.run import ROOT
from tests.unit.flows.perf.made_up_runs import made_up_item

SCRAM_SHA_512 = 2

TOPICS = {"orders": 3, "payments": 1, "cut": 1, "small": 1, "scratch": 1, "held": 1, "compacted": 1}
FILES = {
    "broken.csv": "orders,0\n",
    "one.csv": "orders,0,3\n",
    "typo.properties": "linger.mss=5\n",
    "sasl.conf": "bootstrap.servers=h:1\nsasl.username=me\nsasl.password=secret\n",
    "near.conf": "queue.buffering.max.m=5\n",
    "xdg/kcli/config.toml": """current = "prod"

[profiles.test]
bootstrap.servers = "h:1"
linger.mss = 5

[profiles.locked]
read_only = true
[profiles.guarded]
protected = true
[profiles.pinned]
cluster_id = "somebody-elses"
""",
    "home/kcli/config.toml": """current = "test"
[profiles.test]
bootstrap.servers = "h:1"
[profiles.ann]
bootstrap.servers = "h:1"
""",
    "unused/kcli/config.toml": '[profiles.ann]\nbootstrap.servers = "h:1"\n',
    "spoilt/_kcli_manifest.json": "{",
    "rpk.yaml": "profiles:\n  - name: there\n    kafka_api:\n      brokers: [h:1]\n",
    "billing.csv": "billing,orders,0,3\n",
    "moves.json": '{"version":1,"partitions":[{"topic":"scratch","partition":0,"replicas":[1]}]}',
    "two.txt": "small\n" + "x" * 3000 + "\n",
    "bad.ndjson": '{"value": "a"}\n{"value": \n',
    "without/fastavro.py": "raise ImportError('no fastavro here')\n",
}


@dataclass(slots=True)
class World:
    """``cluster`` is whole again after ``tidy``; ``words`` are what the placeholders of a row stand for."""

    cluster: FakeCluster
    words: dict[str, str]
    _mends: list[Callable[[], object]] = field(default_factory=list)

    def member_of(self, group: str) -> None:
        """Gives the group a member that reads ``orders``."""
        consumer = Consumer(
            bootstrap_servers=self.cluster.bootstrap, group_id=group, client_id="reader", heartbeat_interval_ms=100,
            enable_auto_commit=False,
        )  # fmt: skip
        self._mends.append(consumer.close)
        consumer.subscribe("orders")
        while not consumer.assignment:
            consumer.poll(0.2)
        (self.words["member"],) = self.cluster.group_members(group)

    def without_leader(self, topic: str) -> None:
        """The topic's first partition has none."""
        self.cluster.move_leader(topic, 0, -1)
        self._mends.append(lambda: self.cluster.move_leader(topic, 0, 1))

    def internal(self, topic: str) -> None:
        """There is this topic of Kafka's own."""
        self.cluster.create_topic(topic, 1)
        self._mends.append(lambda: self.cluster.delete_topic(topic))

    def removed_after(self, topic: str) -> None:
        """The topic, which the row creates."""
        self._mends.append(lambda: self.cluster.delete_topic(topic))

    def broken_config(self, there: bool) -> None:
        """A folder that is called like the file of profiles, in the folder ``broken``."""
        path = Path(self.words["dir"]) / "broken/kcli/config.toml"
        path.mkdir(parents=True) if there else path.rmdir()

    def cap(self, api: type[Request], version: int) -> None:
        """The broker offers no newer one."""
        self.cluster.cap_versions({api: version})
        newest = api.versions[1]
        self._mends.append(lambda: self.cluster.cap_versions({api: newest}))

    def advertise(self, address: str) -> None:
        """Metadata names another port for the broker."""
        port = int(address.rpartition(":")[2])
        self.cluster.lie(lambda answer: [setattr(broker, "port", port) for broker in answer.brokers])

    def damage(self) -> None:
        """A bit of what is fetched is flipped."""

        def flip(_request: object, answer: object) -> None:
            for topic in answer.responses:  # type: ignore[attr-defined]
                for data in topic.partitions:
                    if data.records:
                        raw = bytearray(b"".join(data.records))
                        raw[-2] ^= 1
                        data.records = [bytes(raw)]

        self.cluster.replace(FetchRequest, flip)

    def tidy(self) -> None:
        """Members leave; what a row has broken is mended."""
        self.cluster.heal()
        while self._mends:
            self._mends.pop()()


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """``billing`` has read half of a partition of ``orders``, ``mixed`` has commits on two topics, the log of ``cut``
    begins behind what ``old`` has committed, ``small`` takes small records only, a transaction is open in ``held``.
    """
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name in ("before.json", "after.json"):
        report = {"kind": "PerfReport", "api": "kcli/v1", "items": [made_up_item(Random(1))], "warnings": []}
        (folder / name).write_text(json.dumps(report))
    with ExitStack() as stack:
        cluster = stack.enter_context(FakeCluster(1, topics=TOPICS))
        for topic, partition in (("orders", 0), ("orders", 1), ("orders", 2), ("payments", 0), ("cut", 0)):
            put(cluster, topic, partition)
        cluster.delete_records("cut", 0, 5)
        cluster.configure("small", max_message_bytes="1000")
        cluster.configure("compacted", cleanup_policy="compact")
        orders, payments, cut = (TopicPartition(name, 0) for name in ("orders", "payments", "cut"))
        commit(cluster, "billing", {orders: OffsetAndMetadata(10)})
        commit(cluster, "mixed", {orders: OffsetAndMetadata(5), payments: OffsetAndMetadata(5)})
        commit(cluster, "old", {cut: OffsetAndMetadata(1)})
        other = stack.enter_context(FakeCluster(1, topics={"scratch": 1}, cluster_id="other-cluster-id"))
        cluster.scram.changed["ann", SCRAM_SHA_512] = Credential.of_password("sha512", b"salt", 4096, "pw")
        transaction = RawTransaction(
            stack.enter_context(RawClient(cluster.address(1))), "import-1", topic="held"
        )
        transaction.init()
        transaction.produce(0)
        words = {"cluster": cluster.bootstrap, "other": other.bootstrap}
        words |= {"dir": str(folder), "root": str(ROOT)}
        words["closed"] = f"127.0.0.1:{stack.enter_context(closed_port())}"
        for word in ("silence", "http", "tls", "ssh"):
            words[word] = stack.enter_context(Peer(PEERS[word])).address
        found = World(cluster, words)
        stack.callback(found.tidy)
        yield found
