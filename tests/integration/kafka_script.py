"""Kafka's own scripts, each run as its class from the published jars. Not a test."""

import subprocess

import pytest

from benchmarks import _kafka_tools as tools
from tests.kafka import Kafka
from tests.secure_kafka import SecureKafka

ACLS = "org.apache.kafka.tools.AclCommand"


def consumer_groups(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-consumer-groups.sh``."""
    return _run(kafka, tools.CONSUMER_GROUPS, *arguments)


def share_groups(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-share-groups.sh``."""
    return _run(kafka, tools.SHARE_GROUPS, *arguments)


def streams_groups(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-streams-groups.sh``."""
    return _run(kafka, tools.STREAMS_GROUPS, *arguments)


def reset_application(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-streams-application-reset.sh``."""
    return _run(kafka, tools.STREAMS_RESETTER, *arguments)


def configs(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-configs.sh``."""
    return _run(kafka, tools.CONFIGS, *arguments)


def metadata_quorum(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-metadata-quorum.sh``."""
    return _run(kafka, "org.apache.kafka.tools.MetadataQuorumCommand", *arguments)


def features(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-features.sh``."""
    return _run(kafka, "org.apache.kafka.tools.FeatureCommand", *arguments)


def broker_api_versions(kafka: Kafka) -> subprocess.CompletedProcess[str]:
    """``kafka-broker-api-versions.sh``."""
    return _run(kafka, "org.apache.kafka.tools.BrokerApiVersionsCommand")


def transactions(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-transactions.sh``."""
    return _run(kafka, "org.apache.kafka.tools.TransactionsCommand", *arguments)


def cluster_command(kafka: Kafka, verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-cluster.sh``, whose verb comes first."""
    command = tools.tool("org.apache.kafka.tools.ClusterTool")
    if command is None:
        pytest.skip("there is no Java to run Kafka's script")
    words = [*command, verb, "--bootstrap-server", kafka.bootstrap, *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def delegation_tokens(kafka: SecureKafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-delegation-tokens.sh`` as a super user."""
    return _secure(kafka, "org.apache.kafka.tools.DelegationTokenCommand", *arguments)


def client_metrics(kafka: SecureKafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-client-metrics.sh`` as a super user."""
    return _secure(kafka, "org.apache.kafka.tools.ClientMetricsCommand", *arguments)


def secure_configs(kafka: SecureKafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-configs.sh`` as a super user."""
    return _secure(kafka, tools.CONFIGS, *arguments)


def secure_acls(kafka: SecureKafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-acls.sh`` as a super user."""
    return _secure(kafka, ACLS, *arguments)


def _secure(kafka: SecureKafka, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = kafka.file("admin-pkcs12")
    address = kafka.options("admin-pkcs12")["bootstrap.servers"]
    return _run_at(address, main, "--command-config", file, *arguments)


def get_offsets(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-get-offsets.sh``."""
    return _run(kafka, tools.GET_OFFSETS, *arguments)


def leader_election(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-leader-election.sh``."""
    return _run(kafka, tools.LEADER_ELECTION, *arguments)


def topics(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-topics.sh``."""
    return _run(kafka, tools.TOPICS, *arguments)


def reassign_partitions(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-reassign-partitions.sh``."""
    return _run(kafka, tools.REASSIGN_PARTITIONS, *arguments)


def _run(kafka: Kafka, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run_at(kafka.bootstrap, main, *arguments)


def _run_at(bootstrap: str, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs it to its end. Skips where there is no Java, or its jars cannot be had."""
    command = tools.tool(main)
    if command is None:
        pytest.skip("there is no Java to run Kafka's script")
    return subprocess.run(
        [*command, "--bootstrap-server", bootstrap, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def sorted_lines(text: str) -> list[str]:
    """What must be equal: the order of lines and blanks at their ends mean nothing."""
    return sorted(line.rstrip() for line in text.splitlines())
