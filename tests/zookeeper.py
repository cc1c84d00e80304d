"""A real ZooKeeper for tests, alone: the 3.5.9 that Kafka 2.8.2's jars bring, started as the sandbox does. Not a test."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcli.sandbox.artifacts import classpath
from kcli.sandbox.config import render
from kcli.sandbox.java import find_java
from kcli.sandbox.jvm import LOG4J1, LOG4J1_NAME, Jvm

KAFKA = "2.8.2"
HOST = "127.0.0.1"


class ZooKeeperServer:
    """A running server; ``hosts`` is what ``--zookeeper`` takes."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.hosts = f"{HOST}:{port}"

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """It takes connections and answers nothing for the block."""
        os.kill(self.process.pid, signal.SIGSTOP)
        # Returns when the last of its threads stands: until then one may still answer.
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)


@contextmanager
def zookeeper_server(folder: Path) -> Iterator[ZooKeeperServer]:
    """One for the block, with its data in ``folder``."""
    port = unused_port()
    (folder / LOG4J1_NAME).write_text(LOG4J1)
    config = folder / "zoo.cfg"
    config.write_text(
        render(
            {
                "tickTime": "1000",
                "dataDir": str(folder / "data"),
                "clientPort": str(port),
                "clientPortAddress": HOST,
                "maxClientCnxns": "0",
                "admin.enableServer": "false",
            }
        )
    )
    jvm = Jvm(find_java().path, tuple(map(str, classpath(KAFKA))), str(folder), heap_mb=128)
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(jvm.zookeeper(str(config)), stdout=output, stderr=subprocess.STDOUT)
    try:
        _wait(process, port, log)
        yield ZooKeeperServer(process, port)
    finally:
        process.kill()
        process.wait()


def unused_port() -> int:
    """A port where nobody listens now."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
