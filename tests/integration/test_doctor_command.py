"""``kcli doctor`` on a secure Kafka: what TLS, SASL and ACLs of a real broker look like to it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.run import kcli_process
from tests.secure_kafka import SecureKafka, unused_name, write_file

pytestmark = pytest.mark.integration


def examined(file: str, code: int, *arguments: str) -> dict[str, dict[str, Any]]:
    """The findings of the broker and of what is named, by check; of several the last."""
    done = kcli_process("doctor", "-F", file, "-o", "json", *arguments, timeout=60)
    assert done.returncode == code, done
    return {f"{item['target'].split()[0]} {item['check']}": item for item in json.loads(done.stdout)["items"]}


@pytest.mark.parametrize("way", ["admin-scram-sha-512", "admin-plain"])
def test_every_step_of_sasl_over_tls_is_well(secure_kafka: SecureKafka, way: str) -> None:
    found = examined(secure_kafka.file(way), 0)
    chain = [name for name in found if name.startswith("bootstrap ")]
    steps = [name.removeprefix("bootstrap ") for name in chain if name != "bootstrap DNS"]
    assert steps == ["TCP", "TLS", "ApiVersions", "SASL", "metadata", "certificate"]
    assert found["bootstrap TLS"]["detail"].startswith("TLSv1.3")
    assert "authenticated as admin" in found["bootstrap SASL"]["detail"]


def test_a_wrong_password_and_another_mechanism_are_told_apart(
    secure_kafka: SecureKafka, tmp_path: Path
) -> None:
    options = secure_kafka.options("alice-scram-sha-512")
    wrong = options | {"sasl.password": "wrong"}
    wrong.pop("sasl.password.file", None)
    found = examined(write_file(tmp_path / "wrong.properties", wrong), 4)["bootstrap SASL"]
    assert (found["status"], "sasl.password" in found["do"]) == ("failed", True)
    plain = {key: value for key, value in options.items() if not key.startswith("sasl.")}
    without = examined(write_file(tmp_path / "without.properties", plain | {"security.protocol": "SSL"}), 4)
    assert without["bootstrap metadata"]["status"] == "failed"
    assert "sasl.mechanism" in without["bootstrap metadata"]["do"]


def test_the_rights_on_a_topic_and_a_group_are_those_that_were_granted(secure_kafka: SecureKafka) -> None:
    topic, group = secure_kafka.topic(), unused_name("g")
    secure_kafka.grant("alice", ("TOPIC", topic, "READ"))
    found = examined(secure_kafka.file("alice-certificate"), 4, "--topic", topic, "--group", group)
    assert (found["topic permissions"]["status"], found["topic permissions"]["detail"]) == (
        "warning",
        "without WRITE",
    )
    assert found["group exists"]["status"] == "failed"
    assert "kcli acls create" in found["group exists"]["do"]
    hidden = secure_kafka.topic()
    denied = examined(secure_kafka.file("alice-certificate"), 4, "--topic", hidden)["topic exists"]
    assert "TOPIC_AUTHORIZATION_FAILED" in denied["why"]
