"""Kafka's own scripts on the clusters of the tests. Not a test."""

import subprocess

from tests.integration.kafka_scripts.scripts import shared
from tests.kafka import Kafka
from tests.secure_kafka import SecureKafka


def consumer_groups(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-consumer-groups.sh``."""
    return _run(kafka, "kafka-consumer-groups", *arguments)


def share_groups(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-share-groups.sh``."""
    return _run(kafka, "kafka-share-groups", *arguments)


def streams_groups(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-streams-groups.sh``."""
    return _run(kafka, "kafka-streams-groups", *arguments)


def reset_application(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-streams-application-reset.sh``."""
    return _run(kafka, "kafka-streams-application-reset", *arguments)


def configs(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-configs.sh``."""
    return _run(kafka, "kafka-configs", *arguments)


def metadata_quorum(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-metadata-quorum.sh``."""
    return _run(kafka, "kafka-metadata-quorum", *arguments)


def metadata_quorum_of(controller: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same, which asks a controller."""
    return _ran("kafka-metadata-quorum", "--bootstrap-controller", controller, *arguments)


def features(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-features.sh``."""
    return _run(kafka, "kafka-features", *arguments)


def broker_api_versions(kafka: Kafka) -> subprocess.CompletedProcess[str]:
    """``kafka-broker-api-versions.sh``."""
    return _run(kafka, "kafka-broker-api-versions")


def transactions(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-transactions.sh``."""
    return _run(kafka, "kafka-transactions", *arguments)


def cluster_command(kafka: Kafka, verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-cluster.sh``, whose verb comes first."""
    return _ran("kafka-cluster", verb, "--bootstrap-server", kafka.bootstrap, *arguments)


def delegation_tokens(kafka: SecureKafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-delegation-tokens.sh`` as a super user."""
    return _secure(kafka, "kafka-delegation-tokens", *arguments)


def client_metrics(kafka: SecureKafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-client-metrics.sh`` as a super user."""
    return _secure(kafka, "kafka-client-metrics", *arguments)


def secure_configs(kafka: SecureKafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-configs.sh`` as a super user."""
    return _secure(kafka, "kafka-configs", *arguments)


def secure_acls(kafka: SecureKafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-acls.sh`` as a super user."""
    return _secure(kafka, "kafka-acls", *arguments)


def _secure(kafka: SecureKafka, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = kafka.file("admin-pkcs12")
    address = kafka.options("admin-pkcs12")["bootstrap.servers"]
    return _ran(script, "--bootstrap-server", address, "--command-config", file, *arguments)


def get_offsets(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-get-offsets.sh``."""
    return _run(kafka, "kafka-get-offsets", *arguments)


def reassign_partitions(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``kafka-reassign-partitions.sh``."""
    return _run(kafka, "kafka-reassign-partitions", *arguments)


def _run(kafka: Kafka, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _ran(script, "--bootstrap-server", kafka.bootstrap, *arguments)


def _ran(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([script, *arguments], *shared().run(script, *arguments))


def sorted_lines(text: str) -> list[str]:
    """What must be equal: the order of lines and blanks at their ends mean nothing."""
    return sorted(line.rstrip() for line in text.splitlines())
