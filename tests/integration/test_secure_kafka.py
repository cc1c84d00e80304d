"""A secure Kafka: each way to connect, each thing that is wrong with it, and each permission that is missing."""

import os
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from kcli.sandbox.security.names import CLIENT_FILES, MUTUAL_TLS
from tests.command import kcli
from tests.secure_kafka import SecureKafka, unused_name, write_file

pytestmark = pytest.mark.integration

BY_CERTIFICATE = [name for name, way in CLIENT_FILES.items() if way.listener == MUTUAL_TLS]


def run(
    kafka: SecureKafka, *arguments: str, way: str = "alice-certificate", code: int = 0, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    done = kcli(*arguments, "-F", kafka.file(way), stdin=stdin, timeout=60)
    assert done.returncode == code, done.stderr.decode()
    return done


def refusal(kafka: SecureKafka, *arguments: str, stdin: bytes = b"") -> str:
    """What a command of alice's that ends with 4 says."""
    return run(kafka, *arguments, code=4, stdin=stdin).stderr.decode()


@pytest.mark.parametrize("way", CLIENT_FILES)
def test_the_judge_connects_with_each_file(secure_kafka: SecureKafka, way: str) -> None:
    client = AdminClient(secure_kafka.judge(way))
    client.poll(0)  # asks for the token
    assert len(client.list_topics(timeout=20).brokers) == 1


@pytest.mark.parametrize("way", [way for way in CLIENT_FILES if CLIENT_FILES[way].user == "alice"])
def test_alice_has_no_right_whatever_the_way(secure_kafka: SecureKafka, way: str) -> None:
    client = AdminClient(secure_kafka.judge(way))
    client.poll(0)
    topic = secure_kafka.topic()
    assert topic not in client.list_topics(timeout=20).topics


@pytest.mark.parametrize("way", BY_CERTIFICATE)
def test_a_round_trip_by_certificate(secure_kafka: SecureKafka, way: str) -> None:
    topic, group = secure_kafka.topic(), unused_name("g")
    secure_kafka.grant("alice", ("TOPIC", topic, "READ"), ("TOPIC", topic, "WRITE"), ("GROUP", group, "READ"))
    run(secure_kafka, "produce", topic, way=way, stdin=b"1\n2\n3\n")
    assert secure_kafka.values(topic) == [b"1", b"2", b"3"]
    assert run(secure_kafka, "consume", topic, "--exit", "-g", group, way=way).stdout == b"1\n2\n3\n"
    assert b"Empty" in run(secure_kafka, "groups", "describe", group, way=way).stdout


@pytest.mark.case("S3")
def test_another_ca_is_named(secure_kafka: SecureKafka, tmp_path: Path) -> None:
    from kcli.sandbox.security.certificates import Authority

    other = tmp_path / "ca.pem"
    other.write_bytes(Authority.create("another CA").certificate_pem())
    said = refusal(secure_kafka, "topics", "list", "-X", f"ssl.ca.location={other}")
    assert "certificate" in said


@pytest.mark.case("S3")
@pytest.mark.parametrize("wrong", ["none", "expired", "another CA"])
def test_a_client_certificate_that_the_broker_refuses(
    secure_kafka: SecureKafka, wrong: str, tmp_path: Path
) -> None:
    from datetime import timedelta

    from kcli.sandbox.security.certificates import Authority

    options = secure_kafka.options("alice-certificate")
    if wrong == "none":
        del options["ssl.certificate.location"], options["ssl.key.location"]
    else:
        signer = Authority.create("another CA") if wrong == "another CA" else secure_kafka.authority
        issued = signer.issue("alice", lifetime=timedelta(days=-1 if wrong == "expired" else 1))
        for key, data in (("certificate", issued.certificate_pem()), ("key", issued.key_pem())):
            path = tmp_path / key
            path.touch(0o600)
            path.write_bytes(data)
            options[f"ssl.{key}.location"] = str(path)
    done = kcli("topics", "list", "-F", write_file(tmp_path / "client.properties", options), timeout=60)
    said = done.stderr.decode()
    # kcli sees by itself that its own certificate has expired, and sends nothing.
    assert done.returncode == (2 if wrong == "expired" else 4), said
    assert "certificate" in said
    assert "\n  do: " in said


@pytest.mark.case("N4")
def test_a_plaintext_client_on_a_tls_listener(secure_kafka: SecureKafka) -> None:
    address = secure_kafka.bootstraps["SSL"]
    done = kcli("topics", "list", "-b", address, timeout=60)
    assert done.returncode in (2, 3)
    assert "TLS" in done.stderr.decode()


@pytest.mark.case("N4")
def test_a_tls_client_on_a_listener_without_tls(secure_kafka: SecureKafka) -> None:
    address = secure_kafka.bootstraps["SASL_PLAINTEXT"]
    done = kcli("topics", "list", "-F", secure_kafka.file("anonymous-tls"), "-b", address, timeout=60)
    assert done.returncode in (2, 3, 4)
    assert "TLS" in done.stderr.decode()


# Permissions.


@pytest.mark.case("S7")
def test_topics_without_permission_are_named_and_the_others_are_read(secure_kafka: SecureKafka) -> None:
    closed, open_ = secure_kafka.topic("closed"), secure_kafka.topic("open")
    secure_kafka.grant("alice", ("TOPIC", open_, "READ"), ("TOPIC", closed, "DESCRIBE"))
    secure_kafka.fill(open_, [b"1", b"2"])
    secure_kafka.fill(closed, [b"secret"])
    done = run(secure_kafka, "consume", open_, closed, "--exit", code=4)
    assert done.stdout == b"1\n2\n"
    assert f"fetch of {closed}-0 failed" in done.stderr.decode()


@pytest.mark.case("S7")
@pytest.mark.parametrize(
    "arguments",
    [
        ("groups", "describe", "GROUP", "OPEN"),
        ("groups", "lag", "GROUP", "OPEN"),
        ("groups", "export", "GROUP", "OPEN"),
    ],
    ids=["describe", "lag", "export"],
)
def test_a_group_without_permission_is_named_and_the_others_are_shown(
    secure_kafka: SecureKafka, arguments: tuple[str, ...]
) -> None:
    topic, closed, open_ = secure_kafka.topic(), unused_name("closed"), unused_name("open")
    secure_kafka.grant("alice", ("TOPIC", topic, "READ"), ("GROUP", open_, "READ"))
    secure_kafka.fill(topic, [b"1"])
    run(secure_kafka, "consume", topic, "--exit", "-g", open_)
    words = [{"GROUP": closed, "OPEN": open_}.get(word, word) for word in arguments]
    done = run(secure_kafka, *words, code=4)
    assert open_ in done.stdout.decode()
    assert f"group {closed}" in done.stderr.decode()
    assert "GROUP_AUTHORIZATION_FAILED" in done.stderr.decode()


@pytest.mark.case("S7")
@pytest.mark.parametrize(
    ("arguments", "lack", "grant"),
    [
        (("consume", "T", "--exit"), "no DESCRIBE permission on topic T", "describe --topic T"),
        (("produce", "T"), "no DESCRIBE permission on topic T", "describe --topic T"),
        (("topics", "create", "T-new"), "no CREATE permission on topic T-new", "create --topic T-new"),
        (("topics", "delete", "SEEN", "--yes"), "no DELETE permission on topic SEEN", "delete --topic SEEN"),
        (
            ("topics", "alter", "SEEN", "--partitions", "4", "--yes"),
            "no ALTER permission",
            "alter --topic SEEN",
        ),
        (("topics", "trim", "SEEN", "--before", "1", "--yes"), "no DELETE permission", "delete --topic SEEN"),
        (("consume", "SEEN", "--exit"), "no READ permission on topic SEEN", "read --topic SEEN"),
        (
            ("produce", "SEEN"),
            "AUTHORIZATION_FAILED",
            "write --topic",
        ),  # 31 if alice may write to no topic at all
        (("produce", "SEEN", "--no-idempotent"), "no WRITE permission on topic SEEN", "write --topic SEEN"),
        (("configs", "describe", "topics", "T"), "no DESCRIBE_CONFIGS", "describe_configs --topic T"),
        (("configs", "describe", "brokers", "1"), "no DESCRIBE_CONFIGS", "describe_configs --cluster"),
        (("cluster", "describe"), "no DESCRIBE permission on the cluster", "describe --cluster"),
        (("groups", "describe", "G"), "no DESCRIBE permission on group G", "describe --group G"),
        (
            ("groups", "delete", "G-SEEN", "--yes"),
            "no DELETE permission on group G-SEEN",
            "delete --group G-SEEN",
        ),
        (
            ("groups", "rewind", "G-SEEN", "--topic", "OPEN", "--to", "earliest", "--yes"),
            "no READ",
            "read --group",
        ),
        (
            ("consume", "OPEN", "-g", "G-SEEN", "--exit"),
            "no READ permission on group G-SEEN",
            "read --group G-SEEN",
        ),
    ],
    ids=lambda value: "-".join(value[:3]) if isinstance(value, tuple) else "",
)
def test_the_operation_and_the_resource_are_named_with_the_command_that_grants_it(
    secure_kafka: SecureKafka, seen: dict[str, str], arguments: tuple[str, ...], lack: str, grant: str
) -> None:
    def named(text: str) -> str:
        return " ".join(seen.get(word, word) for word in text.split(" "))

    said = refusal(secure_kafka, *map(named, arguments), stdin=b"1\n" if arguments[0] == "produce" else b"")
    assert named(lack) in said
    assert f"kcli acls create --principal User:NAME --operation {named(grant)}" in said


@pytest.fixture(scope="module")
def seen(secure_kafka: SecureKafka) -> dict[str, str]:
    """Names: alice may see, but not use, ``SEEN`` and ``G-SEEN``, and read ``OPEN``; of the others nothing."""
    names = {key: secure_kafka.topic(key.lower()) for key in ("T", "SEEN", "OPEN")}
    names |= {"T-new": unused_name("new"), "G": unused_name("g"), "G-SEEN": unused_name("seen")}
    secure_kafka.grant(
        "alice",
        ("TOPIC", names["SEEN"], "DESCRIBE"),
        ("TOPIC", names["SEEN"], "DESCRIBE_CONFIGS"),
        ("TOPIC", names["OPEN"], "READ"),
        ("GROUP", names["G-SEEN"], "DESCRIBE"),
    )
    secure_kafka.fill(names["SEEN"], [b"1", b"2"])
    secure_kafka.fill(names["OPEN"], [b"1"])
    run(secure_kafka, "consume", names["OPEN"], "-g", names["G-SEEN"], "--exit", way="admin-certificate")
    return names


@pytest.mark.case("S7")
def test_a_transactional_id_without_permission_is_named(secure_kafka: SecureKafka) -> None:
    topic, name = secure_kafka.topic(), unused_name("tx")
    secure_kafka.grant("alice", ("TOPIC", topic, "WRITE"))
    said = refusal(secure_kafka, "produce", topic, "--transactional-id", name)
    assert f"transaction {name}" in said
    assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in said


def test_no_password_is_in_a_command_line_or_a_log(secure_kafka: SecureKafka) -> None:
    from kcli.sandbox.security.material import prepare

    passwords = [
        secret.reveal().encode() for secret in prepare(secure_kafka.names.folder, [1]).passwords.values()
    ]
    state = secure_kafka.sandbox.nodes[0]
    seen = state.log.read_bytes()
    if os.path.isdir("/proc"):
        seen += Path(f"/proc/{state.pid}/cmdline").read_bytes()
        seen += Path(f"/proc/{state.pid}/environ").read_bytes()
    assert len(seen) > 10_000
    assert not [password for password in passwords if password in seen]
