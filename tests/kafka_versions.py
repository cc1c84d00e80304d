"""The versions of Kafka that kcli is tested with, and what some of them cannot do. Not a test.

``tests/integration/test_every_command.py`` holds it on real brokers, ``docs/compatibility.md`` shows it, and
``tests/checks/test_kafka_versions.py`` compares the page and the Makefile with it.
"""

from collections.abc import Mapping, Sequence

VERSIONS = ("2.8.2", "3.0.2", "3.3.2", "3.9.2", "4.0.2", "4.3.1", "4.4.0")
"""The oldest that is supported, the last ones with ZooKeeper and without, and the newest, which is the default."""
_SCRAM = "brokers manage SCRAM credentials since Kafka 2.7, those of KRaft clusters since 3.5"
_TOKENS = "brokers have delegation tokens since Kafka 1.1, those of KRaft clusters since 3.6"
FURTHER = {
    "configs alter groups": ("configs alter", "groups billing --set consumer.session.timeout.ms=50000 --yes"),
    "configs alter client-metrics": (
        "configs alter",
        "client-metrics apps --set interval.ms=5000 --set metrics=org.apache.kafka --yes",
    ),
    "configs list groups": ("configs list", "groups"),
    "consume -X group.protocol=consumer": (
        "consume",
        "orders -g modern -X group.protocol=consumer --from-beginning --exit",
    ),
    "groups list --type": ("groups list", "--type consumer"),
    "mirror run --exactly-once": (
        "mirror run",
        "--from {broker} --to {broker} -t orders --map-topic orders=once --job once --exactly-once --until-caught-up",
    ),
    "produce --transactional-id": ("produce", "orders {dir}/lines.txt -K : --transactional-id maker"),
    "quotas alter --ip": ("quotas alter", "--ip 127.0.0.1 --set connection_creation_rate=500 --yes"),
}
"""Lines besides those of the commands, by what they show."""

LACKS: Mapping[str, Mapping[Sequence[str], str]] = {
    "brokers unregister": {("2.8.2", "3.0.2"): "does not offer UnregisterBroker"},
    "configs list": {("2.8.2", "3.0.2", "3.3.2"): "does not offer ListConfigResources"},
    "configs alter groups": {
        ("2.8.2", "3.0.2", "3.3.2", "3.9.2"): "group billing has no configuration on these brokers"
    },
    "configs alter client-metrics": {
        ("2.8.2", "3.0.2", "3.3.2"): "client metrics apps has no configuration on these brokers"
    },
    "configs list groups": {
        ("2.8.2", "3.0.2", "3.3.2"): "does not offer ListConfigResources",
        ("3.9.2", "4.0.2"): "brokers list what has a configuration since Kafka 4.1",
    },
    "consume -X group.protocol=consumer": {
        ("2.8.2", "3.0.2", "3.3.2"): "does not offer ConsumerGroupHeartbeat",
        ("3.9.2",): "the brokers have switched its protocol off (KIP-848)",
    },
    "features upgrade": {("2.8.2", "3.0.2"): "there is no feature metadata.version"},
    "features downgrade": {("2.8.2", "3.0.2", "3.3.2", "3.9.2"): "there is no feature transaction.version"},
    "groups list --type": {("2.8.2", "3.0.2", "3.3.2"): "cannot filter groups by type"},
    "quorum describe": {("2.8.2", "3.0.2"): "does not offer DescribeQuorum"},
    **{
        key: {
            ("2.8.2", "3.0.2"): "does not offer DescribeQuorum",
            ("3.3.2",): "the voters of this quorum cannot be changed",  # nor can any of it, before Kafka 3.9
        }
        for key in ("quorum add-controller", "quorum remove-controller")
    },
    **{
        key: {("3.3.2",): _TOKENS}
        for key in ("tokens create", "tokens expire", "tokens list", "tokens renew")
    },
    **{key: {("3.3.2",): _SCRAM} for key in ("users delete", "users list", "users set")},
}
"""Which versions cannot do what, and what the error says of it."""

REFUSED_WITH = {"features upgrade": 1, "features downgrade": 1}
"""Exit codes other than 7: what was named does not exist."""


def lacking(what: str, version: str) -> str:
    """What the error says where the version cannot do it; empty where it can."""
    return next((said for versions, said in LACKS.get(what, {}).items() if version in versions), "")


def table() -> list[str]:
    """The lines of the page: what not all versions can do."""
    rows = [["", *VERSIONS], ["---"] * (len(VERSIONS) + 1)]
    rows += [
        [f"`{what}`", *("no" if lacking(what, version) else "yes" for version in VERSIONS)]
        for what in sorted(LACKS)
    ]
    return [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]
