"""Errands: one after the other in a thread of its own, which opens and closes what they need."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import pytest
from textual.message import Message

from kcli.tui.actions import CancelledError
from kcli.tui.errands import Done, Errands, Said


class World:
    """``desks`` are opened in this order; an error is raised instead."""

    def __init__(self, *desks: object) -> None:
        self.posted: SimpleQueue[Message] = SimpleQueue()
        self.closed: list[tuple[object, str]] = []
        self._desks = list(desks)
        self.errands: Errands[object] = Errands(self._open, self.posted.put)

    @contextmanager
    def _open(self, _voice: Errands[object]) -> Iterator[object]:
        desk = self._desks.pop(0)
        if isinstance(desk, BaseException):
            raise desk
        yield desk
        self.closed.append((desk, threading.current_thread().name))

    def done(self) -> Done:
        message = self.posted.get(timeout=10)
        assert isinstance(message, Done)
        return message

    def end(self) -> None:
        self.errands.close()
        self.errands.join()


def test_errands_follow_each_other_and_their_thread_closes_what_it_opened() -> None:
    world = World("desk")
    world.errands.do("one", lambda desk: f"{desk} {threading.current_thread().name}")
    world.errands.do("two", lambda _desk: 2)
    assert [world.done().result, world.done().result] == ["desk kcli-top-errands", 2]
    world.end()
    assert world.closed == [("desk", "kcli-top-errands")]
    assert world.errands.over


def test_an_error_ends_its_errand_only() -> None:
    world = World("desk")
    world.errands.do("bad", lambda _desk: 1 / 0)
    assert isinstance(world.done().error, ZeroDivisionError)
    world.errands.do("good", lambda _desk: "done")
    assert world.done().result == "done"
    world.end()


def test_what_could_not_be_opened_is_opened_again() -> None:
    world = World(OSError("no"), "desk")
    world.errands.do("first", lambda desk: desk)
    assert isinstance(world.done().error, OSError)
    world.errands.do("second", lambda desk: desk)
    assert world.done().result == "desk"
    world.end()


def test_a_wait_ends_when_it_is_cancelled_and_the_next_errand_may_wait_again() -> None:
    world = World("desk")
    begun = threading.Event()

    def wait(_desk: object) -> None:
        world.errands.note("waiting")
        begun.set()
        world.errands.sleep(60)

    world.errands.do("wait", wait)
    assert begun.wait(120)
    world.errands.cancel()
    said = world.posted.get(timeout=10)
    assert isinstance(said, Said)
    assert said.text == "waiting"
    assert isinstance(world.done().error, CancelledError)
    world.errands.do("short", lambda _desk: world.errands.sleep(0))
    assert world.done().error is None
    world.end()


def test_the_end_cancels_a_wait_and_leaves_nothing_begun_undone() -> None:
    world = World("desk")
    world.errands.do("wait", lambda _desk: world.errands.sleep(60), vital=True)
    world.end()
    assert [type(done.error) for done in world.errands.ended] == [CancelledError]
    assert world.errands.vital


@pytest.mark.parametrize("begin", [True, False])
def test_nothing_is_opened_where_nothing_is_asked_for(begin: bool) -> None:
    world = World("desk")
    if begin:
        world.errands.close()
    world.errands.join()
    assert world.closed == []
    assert not world.errands.over
