"""The pipe that ends a wait: no wake is lost, whatever comes in between."""

import os
import select
from collections.abc import Iterator

import pytest

from kcli.core.net.polling import Wakeup


@pytest.fixture
def wakeup() -> Iterator[Wakeup]:
    found = Wakeup()
    yield found
    found.close()


def awake(wakeup: Wakeup) -> bool:
    return bool(select.select([wakeup.fileno()], [], [], 0)[0])


def test_a_wake_makes_it_readable_and_a_drain_ends_that(wakeup: Wakeup) -> None:
    assert not awake(wakeup)
    wakeup.wake()
    assert awake(wakeup)
    wakeup.drain()
    assert not awake(wakeup)


def test_many_wakes_are_one(wakeup: Wakeup) -> None:
    for _ in range(100_000):
        wakeup.wake()
    wakeup.drain()
    assert not awake(wakeup)


def test_it_can_be_woken_again_after_a_drain(wakeup: Wakeup) -> None:
    for _ in range(3):
        wakeup.wake()
        assert awake(wakeup)
        wakeup.drain()


def test_a_drain_without_a_wake_does_not_block(wakeup: Wakeup) -> None:
    wakeup.drain()
    wakeup.wake()
    assert awake(wakeup)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_wake_in_the_middle_of_a_drain_does_not_deafen_it(
    wakeup: Wakeup, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """drain begins → another thread wakes → drain reads its byte too: the next wake must write again."""
    read = os.read

    def interrupted(fd: int, size: int) -> bytes:
        if when == "before":
            wakeup.wake()
        data = read(fd, size)
        if when == "after":
            wakeup.wake()
        return data

    wakeup.wake()
    with monkeypatch.context() as patch:
        patch.setattr(os, "read", interrupted)
        wakeup.drain()
    if not awake(wakeup):
        wakeup.wake()  # the one in between met a loop that was awake; this one finds it asleep
    assert awake(wakeup)


def test_after_closing_a_wake_touches_no_descriptor(wakeup: Wakeup) -> None:
    """The number may belong to somebody else's file by then."""
    other = Wakeup()
    number = other._write
    other.close()
    read, write = os.pipe()
    try:
        os.dup2(write, number)
        other.wake()
        assert not select.select([read], [], [], 0)[0]
    finally:
        for fd in {read, write, number}:
            os.close(fd)
