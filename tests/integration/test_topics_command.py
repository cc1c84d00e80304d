"""``kcli topics`` on a real broker, from create to delete."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.kafka import Kafka

pytestmark = pytest.mark.integration


def kcli(kafka: Kafka, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kcli", "topics", *arguments, "-b", kafka.bootstrap],
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env=dict(os.environ),
    )  # fmt: skip


def items(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["items"]
    return found


@pytest.mark.case("S4-6")
def test_the_life_of_a_topic(kafka: Kafka) -> None:
    name = kafka.unused_name("life")
    create = ("create", name, "--partitions", "3", "--config", "retention.ms=3600000")
    assert kcli(kafka, *create, "--dry-run").returncode == 0
    assert name not in kcli(kafka, "list", "-o", "name").stdout.split()
    assert kcli(kafka, *create).returncode == 0
    assert kcli(kafka, *create).returncode == 7
    assert kcli(kafka, *create, "--if-not-exists").returncode == 0

    (listed,) = items(kcli(kafka, "list", "--match", name, "-o", "json"))
    assert (listed["partitions"], listed["under_replicated"]) == (3, 0)
    (described,) = items(kcli(kafka, "describe", name, "-o", "json"))
    assert described["configs"]["retention.ms"] == "3600000"
    assert [(part["log_start"], part["end"]) for part in described["partitions"]] == [(0, 0)] * 3
    assert [
        item["offset"] for item in items(kcli(kafka, "offsets", name, "--time", "@-1h", "-o", "json"))
    ] == [None] * 3

    refused = kcli(kafka, "delete", name)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert kcli(kafka, "delete", name, "--dry-run").returncode == 0
    assert kcli(kafka, "delete", name, "--confirm", name).returncode == 0
    assert kcli(kafka, "describe", name).returncode == 1


@pytest.mark.case("S4-6")
def test_a_refusal_is_reported_with_the_brokers_message(kafka: Kafka) -> None:
    done = kcli(kafka, "create", kafka.unused_name("x"), "--config", "no.such.key=1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "INVALID_CONFIG" in done.stderr
    assert "no.such.key" in done.stderr


def test_debug_proto_is_a_line_per_request_and_answer(kafka: Kafka) -> None:
    done = kcli(kafka, "list", "--debug=proto")
    lines = [line.split() for line in done.stderr.splitlines() if " → " in line or " ← " in line]
    wire = [line for line in lines if line[1] in "→←"]
    assert {"ApiVersions", "Metadata"} <= {line[4] for line in wire}
    assert sum(line[1] == "→" for line in wire) == sum(line[1] == "←" for line in wire)
