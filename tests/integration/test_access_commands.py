"""``kcli acls`` and ``kcli quotas`` on a real broker; confluent-kafka and Kafka's own script are the judges."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.integration.kafka_script import configs
from tests.kafka import TEST_PROPERTIES, Kafka, sandboxed
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[Kafka]:
    """A broker with an authorizer; who connects without a name may do everything."""
    with sandboxed(extra=TEST_PROPERTIES | AUTHORIZER) as found:
        yield found


def kcli(kafka: Kafka, *words: str, code: int = 0) -> Done:
    done = kcli_process(*words, bootstrap=kafka.bootstrap)
    assert done.returncode == code, done.err
    return done


def items(kafka: Kafka, *words: str) -> list[dict[str, Any]]:
    return kcli(kafka, *words, "-o", "json").items


def judged(kafka: Kafka) -> set[tuple[str, ...]]:
    """All ACLs as confluent-kafka reads them."""
    everything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})  # has to live until the response is read
    found = admin.describe_acls(everything).result(120)
    return {
        (
            acl.principal, acl.permission_type.name, acl.operation.name,
            {"BROKER": "CLUSTER"}.get(acl.restype.name, acl.restype.name), acl.name,
            acl.resource_pattern_type.name, acl.host,
        )
        for acl in found
    }  # fmt: skip


def listed(kafka: Kafka) -> set[tuple[str, ...]]:
    keys = ("principal", "permission", "operation", "resource_type", "resource_name", "pattern", "host")
    verbatim = ("principal", "resource_name", "host")
    return {
        tuple(row[key] if key in verbatim else row[key].upper() for key in keys)
        for row in items(kafka, "acls", "list")
    }


def test_acls_are_created_listed_and_deleted_as_the_judge_sees_them(guarded: Kafka) -> None:
    create = ("acls", "create", "--principal", "User:alice", "--yes")
    kcli(guarded, *create, "--operation", "read", "--topic", "orders", "--group", "billing")
    kcli(guarded, *create, "--operation", "write", "--topic", "ord", "--pattern", "prefixed", "--host", "::1")
    kcli(guarded, *create, "--operation", "IdempotentWrite", "--cluster", "--deny")
    assert len(judged(guarded)) == 4
    assert listed(guarded) == judged(guarded)
    assert ("User:alice", "ALLOW", "WRITE", "TOPIC", "ord", "PREFIXED", "0:0:0:0:0:0:0:1") in judged(guarded)
    found = items(guarded, "acls", "list", "--topic", "orders", "--pattern", "match")
    assert {row["resource_name"] for row in found} == {"orders", "ord"}
    assert "unchanged" in {
        row["status"] for row in items(guarded, *create, "--operation", "read", "--topic", "orders")
    }
    rows = items(guarded, "acls", "delete", "--topic", "orders", "--group", "billing", "--yes")
    assert [row["status"] for row in rows] == ["done", "done"]
    assert listed(guarded) == judged(guarded)
    kcli(guarded, "acls", "delete", "--yes", code=2)
    kcli(guarded, "acls", "delete", "--principal", "User:alice", "--confirm", "User:alice")
    assert judged(guarded) == set()


def test_without_an_authorizer_it_is_7(kafka: Kafka) -> None:
    done = kcli(kafka, "acls", "list", code=7)
    assert "this cluster has no authorizer" in done.err
    create = ("acls", "create", "--principal", "User:a", "--operation", "read", "--topic", "t", "--yes")
    done = kcli(kafka, *create, code=7)
    assert "authorizer.class.name" in done.err


def test_quotas_are_those_that_kafkas_script_shows(kafka: Kafka) -> None:
    user = kafka.unused_name("user")
    kcli(kafka, "quotas", "alter", "--user", user, "--set", "producer_byte_rate=10MB/s", "--yes")
    kcli(
        kafka,
        "quotas",
        "alter",
        "--user",
        user,
        "--client-id",
        "etl",
        "--set",
        "request_percentage=12.5",
        "--yes",
    )
    shown = configs(kafka, "--describe", "--entity-type", "users", "--entity-name", user).stdout
    assert "producer_byte_rate=1.0E7" in shown
    rows = {
        (row["client_id"], row["key"], row["value"]) for row in items(kafka, "quotas", "list", "--user", user)
    }
    assert rows == {(None, "producer_byte_rate", 10_000_000), ("etl", "request_percentage", 12.5)}
    kcli(kafka, "quotas", "alter", "--user", user, "--unset", "producer_byte_rate", "--yes")
    assert len(items(kafka, "quotas", "list", "--user", user)) == 1
    for entity, change in (
        (("--user", "<default>"), "consumer_byte_rate=5"),
        (("--user", "\\<default>"), "consumer_byte_rate=6"),
        (("--ip", "192.0.2.7"), "connection_creation_rate=7"),
        (("--ip", "<default>"), "connection_creation_rate=8"),
        (("--client-id", "<default>"), "controller_mutation_rate=9.5"),
    ):
        kcli(kafka, "quotas", "alter", *entity, "--set", change, "--yes")
        (row,) = items(kafka, "quotas", "list", *entity)
        assert f"{row['key']}={row['value']}" == change
        kcli(kafka, "quotas", "alter", *entity, "--unset", row["key"], "--yes")
