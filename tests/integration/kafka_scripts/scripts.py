"""Kafka's own scripts, run from their published jars in one JVM. Not a test.

Each script would start a JVM of its own, a second or more; ``ToolRunner.java`` runs their main classes one after another.
"""

import base64
import re
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pytest

from benchmarks._kafka_tools import STREAMS, tool
from tests.kafka import QUICK_JVM

RUNNER = Path(__file__).parent / "ToolRunner.java"
JARS = (
    "net/sourceforge/argparse4j/argparse4j/0.7.0/argparse4j-0.7.0.jar",
    STREAMS,
)
_TOOLS = "org.apache.kafka.tools."
SCRIPTS = {
    "kafka-topics": "TopicCommand",
    "kafka-console-producer": "ConsoleProducer",
    "kafka-console-consumer": "consumer.ConsoleConsumer",
    "kafka-console-share-consumer": "consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "consumer.group.ConsumerGroupCommand",
    "kafka-groups": "GroupsCommand",
    "kafka-share-groups": "consumer.group.ShareGroupCommand",
    "kafka-streams-groups": "streams.StreamsGroupCommand",
    "kafka-streams-application-reset": "StreamsResetter",
    "kafka-configs": "ConfigCommand",
    "kafka-client-metrics": "ClientMetricsCommand",
    "kafka-acls": "AclCommand",
    "kafka-delegation-tokens": "DelegationTokenCommand",
    "kafka-get-offsets": "GetOffsetShell",
    "kafka-delete-records": "DeleteRecordsCommand",
    "kafka-reassign-partitions": "reassign.ReassignPartitionsCommand",
    "kafka-leader-election": "LeaderElectionCommand",
    "kafka-transactions": "TransactionsCommand",
    "kafka-log-dirs": "LogDirsCommand",
    "kafka-metadata-quorum": "MetadataQuorumCommand",
    "kafka-features": "FeatureCommand",
    "kafka-cluster": "ClusterTool",
    "kafka-broker-api-versions": "BrokerApiVersionsCommand",
    "kafka-producer-perf-test": "ProducerPerformance",
    "kafka-consumer-perf-test": "ConsumerPerformance",
    "kafka-share-consumer-perf-test": "ShareConsumerPerformance",
    "kafka-e2e-latency": "EndToEndLatency",
    "kafka-dump-log": "DumpLogSegments",
}
"""Those by which people use and operate a cluster, with the class behind each."""

SUBCOMMANDS = {
    "kafka-transactions": (
        "list", "describe", "describe-producers", "abort", "find-hanging", "forceTerminateTransaction",
    ),
    "kafka-metadata-quorum": ("describe", "add-controller", "remove-controller"),
    "kafka-features": ("describe", "upgrade", "downgrade", "disable", "version-mapping", "feature-dependencies"),
    "kafka-cluster": ("cluster-id", "unregister", "list-endpoints", "api-versions"),
}  # fmt: skip
EVERYWHERE = frozenset({"--bootstrap-server", "--command-config", "--config", "--help", "--version"})
"""Options of nearly every script, which the page names once."""

_OPTION_LINE = re.compile(r" {0,3}(-.*)")
_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][-A-Za-z0-9.]*[A-Za-z0-9]")


class Ran(NamedTuple):
    """What a script answered."""

    status: int
    out: str
    err: str


class Scripts:
    """A JVM that runs scripts, one at a time."""

    def __init__(self) -> None:
        command = tool(str(RUNNER), *JARS)
        if command is None:
            pytest.skip("Kafka's tools cannot be had: there is no Java")
        command[1:2] = ["-Xmx256m", *QUICK_JVM, "-Djava.security.manager=allow"]
        self._jvm = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._jvm.communicate(timeout=30)

    def run(self, script: str, *arguments: str, stdin: bytes = b"") -> Ran:
        """One run of a script, called as it is in ``bin/`` without ``.sh``."""
        assert self._jvm.stdin is not None
        assert self._jvm.stdout is not None
        words = [_TOOLS + SCRIPTS[script], base64.b64encode(stdin).decode(), *arguments]
        try:
            self._jvm.stdin.write("\t".join(words) + "\n")
            self._jvm.stdin.flush()
            status, out, err = self._jvm.stdout.readline().rstrip("\n").split("\t")
        except BaseException:  # of a test whose time is up: the next one must not get this answer
            self._jvm.kill()
            shared.cache_clear()
            raise
        return Ran(int(status), base64.b64decode(out).decode(), base64.b64decode(err).decode())

    def options(self, script: str) -> list[str]:
        """All options of its own help and of its subcommands', but those that nearly every script has."""
        helps = [
            self.run(script, *words, "--help")
            for words in ((), *((one,) for one in SUBCOMMANDS.get(script, ())))
        ]
        return list(dict.fromkeys(name for one in helps for name in named_options(one.out + one.err)))


def named_options(text: str) -> list[str]:
    """The options that a help text of jopt-simple or argparse4j explains."""
    told = (found[1] for line in text.splitlines() if (found := _OPTION_LINE.fullmatch(line)))
    heads = (re.split(r"\s{2,}|<|\[", one)[0] for one in told)
    return [name for head in heads for name in _OPTION.findall(head) if name not in EVERYWHERE]


@cache
def shared() -> Scripts:
    """One for all tests of this process."""
    return Scripts()
