"""Apache Kafka's own perf, console and group tools, run from their jars beside those of the sandbox's broker."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

from kcli.sandbox.artifacts import classpath
from kcli.sandbox.config import DEFAULT_VERSION
from kcli.sandbox.fetch import Fetcher
from kcli.sandbox.jar_list import repository_of
from kcli.sandbox.paths import cache_root

VERSION = DEFAULT_VERSION
_TOOLS = f"org/apache/kafka/kafka-tools/{VERSION}/kafka-tools-{VERSION}.jar"
_ALSO = (
    f"org/apache/kafka/kafka-tools-api/{VERSION}/kafka-tools-api-{VERSION}.jar",
    "net/sf/jopt-simple/jopt-simple/5.0.4/jopt-simple-5.0.4.jar",
    "com/fasterxml/jackson/dataformat/jackson-dataformat-csv/2.21.7/jackson-dataformat-csv-2.21.7.jar",
)

PRODUCER_PERF = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERF = "org.apache.kafka.tools.ConsumerPerformance"
END_TO_END = "org.apache.kafka.tools.EndToEndLatency"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
SHARE_CONSUMER_PERF = "org.apache.kafka.tools.ShareConsumerPerformance"
STREAMS = f"org/apache/kafka/kafka-streams/{VERSION}/kafka-streams-{VERSION}.jar"
ROCKSDB = "org/rocksdb/rocksdbjni/10.1.3/rocksdbjni-10.1.3.jar"
"""The stores of Kafka Streams that are on disk need it."""


@cache
def tool(main: str, *more: str) -> list[str] | None:
    """The command that runs a tool's main class, or a source file; None where there is no Java or its jars cannot be had.

    ``more``: further jars, by their places in the repository.
    """
    java = shutil.which("java")
    if java is None:
        return None
    repository = repository_of(cache_root())
    jars = [str(jar) for jar in classpath(VERSION)]
    for path in (_TOOLS, *_ALSO, *more):
        target = repository / path
        if not target.exists():
            _fetch(path, target)
        jars.append(str(target))
    return [java, "-Xmx1g", "-cp", os.pathsep.join(jars), main]


def _fetch(path: str, target: Path) -> None:
    from jgo.constants import MAVEN_CENTRAL_URL

    base = os.environ.get("KCLI_MAVEN_REPO") or str(MAVEN_CENTRAL_URL)
    Fetcher(base).fetch(path, target, on_bytes=lambda _count: None)
