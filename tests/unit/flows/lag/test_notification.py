"""Channels deliver changes one after the other, and hold up nobody. Their threads wait for the tests, not for time."""

import json
from collections.abc import Callable
from threading import Event

import pytest

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.lag.notification import Channel, NotReportedError, command_delivery
from kcli.flows.lag.verdict_changes import VerdictChange

PATIENCE = 30.0


def change(number: int = 0) -> VerdictChange:
    return VerdictChange(f"g{number}", None, "ok", "stalled", 1_000, "why not", 2_000)


class Receiver:
    """Takes documents when ``open``; ``fails`` so many times."""

    def __init__(self, *, fails: int = 0, is_open: bool = True) -> None:
        self.taken: list[str] = []
        self.fails = fails
        self.began, self.gate = Event(), Event()
        if is_open:
            self.gate.set()

    def __call__(self, document: bytes, seconds: float, stopped: Callable[[], bool]) -> None:
        assert seconds <= PATIENCE
        self.began.set()
        while not self.gate.wait(0.01):
            if stopped():
                raise NotReportedError("no", why="stopped")
        if self.fails:
            self.fails -= 1
            raise NotReportedError("no", why="HTTP 500", do="look")
        self.taken.append(json.loads(document)["group"])


def channel(receiver: Receiver, warned: list[str], *, waiting: int = 5, seconds: float = PATIENCE) -> Channel:
    return Channel("--webhook", receiver, "c", warned.append, seconds=seconds, waiting=waiting)


def test_all_that_is_queued_is_delivered_in_order_before_the_end() -> None:
    receiver, warned = Receiver(), list[str]()
    one = channel(receiver, warned)
    for number in range(5):
        one.put(change(number))
    assert one.close() is None
    assert receiver.taken == ["g0", "g1", "g2", "g3", "g4"]
    assert warned == []


def test_each_failure_is_a_warning_and_counts_in_the_end() -> None:
    receiver, warned = Receiver(fails=2), list[str]()
    one = channel(receiver, warned)
    for number in range(3):
        one.put(change(number))
    error = one.close()
    assert receiver.taken == ["g2"]
    assert warned == [
        f"group g{number}: ok to stalled was not reported by --webhook: HTTP 500" for number in range(2)
    ]
    assert error is not None
    assert str(error) == "2 of 3 changes of verdicts were not reported by --webhook: HTTP 500"
    assert (error.do, error.exit_code) == ("look", ExitCode.PARTLY)


def test_what_comes_while_the_queue_is_full_is_dropped_and_counted() -> None:
    receiver, warned = Receiver(is_open=False), list[str]()
    one = channel(receiver, warned, waiting=2)
    one.put(change(0))
    assert receiver.began.wait(PATIENCE)  # it has left the queue
    for number in range(1, 6):
        one.put(change(number))
    assert one.waiting == 3
    receiver.gate.set()
    error = one.close()
    assert receiver.taken == ["g0", "g1", "g2"]
    assert warned == [
        "--webhook: 2 changes of verdicts wait to be reported; further ones are dropped"
    ]  # once
    assert error is not None
    assert "3 of 6 changes" in error.what
    assert "3 of them were dropped from a full queue" in error.what


def test_what_cannot_be_delivered_in_time_is_counted() -> None:
    receiver, warned = Receiver(is_open=False), list[str]()
    one = channel(receiver, warned, seconds=0.0)
    one.put(change())
    assert receiver.began.wait(PATIENCE)
    error = one.close()
    assert isinstance(error, KcliError)
    assert "1 of 1 change of verdicts" in error.what
    receiver.gate.set()


def test_an_interrupt_in_the_end_stops_what_is_being_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver, warned = Receiver(is_open=False), list[str]()
    one = channel(receiver, warned)
    one.put(change())
    assert receiver.began.wait(PATIENCE)
    wait = one._ended.wait
    calls: list[float] = []

    def interrupted(timeout: float) -> bool:
        calls.append(timeout)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return wait(PATIENCE)

    monkeypatch.setattr(one._ended, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one.close()
    assert one._ended.is_set()
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sh -c 'exit 3'", "it ended with exit status 3"),
        ("sh -c 'echo no space >&2; exit 3'", "it ended with exit status 3: no space"),
        ("/no/such/program", "No such file or directory"),
        ("sh -c 'kill -9 $$'", "it ended by signal SIGKILL"),
    ],
)
def test_a_command_that_fails(command: str, why: str) -> None:
    with pytest.raises(NotReportedError) as caught:
        command_delivery(command, {"PATH": "/usr/bin:/bin"})(b"{}", PATIENCE, lambda: False)
    assert caught.value.why == why
    assert caught.value.do


def test_a_command_that_hangs_is_ended_with_all_that_it_started() -> None:
    """The pipe of its stderr would be held by the inner process."""
    for seconds, stopped, why in (
        (0.1, False, "it ran for more than 0.1 s"),
        (PATIENCE, True, "kcli was stopped meanwhile"),
    ):
        with pytest.raises(NotReportedError) as caught:
            command_delivery("sh -c 'sleep 600 | cat'", {"PATH": "/usr/bin:/bin"})(
                b"{}", seconds, lambda stopped=stopped: stopped
            )
        assert caught.value.why == why


def test_a_command_need_not_read_its_stdin_and_sees_no_secrets(tmp_path: object) -> None:
    large = b"x" * 1_000_000
    environ = {"PATH": "/usr/bin:/bin", "KCLI_X_SASL_PASSWORD": "secret", "SEEN": "1"}
    command_delivery("true", environ)(large, PATIENCE, lambda: False)
    out = f"{tmp_path}/out"
    command_delivery(f"sh -c 'cat > {out}; env >> {out}'", environ)(b"document\n", PATIENCE, lambda: False)
    with open(out) as file:
        text = file.read()
    assert text.startswith("document\n")
    assert "SEEN=1" in text
    assert "secret" not in text
