"""``kcli tokens``, and ``kcli configs`` of loggers and client metrics, on a secure Kafka; its scripts are the judge."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kafka_script import client_metrics, delegation_tokens, secure_configs
from tests.run import Done, kcli
from tests.secure_kafka import SecureKafka, unused_name, write_file

pytestmark = pytest.mark.integration

LOGGER = "kafka.server.KafkaApis"


class Run:
    """Runs as a super user, with journals in a folder of its own."""

    def __init__(self, kafka: SecureKafka, folder: Path) -> None:
        self.kafka, self.folder = kafka, folder

    def __call__(self, line: str, code: int = 0, *, file: str = "", last: str = "") -> Done:
        words = [
            *line.split(),
            "-F",
            file or self.kafka.file("admin-certificate"),
            *(["--", last] if last else []),
        ]
        done = kcli(*words, XDG_STATE_HOME=str(self.folder / "state"))
        assert done.code == code, done.err
        return done

    def items(self, line: str, last: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self(f"{line} -o json", last=last).out)["items"]
        return found

    def undo(self) -> None:
        self(f"undo {self.items('undo')[-1]['id']} --yes")


@pytest.fixture
def run(secure_kafka: SecureKafka, tmp_path: Path) -> Run:
    return Run(secure_kafka, tmp_path)


def test_a_token_from_its_creation_to_its_end(run: Run, tmp_path: Path) -> None:
    kafka, hmac = run.kafka, tmp_path / "hmac"
    done = run(
        f"tokens create --owner User:alice --renewer User:admin --max-lifetime 2h --hmac-file {hmac} --yes"
    )
    (row,) = run.items("tokens list --owner User:alice")
    token = row["token_id"]
    assert (row["owner"], row["requester"], row["renewers"]) == ("User:alice", "User:admin", ["User:admin"])
    assert token in done.err
    judged = delegation_tokens(kafka, "--describe", "--owner-principal", "User:alice").stdout
    assert token in judged
    assert hmac.read_text().strip() in judged
    login = {"sasl.username": token, "sasl.password": hmac.read_text().strip(), "sasl.tokenauth": "true"}
    options = {**kafka.options("alice-scram-sha-256"), **login}
    file = write_file(tmp_path / "token.properties", options)
    topic = kafka.topic()
    kafka.grant("alice", ("TOPIC", topic, "DESCRIBE"))
    assert topic in run("topics list -o name", file=file).out.splitlines()  # it is alice
    assert "REQUEST_NOT_ALLOWED" in run("tokens list", 7, file=file).err
    (row,) = run.items("tokens renew --for 30m --yes", token)
    assert (row["status"], 1_700 < row["expires_in_seconds"] <= 1_800) == ("done", True)
    run("tokens expire --yes", last=token)
    assert run.items("tokens list --owner User:alice") == []
    run("topics list", 4, file=file)


def test_levels_of_loggers(run: Run) -> None:
    run(f"configs alter broker-loggers 1 --set {LOGGER}=debug --yes")
    shown = secure_configs(
        run.kafka, "--describe", "--entity-type", "broker-loggers", "--entity-name", "1"
    ).stdout
    assert f"{LOGGER}=DEBUG" in shown
    loggers = {row["key"]: row["value"] for row in run.items("configs describe broker-loggers 1 --all")}
    judged = dict(line.split()[0].split("=") for line in shown.splitlines() if line.startswith("  "))
    assert loggers == judged
    run("configs alter broker-loggers 1 --set no.such.Logger=DEBUG --yes", 2)
    run.undo()
    loggers = {row["key"]: row["value"] for row in run.items("configs describe broker-loggers 1 --all")}
    assert loggers[LOGGER] == loggers["root"]
    run("configs alter broker-loggers 1 --unset root --dry-run", 1)


def test_client_metrics(run: Run) -> None:
    name = unused_name("apps")
    alter = f"configs alter client-metrics {name} --yes"
    run(f"{alter} --set interval.ms=1m --set metrics=org.apache.kafka.producer. --set match=client_id=app.*")
    assert name in [row["name"] for row in run.items("configs list client-metrics")]
    shown = client_metrics(run.kafka, "--describe", "--name", name).stdout
    for row in run.items(f"configs describe client-metrics {name}"):
        assert f"{row['key']}={row['value']}" in shown
    run(f"{alter} --unset-all")
    run(f"configs describe client-metrics {name}", 1)
    run.undo()
    assert name in client_metrics(run.kafka, "--list").stdout.split()
    run(f"configs alter client-metrics {name} --set interval.ms=5 --dry-run", 1)
