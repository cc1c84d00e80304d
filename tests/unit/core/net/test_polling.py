"""The wait for events: that of Linux, and the one for systems without epoll, which has to be the same."""

import select
import socket
from collections.abc import Iterator

import pytest

from kcli.core.net.polling import READ, WRITE, Poll, SelectorPoll, open_poll

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    one, other = socket.socketpair()
    yield one, other
    one.close()
    other.close()


@pytest.fixture(params=[open_poll, SelectorPoll])
def poll(request: pytest.FixtureRequest) -> Iterator[Poll]:
    made: Poll = request.param()
    yield made
    made.close()


def test_the_bits_are_those_of_epoll() -> None:
    assert (READ, WRITE) == (select.EPOLLIN, select.EPOLLOUT)


def test_events_are_reported_that_are_watched(poll: Poll, pair: Pair) -> None:
    fd = pair[0].fileno()
    poll.register(fd, READ)
    assert poll.poll(0.0) == []
    poll.modify(fd, READ | WRITE)
    assert poll.poll(0.0) == [(fd, WRITE)]
    pair[1].send(b"x")
    assert poll.poll(None) == [(fd, READ | WRITE)]
    poll.unregister(fd)
    assert poll.poll(0.0) == []


def test_the_end_of_a_stream_is_readable(poll: Poll, pair: Pair) -> None:
    poll.register(pair[0].fileno(), READ)
    pair[1].close()
    [(fd, events)] = poll.poll(None)
    assert fd == pair[0].fileno()
    assert events & ~WRITE


def test_a_system_without_epoll_has_a_selector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "epoll")
    made = open_poll()
    assert isinstance(made, SelectorPoll)
    made.close()
