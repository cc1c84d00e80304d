"""What the rows of the page name, on a real broker: made again before each row, and described by Kafka's own scripts.

Not a test.
"""

import re
import uuid
from collections.abc import Sequence
from pathlib import Path

from kcli.core import Admin, ConfigChange, ConfigKind, ConfigResource, Producer
from kcli.core.admin.acls import AclBinding, AclFilter, AclPattern, AclPermission, AclResource
from kcli.core.admin.configs import ConfigOp
from kcli.core.admin.topics import TopicInfo
from kcli.core.permissions import AclOperation
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition, TopicSpec
from tests.integration.kafka_scripts.scripts import Ran, Scripts
from tests.kafka import Kafka
from tests.run import Done, kcli_process

TOPICS = {"orders": 3, "numbers": 1, "load": 1}
RECORDS = 18
"""In orders, six in each partition."""
LOAD = 1_000
FIRST_TIME = 1_732_179_900_000
GROUP = "billing"
POSITION = 5
SUBCOMMANDS_LAST = "kafka-transactions"
"""The script that takes no option of its own behind a subcommand."""
SHARE_GROUP = "work"
START = 1
READS = AclBinding(
    AclResource.TOPIC, "orders", AclPattern.LITERAL, "User:carol", AclPermission.ALLOW, AclOperation.READ, "*"
)
MADE = ("readers", "perf")
"""Groups that rows make."""
FILES = {
    "client.properties": "client.id=rows\n",
    "topic.properties": "retention.ms=60000\nsegment.bytes=1048576\n",
    "offsets.csv": "orders,0,2\norders,1,3\norders,2,4\n",
    "records.json": '{"version":1,"partitions":[{"topic":"orders","partition":0,"offset":3}]}',
    "topics.json": '{"version":1,"topics":[{"topic":"orders"}]}',
    "moves.json": '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1]}]}',
    "partitions.json": '{"partitions":[{"topic":"orders","partition":0},{"topic":"orders","partition":1}]}',
    "reader.properties": "parse.key=true\nkey.separator=:\n",
    "formatter.properties": "print.key=true\n",
    "lines.txt": "one;two;three;",
}
CONFIGURED = {
    (ConfigKind.BROKER, ""): ("message.max.bytes",),
    (ConfigKind.GROUP, GROUP): ("consumer.session.timeout.ms",),
    (ConfigKind.GROUP, SHARE_GROUP): ("share.auto.offset.reset",),
    (ConfigKind.BROKER_LOGGER, "1"): ("kafka.server.KafkaApis",),
    (ConfigKind.CLIENT_METRICS, "apps"): ("metrics", "interval.ms", "match"),
}
"""What rows set on something else than a topic."""
_IDLE_LOGGER = re.compile("=INFO sensitive=false")
"""Loggers come into being while a broker runs."""
_VARIES = re.compile(r"TopicId: \S+")
STATE = (
    ("kafka-topics", "--describe", "--exclude-internal"),
    ("kafka-get-offsets", "--exclude-internal-topics"),
    ("kafka-get-offsets", "--exclude-internal-topics", "--time", "earliest"),
    ("kafka-consumer-groups", "--describe", "--all-groups"),
    ("kafka-share-groups", "--describe", "--all-groups"),
    ("kafka-acls", "--list"),
    ("kafka-reassign-partitions", "--list"),
    ("kafka-configs", "--describe", "--broker-defaults"),
    ("kafka-configs", "--describe", "--broker", "1"),
    ("kafka-configs", "--describe", "--broker-logger", "1"),
    ("kafka-configs", "--describe", "--group", "billing"),
    ("kafka-configs", "--describe", "--entity-type", "client-metrics"),
    *(("kafka-configs", "--describe", "--entity-type", kind) for kind in ("users", "clients", "ips")),
    *(("kafka-configs", "--describe", f"--{kind}-defaults") for kind in ("user", "client", "ip")),
)
"""What the scripts say of all that a row could change."""
EVERY_FIELD = (
    *("print.key=true", "print.headers=true"),
    *("key.separator=|", "null.literal=NULL"),
)


