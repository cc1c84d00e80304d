"""A secure Kafka as the judge sees it, certificates of clients that it refuses, and what is named while the rest is done.

Each way to connect is in ``test_authentication_command.py``, each missing permission in ``test_grants_command.py``.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kcli.sandbox.security.names import CLIENT_FILES
from tests.integration.kafka_script import secure_configs
from tests.run import kcli_process
from tests.secure_kafka import SecureKafka, unused_name, write_file

pytestmark = pytest.mark.integration


def run(
    kafka: SecureKafka, *arguments: str, way: str = "alice-certificate", code: int = 0, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    done = kcli_process(*arguments, "-F", kafka.file(way), stdin=stdin, timeout=60)
    assert done.returncode == code, done.stderr.decode()
    return done


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


@pytest.mark.case("S3")
@pytest.mark.parametrize("wrong", ["expired", "another CA"])
def test_a_client_certificate_that_the_broker_refuses(
    secure_kafka: SecureKafka, wrong: str, tmp_path: Path
) -> None:
    from datetime import timedelta

    from kcli.sandbox.security.certificates import Authority

    options = secure_kafka.options("alice-certificate")
    signer = Authority.create("another CA") if wrong == "another CA" else secure_kafka.authority
    issued = signer.issue("alice", lifetime=timedelta(days=-1 if wrong == "expired" else 1))
    for key, data in (("certificate", issued.certificate_pem()), ("key", issued.key_pem())):
        path = tmp_path / key
        path.touch(0o600)
        path.write_bytes(data)
        options[f"ssl.{key}.location"] = str(path)
    done = kcli_process(
        "topics", "list", "-F", write_file(tmp_path / "client.properties", options), timeout=60
    )
    said = done.stderr.decode()
    # kcli sees by itself that its own certificate has expired, and sends nothing.
    assert done.returncode == (2 if wrong == "expired" else 4), said
    assert "certificate" in said
    assert "\n  do: " in said


# Permissions.


@pytest.mark.case("S7")
@pytest.mark.parametrize("how", ["alone", "classic", "consumer"])
def test_topics_without_permission_are_named_and_the_others_are_read(
    secure_kafka: SecureKafka, how: str
) -> None:
    hidden, closed, open_ = (secure_kafka.topic(name) for name in ("hidden", "closed", "open"))
    group = unused_name("g")
    secure_kafka.grant(
        "alice", ("TOPIC", open_, "READ"), ("TOPIC", closed, "DESCRIBE"), ("GROUP", group, "READ")
    )
    secure_kafka.fill(open_, [b"1", b"2"])
    secure_kafka.fill(closed, [b"secret"])
    secure_kafka.fill(hidden, [b"secret"])
    member = () if how == "alone" else ("-g", group, "-X", f"group.protocol={how}")
    # A group's member commits nothing for what it may not read: that is refused as well.
    code = 6 if how == "alone" else 4
    done = run(secure_kafka, "consume", hidden, closed, open_, "--exit", *member, code=code)
    assert done.stdout == b"1\n2\n"
    said = done.stderr.decode()
    assert f"no DESCRIBE permission on topic {hidden}, if it exists" in said
    assert f"no READ permission on topic {closed}" in said
    if how != "alone":
        (lag,) = json.loads(run(secure_kafka, "groups", "lag", group, "--topic", open_, "-o", "json").stdout)[
            "items"
        ]
        assert lag["committed"] == lag["end"] == 2


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
    done = run(secure_kafka, *words, code=6)
    assert open_ in done.stdout.decode()
    assert f"group {closed}" in done.stderr.decode()
    assert "GROUP_AUTHORIZATION_FAILED" in done.stderr.decode()


CANARY = "canary-3e7a é Ⅸ"


@pytest.mark.case("R24")
def test_users_are_those_that_kafkas_script_and_librdkafka_know(
    secure_kafka: SecureKafka, tmp_path: Path
) -> None:
    """Set by kcli and by the script, each listed by the other; what was set logs in until it is deleted."""
    name, other = unused_name("user x,y="), unused_name("other")
    path = tmp_path / "password"
    path.write_text(CANARY)
    path.chmod(0o600)
    both = ("--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512", "--password-file", str(path))
    loud = ("--yes", "-vvv", "--debug", "-o", "json")
    done = run(secure_kafka, "users", "set", name, *both, *loud, way="admin-certificate")
    assert [item["status"] for item in json.loads(done.stdout)["items"]] == ["done", "done"]
    for form in (CANARY, CANARY[:11]):
        assert form.encode() not in done.stdout + done.stderr

    added = f"SCRAM-SHA-512=[iterations=5000,password={unused_name('p')}]"
    of_script = ("--alter", "--add-config", added, "--entity-type", "users", "--entity-name", other)
    assert secure_configs(secure_kafka, *of_script).returncode == 0
    listed = run(secure_kafka, "users", "list", other, "-o", "ndjson", way="admin-certificate").stdout
    assert json.loads(listed) == {
        "kind": "User",
        "user": other,
        "mechanism": "SCRAM-SHA-512",
        "iterations": 5_000,
    }
    shown = secure_configs(secure_kafka, "--describe", "--entity-type", "users").stdout
    (line,) = [line for line in shown.splitlines() if f"'{name}' are " in line]
    assert "SCRAM-SHA-256=iterations=8192" in line
    assert "SCRAM-SHA-512=iterations=8192" in line

    mine = ("-X", f"sasl.username={name}", "-X", f"sasl.password_file={path}")
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        way = f"alice-{mechanism.lower()}"
        judge = AdminClient(secure_kafka.judge(way, sasl_username=name, sasl_password=CANARY))
        assert len(judge.list_topics(timeout=20).brokers) == 1
        file = secure_kafka.options(way)
        del file["sasl.password"], file["sasl.username"]
        files = write_file(tmp_path / mechanism, file)
        assert kcli_process("topics", "list", "-F", files, *mine, timeout=60).returncode == 0
    run(secure_kafka, "users", "delete", name, "--yes", way="admin-certificate")
    assert kcli_process("topics", "list", "-F", files, *mine, timeout=60).returncode == 4
    admin = secure_kafka.admin()  # has to live until the response is read
    with pytest.raises(KafkaException, match="RESOURCE_NOT_FOUND"):
        admin.describe_user_scram_credentials([name])[name].result(120)
    assert CANARY.encode() not in secure_kafka.sandbox.nodes[0].log.read_bytes()


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
