"""The format step with stand-ins for its processes: how long it may take, and what is said of one that takes longer."""

import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from kcli.sandbox import formatting
from kcli.sandbox.errors import StartError
from kcli.sandbox.formatting import format_nodes
from kcli.sandbox.jvm import Jvm
from tests.unit.sandbox.states import make_state


class Step:
    """A process that would end with this status after so many seconds."""

    def __init__(self, seconds: float, status: int = 0) -> None:
        self.seconds, self.status = seconds, status
        self.returncode: int | None = None
        self.killed = False

    def wait(self, timeout: float | None = None) -> int:
        if timeout is not None and timeout < self.seconds and not self.killed:
            raise subprocess.TimeoutExpired("java", timeout)
        self.returncode = self.status
        return self.returncode

    def poll(self) -> int | None:
        return self.returncode

    def kill(self) -> None:
        self.killed = True


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """Those of the nodes, in their order."""
    made: list[Step] = []
    started: list[Any] = []

    def run(*_arguments: Any, **_options: Any) -> Step:
        started.append(made[len(started)])
        return cast("Step", started[-1])

    monkeypatch.setattr(formatting.process, "run", run)
    return made


def formatted(home: Path, brokers: int, timeout: float) -> None:
    state = make_state(brokers=brokers)
    jvm = Jvm(java="/java", jars=(), logging=str(home), heap_mb=1, options=())
    format_nodes(home, state, [n.node_id for n in state.nodes], jvm, "server.properties", None, timeout)


def test_a_slow_machine_formats_as_long_as_the_timeout_says(steps: list[Step], tmp_path: Path) -> None:
    steps += [Step(200), Step(300), Step(10)]
    formatted(tmp_path, 3, 360.0)
    assert not any(step.killed for step in steps)


def test_a_format_that_takes_longer_is_ended_and_says_what_gives_it_longer(
    steps: list[Step], tmp_path: Path
) -> None:
    steps += [Step(10), Step(300), Step(300)]
    with pytest.raises(StartError, match="broker 2 has not formatted its data folder after 90 s") as caught:
        formatted(tmp_path, 3, 90.0)
    assert "more than --timeout 90s" in caught.value.do
    assert [step.killed for step in steps] == [False, True, True]


def test_a_format_that_fails_is_named(steps: list[Step], tmp_path: Path) -> None:
    steps += [Step(1, status=1)]
    with pytest.raises(StartError, match="broker 1 could not format its data folder") as caught:
        formatted(tmp_path, 1, 90.0)
    assert "--timeout" not in caught.value.do
