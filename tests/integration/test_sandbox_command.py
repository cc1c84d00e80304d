"""``kcli sandbox`` as a user runs it: a process of its own, its exit status, its stdout and stderr."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.sandbox.config import DEFAULT_VERSION
from kcli.sandbox.identity import identify
from kcli.sandbox.process import alive
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.state import read_state

pytestmark = pytest.mark.integration


def kcli(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "kcli", *arguments], capture_output=True, text=True, timeout=150
    )
    assert done.returncode == code, done.stderr + done.stdout
    return done


def items(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    document = json.loads(done.stdout)
    assert document["kind"] == "SandboxStatus"
    found = document["items"]
    assert isinstance(found, list)
    return found


@pytest.fixture
def name(own_state: Path) -> Iterator[str]:
    """A sandbox of the command line is nobody's child: whatever a test does, it is taken down after it."""
    yield "cmd"
    Sandbox("cmd").down(delete=True)


def test_the_life_of_a_sandbox(name: str) -> None:
    assert items(kcli("sandbox", "status", "-o", "json")) == []
    kcli("sandbox", "status", name, code=1)

    up = kcli("sandbox", "up", name, "--port", "0", "-o", "json")
    (status,) = items(up)
    assert (status["name"], status["state"], status["brokers"]) == (name, "up", 1)
    assert f"Kafka {DEFAULT_VERSION} at 127.0.0.1:" in up.stderr
    steps = [line.split()[0] for line in up.stderr.splitlines()]
    assert steps == ["Kafka", "formatting", "starting", "sandbox"], up.stderr

    assert items(kcli("sandbox", "up", name, "-o", "json"))[0]["bootstrap"] == status["bootstrap"]
    refused = kcli("sandbox", "up", name, "--brokers", "3", code=7)
    assert "--brokers 3 (it has 1)" in refused.stderr

    log = kcli("sandbox", "logs", name, "--tail", "3").stdout.splitlines()
    assert len(log) == 3
    assert "INFO" in log[-1]

    (stopped,) = items(kcli("sandbox", "down", name, "-o", "json"))
    assert (stopped["state"], stopped["started_at"]) == ("down", None)
    would = kcli("sandbox", "down", name, "--delete", "--dry-run")
    assert "would stop" in would.stderr
    assert Path(str(stopped["data"])).exists()
    kcli("sandbox", "down", name, "--delete")
    assert not Path(str(stopped["data"])).exists()
    kcli("sandbox", "down", name, code=1)


def test_dry_run_starts_nothing(name: str) -> None:
    (status,) = items(kcli("sandbox", "up", name, "--brokers", "3", "--dry-run", "-o", "json"))
    assert (status["state"], status["brokers"]) == ("down", 3)
    assert Sandbox(name).status() is None


def test_sigterm_during_the_start_leaves_nothing(name: str) -> None:
    starter = subprocess.Popen([sys.executable, "-m", "kcli", "sandbox", "up", name, "--port", "0"])
    home = Sandbox(name).home
    deadline = time.monotonic() + 30
    while not ((state := read_state(home)) and state.processes):
        assert time.monotonic() < deadline
        assert starter.poll() is None
        time.sleep(0.02)
    (broker,) = state.processes
    starter.send_signal(signal.SIGTERM)
    assert starter.wait(120) == 128 + signal.SIGTERM
    assert not alive(broker)
    assert Sandbox(name).status() is None


def test_follow_prints_what_is_added_and_ends_with_ctrl_c(name: str) -> None:
    log = Sandbox(name).home / "node-1" / "server.log"
    log.parent.mkdir(parents=True)
    log.write_text("old\nlast\n")
    command = [sys.executable, "-m", "kcli", "sandbox", "logs", name, "--tail", "1", "-f"]
    follower = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert follower.stdout is not None
    assert follower.stdout.readline() == "last\n"
    with log.open("a") as file:
        file.write("added\n")
    assert follower.stdout.readline() == "added\n"
    follower.send_signal(signal.SIGINT)
    follower.communicate(timeout=120)
    assert follower.returncode == 130


def test_a_recycled_pid_shows_as_down_and_survives_down(name: str) -> None:
    from dataclasses import replace

    from kcli.sandbox.identity import ProcessId
    from tests.unit.sandbox.states import make_state, remember

    me = identify(os.getpid())
    assert me is not None
    state = make_state(name, process=ProcessId(me.pid, "1@another-boot"))
    remember(replace(state, data=str(Sandbox(name).home / "data")))
    (status,) = items(kcli("sandbox", "status", "-o", "json"))
    assert status["state"] == "down"
    kcli("sandbox", "down", name)
    assert identify(os.getpid()) == me