class World:
    """A broker, a folder with the files that rows name, and a JVM for the scripts."""

    def __init__(self, kafka: Kafka, scripts: Scripts, folder: Path) -> None:
        self.kafka, self.scripts, self.folder = kafka, scripts, folder
        self._is_new = False
        for name, text in FILES.items():
            (folder / name).write_text(text)

    def script(self, name: str, words: Sequence[str], stdin: bytes = b"") -> Ran:
        """The script with these words, its files in the folder."""
        files = [str(self.folder / word) if word in FILES else self._real(word) for word in words]
        cluster = (
            ["--bootstrap-server", self.kafka.bootstrap] if "--bootstrap-controller" not in words else []
        )
        files = [*cluster, *files] if name == SUBCOMMANDS_LAST else [*files, *cluster]
        return self.scripts.run(name, *files, stdin=stdin)

    def kcli(self, words: Sequence[str], stdin: bytes = b"") -> Done:
        """kcli with these words; it asks nothing."""
        files = [str(self.folder / word) if word in FILES else self._real(word) for word in words]
        files = [f"@{self.folder / word[1:]}" if word[1:] in FILES else word for word in files]
        return kcli_process(*files, "--yes", bootstrap=self.kafka.bootstrap, stdin=stdin)

    def _real(self, word: str) -> str:
        """What a placeholder stands for."""
        if word == "$(uuidgen)":
            return str(uuid.uuid4())
        if word not in ("ID", "CONTROLLER"):
            return word
        with Admin(bootstrap_servers=self.kafka.bootstrap) as admin:
            if word == "CONTROLLER":
                quorum = admin.describe_quorum()
                return quorum.endpoints[quorum.leader]
            found = admin.describe_topics(["orders"])["orders"]
        assert isinstance(found, TopicInfo)
        return found.topic_id

    def state(self) -> list[str]:
        """What the scripts say of everything, line by line."""
        return [
            f"{' '.join(words)}: {line}"
            for name, *words in STATE
            for line in sorted(_VARIES.sub("", self.script(name, words).out).splitlines())
            if line.strip() and not _IDLE_LOGGER.search(line)
        ]

    def records(self, topic: str) -> list[str]:
        """All records of a topic as Kafka's console consumer prints them."""
        shown = [word for one in EVERY_FIELD for word in ("--formatter-property", one)]
        words = ["--topic", topic, "--from-beginning", "--timeout-ms", "1500", *shown]
        printed = self.script("kafka-console-consumer", words).out.splitlines()
        return sorted(line for line in printed if line.count("|") == 2)

    def changed(self) -> None:
        """It has to be made again before the next row."""
        self._is_new = False

    def begin(self) -> None:
        """Everything as it was before the first row."""
        if self._is_new:
            return
        with Admin(bootstrap_servers=self.kafka.bootstrap) as admin:
            _clear(admin)
            _fill(admin, self.kafka.bootstrap)
        self._is_new = True


def _clear(admin: Admin) -> None:
    topics = [one.name for one in admin.list_topics() if not one.internal]
    made = [one.group_id for one in admin.list_groups().groups if one.group_id in MADE]
    outcomes = [admin.delete_topics(topics), admin.delete_groups(made)]
    admin.delete_acls([AclFilter()])
    unset = {
        ConfigResource(kind, name): [ConfigChange(key, None, ConfigOp.DELETE) for key in keys]
        for (kind, name), keys in CONFIGURED.items()
    }
    assert set(admin.alter_configs(unset).values()) == {None}
    for entity, quotas in admin.describe_quotas().items():
        admin.alter_quotas(entity, dict.fromkeys(quotas))
    assert all(error is None for outcome in outcomes for error in outcome.values()), outcomes


def _fill(admin: Admin, bootstrap: str) -> None:
    """Times of orders are a minute apart; the group has read five of the six records of each partition."""
    made = admin.create_topics(
        [TopicSpec(name, partitions, 1, {"retention.ms": "-1"}) for name, partitions in TOPICS.items()]
    )
    assert set(made.values()) == {None}, [str(error) for error in made.values()]
    with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(RECORDS):
            producer.send(_order(number))
        producer.send(ProducerRecord("numbers", (7).to_bytes(8, "big"), key=b"seven"))
        for number in range(LOAD):
            producer.send(ProducerRecord("load", b"%04d" % number, partition=0))
    apps = ConfigResource(ConfigKind.CLIENT_METRICS, "apps")
    assert admin.alter_configs({apps: [ConfigChange("interval.ms", "30000")]})[apps] is None
    assert admin.create_acls([READS]) == {READS: None}
    work = ConfigResource(ConfigKind.GROUP, SHARE_GROUP)
    reset = ConfigChange("share.auto.offset.reset", "earliest")
    assert admin.alter_configs({work: [reset]})[work] is None
    starts = {TopicPartition("orders", number): START for number in range(3)}
    assert set(admin.alter_share_offsets({SHARE_GROUP: starts})[SHARE_GROUP].values()) == {None}
    positions = {TopicPartition("orders", number): OffsetAndMetadata(POSITION) for number in range(3)}
    assert set(admin.commit_offsets({GROUP: positions})[GROUP].values()) == {None}


def _order(number: int) -> ProducerRecord:
    return ProducerRecord(
        "orders", b"v%d" % number, key=b"k%d" % number, partition=number % 3, headers=(("src", b"web"),),
        timestamp=FIRST_TIME + 60_000 * number,
    )  # fmt: skip
