"""Stopping in order: who is woken, what a second request does, what is restored. No real signal is sent."""

import os
import select
import signal
import threading

import pytest

from kcli.flows.stop import SIGNALS, Stop


def test_the_first_request_sets_the_flag_and_wakes_all_waiters() -> None:
    woken: list[str] = []
    with Stop() as stop:
        stop.wake(lambda: woken.append("a"))
        descriptor = stop.fileno()
        assert (bool(stop), stop.exit_code, woken) == (False, 0, [])
        assert select.select([descriptor], [], [], 0)[0] == []
        stop.request(signal.SIGTERM)
        assert (bool(stop), stop.exit_code, woken) == (True, 143, ["a"])
        assert select.select([descriptor], [], [], 0)[0] == [descriptor]


def test_a_late_waiter_is_woken_too() -> None:
    woken: list[str] = []
    with Stop() as stop:
        stop.request()
        stop.wake(lambda: woken.append("late"))
        assert woken == ["late"]
        assert select.select([stop.fileno()], [], [], 0)[0]


def test_the_second_request_says_what_is_unconfirmed_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    ended: list[int] = []
    with Stop(unconfirmed=lambda: "7 records are unconfirmed", end=ended.append) as stop:
        stop.request(signal.SIGINT)
        assert ended == []
        stop.request(signal.SIGTERM)
    assert ended == [143]
    assert capfd.readouterr().err == "kcli: stopped at once: 7 records are unconfirmed\n"


def test_it_ends_even_if_the_report_fails() -> None:
    ended: list[int] = []

    def broken() -> str:
        raise RuntimeError

    stop = Stop(unconfirmed=broken, end=ended.append)
    stop.request()
    with pytest.raises(RuntimeError):
        stop.request()
    assert ended == [130]


def test_a_late_one_leaves_the_signals_alone_until_there_is_something_to_complete() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Stop(late=True) as stop:
        assert [signal.getsignal(number) for number in SIGNALS] == before
        for _ in range(2):
            stop.install()
            assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_one_that_is_not_late_is_installed_by_its_block_only() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    Stop().install()
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_handlers_are_installed_and_restored() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Stop():
        assert all(callable(signal.getsignal(number)) for number in SIGNALS)
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stop():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_descriptors_are_closed() -> None:
    with Stop() as stop:
        descriptor = stop.fileno()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize("late", [False, True])
def test_a_signal_writes_to_the_descriptor_before_its_handler_runs(*, late: bool) -> None:
    """One that comes just before a wait has its handler run after that wait."""
    before = signal.set_wakeup_fd(-1)
    with Stop(late=late) as stop:
        readable = stop.fileno()
        if late:
            assert signal.set_wakeup_fd(-1) == -1
        stop.install()
        writable = signal.set_wakeup_fd(-1)
        assert select.select([readable], [], [], 0)[0] == []
        assert os.write(writable, b"!") == 1
        assert select.select([readable], [], [], 0)[0] == [readable]
        signal.set_wakeup_fd(writable)
    assert signal.set_wakeup_fd(before) == -1


def test_a_request_of_another_thread_and_the_end_of_the_block_do_not_meet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread of the block sees the request and ends at once, while the other one has yet to write to the pipe."""
    write, ended = os.write, threading.Event()

    def late(descriptor: int, data: bytes) -> int:
        ended.wait(0.05)  # a deadline, not a sleep: with a lock the block cannot end before
        return write(descriptor, data)

    failed: list[BaseException] = []

    def request() -> None:
        try:
            stop.request()
        except OSError as error:
            failed.append(error)

    stop = Stop()
    with stop:
        stop.fileno()
        monkeypatch.setattr(os, "write", late)
        thread = threading.Thread(target=request)
        thread.start()
        while not stop:
            pass
    ended.set()
    thread.join()
    assert failed == []
