"""Karapace answers as it was recorded in ``tests/registry/karapace.json``, by which the fake registry is held.

It is not on PyPI, and its wheel needs Go: ``KCLI_KARAPACE`` names the command that runs one, such as
``/opt/karapace/bin/python -m karapace`` in an environment of Python 3.12 with
``pip install git+https://github.com/Aiven-Open/karapace@6.2.0``. With ``KEEP_KARAPACE=1`` its answers are written into
that file.
"""

import http.client
import os
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.kafka import Kafka
from tests.registry.questions import answers, essence, record, recorded

COMMAND = os.environ.get("KCLI_KARAPACE", "")
pytestmark = pytest.mark.long


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def karapace(kafka: Kafka, tmp_path: Path) -> Iterator[str]:
    """The address of an empty one."""
    if not COMMAND:
        pytest.skip("KCLI_KARAPACE names no Karapace")
    port, name = free_port(), uuid4().hex
    options = {
        "bootstrap_uri": kafka.bootstrap,
        "host": "127.0.0.1",
        "advertised_hostname": "127.0.0.1",
        "port": str(port),
        "topic_name": f"schemas-{name}",
        "group_id": f"karapace-{name}",
        "log_level": "WARNING",
        "protobuf_runtime_directory": str(tmp_path),
    }
    environ = {**os.environ, **{f"KARAPACE_{key.upper()}": value for key, value in options.items()}}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(shlex.split(COMMAND), env=environ, stdout=log, stderr=log)
    try:
        wait_for(port, process, tmp_path / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until it writes: it has to become the leader of its group first."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/master_available")
            if b'"master_available":true' in connection.getresponse().read().replace(b" ", b""):
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_karapace_answers_as_recorded(karapace: str) -> None:
    found = answers(karapace)
    if "KEEP_KARAPACE" in os.environ:
        record(found)
    for now, then in zip(found, recorded(), strict=True):
        assert essence(now) == essence(then)
