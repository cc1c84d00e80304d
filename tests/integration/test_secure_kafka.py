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


def refusal(kafka: SecureKafka, *arguments: str, **settings: str) -> str:
    """What a command that ends with 4 says."""
    return run(kafka, *arguments, code=4, **settings).stderr.decode()  # type: ignore[arg-type]


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
    ("arguments", "resource"),
    [
        (("produce", "TOPIC"), "topic TOPIC"),
        (("consume", "TOPIC", "--exit"), "topic TOPIC"),
        (("produce", "TOPIC", "--transactional-id", "tx-1"), "TOPIC"),
        (("topics", "create", "TOPIC-new"), "topic TOPIC-new"),
        (("configs", "describe", "topics", "TOPIC"), "topic TOPIC"),
        (("configs", "describe", "brokers", "1"), "broker 1"),
        (("groups", "rewind", "GROUP", "--topic", "TOPIC", "--to", "earliest", "--yes"), "group GROUP"),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_what_is_not_permitted_is_named(
    secure_kafka: SecureKafka, arguments: tuple[str, ...], resource: str
) -> None:
    topic = secure_kafka.topic()
    words = [word.replace("TOPIC", topic).replace("GROUP", f"g-{topic}") for word in arguments]
    said = refusal(secure_kafka, *words)
    assert resource.replace("TOPIC", topic).replace("GROUP", f"g-{topic}") in said
    assert "AUTHORIZATION_FAILED" in said
    assert "kcli acls create --principal User:NAME" in said


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
    assert len(seen) > 10_000
    assert not [password for password in passwords if password in seen]
