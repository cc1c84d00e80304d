"""Sessions that end every 2.5 s on a real Kafka (KIP-368): nothing is lost, doubled or shown (case N15)."""

import subprocess
import threading
import time
from pathlib import Path

import pytest

from kcli.core import Consumer
from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError, KcliError
from kcli.core.types import TopicPartition
from tests.run import kcli_process, start
from tests.secure_kafka import SecureKafka, unused_name, write_file

pytestmark = [pytest.mark.integration, pytest.mark.case("N15")]

AGAIN = b"re-authenticated as alice with "
TIMES = 2
"""So often each of them authenticates again while records are written."""


def feed(process: "subprocess.Popen[bytes]", *logs: Path) -> list[bytes]:
    """A line every few milliseconds until all logs say often enough what is waited for; all of them."""
    assert process.stdin is not None
    lines: list[bytes] = []
    end = time.monotonic() + 60
    while not all(log.read_bytes().count(AGAIN) >= TIMES for log in logs):
        assert time.monotonic() < end, [log.read_text() for log in logs]
        for _ in range(20):
            lines.append(b"%06d" % len(lines))
            process.stdin.write(lines[-1] + b"\n")
            process.stdin.flush()
            time.sleep(0.004)
    process.stdin.close()
    return lines


def test_produce_and_consume_go_through_several_ends_of_their_sessions(
    secure_kafka: SecureKafka, tmp_path: Path
) -> None:
    topic, group = secure_kafka.topic(), unused_name("g")
    secure_kafka.grant("alice", ("TOPIC", topic, "READ"), ("TOPIC", topic, "WRITE"), ("GROUP", group, "READ"))
    told, heard, read = (tmp_path / name for name in ("told", "heard", "read"))
    with open(told, "wb") as produced, open(heard, "wb") as consumed, open(read, "wb") as out:
        consumer = start(
            "consume", topic, "-g", group, "--debug=auth", "-X", "heartbeat.interval.ms=100", "-F",
            secure_kafka.file("alice-scram-sha-512"), stdout=out, stderr=consumed,
        )  # fmt: skip
        producer = start(
            "produce", topic, "--debug=auth", "-X", "linger.ms=0", "-F", secure_kafka.file("alice-plain"),
            stderr=produced,
        )  # fmt: skip
        lines = feed(producer, told, heard)
        assert producer.wait(60) == 0, told.read_text()
        end = time.monotonic() + 30
        while read.stat().st_size < 7 * len(lines) and time.monotonic() < end:
            time.sleep(0.05)
        consumer.terminate()
        assert consumer.wait(60) == 143, heard.read_text()
    assert read.read_bytes().split() == lines
    assert secure_kafka.values(topic) == lines
    for log in (told, heard):
        said = [line for line in log.read_text().splitlines() if " auth  " not in line]
        assert len(said) == 1, said  # the totals
        assert said[0].startswith(("stopped: ", f"{len(lines):,} records confirmed")), said


def test_a_file_with_a_token_that_expires_ends_a_reading_with_4(
    secure_kafka: SecureKafka, tmp_path: Path
) -> None:
    topic = secure_kafka.topic()
    secure_kafka.grant("alice", ("TOPIC", topic, "READ"))
    secure_kafka.fill(topic, [b"1"])
    file = tmp_path / "token"
    file.touch(0o600)
    options = secure_kafka.options("alice-oauthbearer", sasl_oauthbearer_token_file=str(file))
    given = write_file(tmp_path / "client.properties", options)
    failures = secure_kafka.failed_attempts()
    file.write_text(secure_kafka.signer.token("alice", lifetime=5).reveal())
    done = kcli_process("consume", topic, "-F", given, timeout=60)
    said = done.stderr.decode()
    assert (done.returncode, done.stdout) == (4, b"1\n"), said
    assert "the token expired" in said
    assert secure_kafka.failed_attempts() == failures


def test_a_token_that_is_not_renewed_is_named_when_it_has_expired(secure_kafka: SecureKafka) -> None:
    """Its session ends with it; the provider has no other."""
    topic = secure_kafka.topic()
    secure_kafka.grant("alice", ("TOPIC", topic, "READ"))
    secure_kafka.fill(topic, [b"1"])
    given = {key.replace(".", "_"): value for key, value in secure_kafka.options("alice-oauthbearer").items()}
    del given["sasl_oauthbearer_token_file"]
    expires = time.time() + 3
    token = Token(value=secure_kafka.signer.token("alice", lifetime=3), principal="alice", expires_at=expires)
    asked: list[str] = []

    def provider() -> Token:
        asked.append(threading.current_thread().name)
        return token

    with Consumer(
        **given, sasl_oauthbearer_token_provider=provider, auto_offset_reset="earliest"
    ) as consumer:
        consumer.connect(20)
        consumer.assign([TopicPartition(topic, 0)])
        failures = secure_kafka.failed_attempts()
        read, error = read_on(consumer, expires + 10)
    assert read == [b"1"]
    assert isinstance(error, AuthError)
    assert error.exit_code == 4
    assert "the token expired" in error.why
    assert error.do
    assert len(asked) <= 4  # one for each connection (a slow start may need another), and one more
    assert secure_kafka.failed_attempts() == failures  # it is not sent


def read_on(consumer: Consumer, until: float) -> tuple[list[bytes | None], KcliError | None]:
    """The values of all records, and the error that ends it."""
    read: list[bytes | None] = []
    try:
        while time.time() < until:
            read += [record.value for record in consumer.records(0.2)]
    except KcliError as error:
        return read, error
    return read, None
