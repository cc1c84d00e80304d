"""The contract of ``Loop.poll`` on a clock that passes only by waiting, and on pipes instead of sockets."""

import contextlib
import select
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.errors import ConnectError, KcliError
from kcli.core.future import Future
from kcli.core.net.loop import Loop
from kcli.core.net.polling import READ, WRITE, SelectorPoll
from tests.unit.core.net.fakes import Clock, FakeChannel, FakeSelector, loop_on


@pytest.fixture
def selector() -> FakeSelector:
    return FakeSelector(Clock())


@pytest.fixture
def loop(selector: FakeSelector, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    found = loop_on(selector, monkeypatch)
    yield found
    found.close()


def watched(loop: Loop, channel: FakeChannel) -> FakeChannel:
    loop.add(channel)  # type: ignore[arg-type]
    return channel


# --- waiting --------------------------------------------------------------------------------------------------


@pytest.mark.case("S0-62")
def test_without_requests_it_waits_once(loop: Loop, selector: FakeSelector) -> None:
    assert loop.poll(5.0) == []
    assert selector.waits == [5.0]


def test_until_a_time_it_waits_for_what_is_left_of_it(loop: Loop, selector: FakeSelector) -> None:
    end = selector.clock() + 5.0
    loop.poll_until(end)
    loop.poll_until(end)
    assert selector.waits == [5.0, 0.0]


def test_it_waits_no_longer_in_one_go_than_epoll_can(loop: Loop, selector: FakeSelector) -> None:
    """Which takes milliseconds in 32 bits, and raises OverflowError for more."""
    loop.poll(1e8)
    assert selector.waits == [86_400.0]


@pytest.mark.case("S0-65")
def test_a_timeout_of_zero_never_waits(loop: Loop, selector: FakeSelector) -> None:
    loop.poll(0, Future())
    loop.poll(0)
    assert selector.waits == [0.0, 0.0]


@pytest.mark.case("S0-62")
def test_with_requests_it_turns_until_time_is_up(loop: Loop, selector: FakeSelector) -> None:
    loop.at(selector.clock() + 2, lambda: None)
    assert loop.poll(5.0, Future()) == []
    assert selector.waits == [2.0, 3.0]


@pytest.mark.case("S0-62")
def test_with_requests_it_turns_until_all_are_complete(loop: Loop, selector: FakeSelector) -> None:
    first, second = Future[int](), Future[int]()
    loop.at(selector.clock() + 1, lambda: loop.complete((first, 1, None)))
    loop.at(selector.clock() + 2, lambda: loop.complete((second, None, KcliError("x"))))
    assert loop.poll(60, first, second) == [first, second]
    assert isinstance(second.error, KcliError)
    assert selector.clock() == 1002.0


def test_requests_that_are_complete_are_not_waited_for(loop: Loop, selector: FakeSelector) -> None:
    done: Future[int] = Future()
    done.set_result(1)
    assert loop.poll(None, done) == [done]
    assert selector.waits == []


def test_those_that_are_complete_in_time_are_given(loop: Loop, selector: FakeSelector) -> None:
    done, late = Future[int](), Future[int]()
    loop.at(selector.clock() + 1, lambda: loop.complete((done, 1, None)))
    assert loop.poll(3, done, late) == [done]


def test_it_does_not_sleep_past_a_timer_or_a_deadline(loop: Loop, selector: FakeSelector) -> None:
    loop.at(selector.clock() + 3, lambda: None)
    watched(loop, FakeChannel(deadline=selector.clock() + 2))
    loop.poll(10)
    assert selector.waits == [2.0]


def test_without_anything_to_come_it_waits_without_limit(loop: Loop, selector: FakeSelector) -> None:
    selector.during_wait.append(loop.wakeup)
    loop.poll(None)
    assert selector.waits == [None]


def test_a_deadline_in_the_past_does_not_become_a_negative_wait(loop: Loop, selector: FakeSelector) -> None:
    loop.at(selector.clock() - 5, lambda: None)
    loop.poll(None)
    assert selector.waits == [0.0]


def test_a_future_of_the_loop_waits_for_itself(loop: Loop, selector: FakeSelector) -> None:
    future: Future[int] = Future(loop.wait)
    loop.at(selector.clock() + 1, lambda: loop.complete((future, 5, None)))
    assert future.result(120) == 5


# --- order inside a turn ------------------------------------------------------------------------------------------


@pytest.mark.case("S0-16")
def test_queued_bytes_are_written_before_the_wait(loop: Loop, selector: FakeSelector) -> None:
    channel = watched(loop, FakeChannel(wants_write=True))
    selector.during_wait.append(lambda: channel.events.append("wait"))
    loop.poll(0)
    assert channel.events == ["flush", "wait"]


def test_callbacks_run_after_the_bytes_of_the_turn(loop: Loop, selector: FakeSelector) -> None:
    seen: list[str] = []
    futures = [Future[None](), Future[None]()]
    channels = [watched(loop, FakeChannel(10_001)), watched(loop, FakeChannel(10_002))]
    for channel, future in zip(channels, futures, strict=True):
        channel.on_event = lambda name, f=future: (seen.append(name), loop.complete((f, None, None)))
        future.on_done(lambda _: seen.append("callback"))
    loop.poll(0)
    selector.ready = [(10_001, READ), (10_002, READ)]
    loop.at(0, lambda: seen.append("timer"))
    loop.poll(0)
    assert seen == ["read", "read", "timer", "callback", "callback"]


def test_completions_of_completions_belong_to_the_same_turn(loop: Loop) -> None:
    first, second = Future[None](), Future[None]()
    first.on_done(lambda _: loop.complete((second, None, None)))
    loop.complete((first, None, None))
    loop.poll(0)
    assert second.done


def test_a_completion_from_outside_a_turn_does_not_wait(loop: Loop, selector: FakeSelector) -> None:
    future: Future[int] = Future()
    loop.complete((future, 1, None))
    assert loop.poll(30, future) == [future]
    assert selector.waits == [0.0]


# --- channels -----------------------------------------------------------------------------------------------------


@pytest.mark.case("S0-18")
def test_it_watches_for_room_only_while_there_is_something_to_write(
    loop: Loop, selector: FakeSelector
) -> None:
    channel = watched(loop, FakeChannel(wants_write=True))
    loop.poll(0)
    assert selector.events[10_000] == READ | WRITE
    channel.wants_write = False
    loop.poll(0)
    assert selector.events[10_000] == READ


@pytest.mark.case("S0-18")
def test_ready_channels_are_served(loop: Loop, selector: FakeSelector) -> None:
    channel = watched(loop, FakeChannel(wants_write=True))
    loop.poll(0)
    selector.ready = [(10_000, READ | WRITE)]
    loop.poll(0)
    assert channel.events == ["flush", "flush", "read", "write"]


@pytest.mark.parametrize("bit", [select.EPOLLERR, select.EPOLLHUP])
def test_an_error_or_a_hang_up_is_read(loop: Loop, selector: FakeSelector, bit: int) -> None:
    """And written to as well, where there is something to write: either finds the reason."""
    reading, writing = (
        watched(loop, FakeChannel(10_001)),
        watched(loop, FakeChannel(10_002, wants_write=True)),
    )
    loop.poll(0)
    selector.ready = [(10_001, bit), (10_002, bit)]
    loop.poll(0)
    assert reading.events == ["read"]
    assert writing.events[2:] == ["read", "write"]


def test_an_event_of_a_channel_that_another_one_has_closed_is_dropped(
    loop: Loop, selector: FakeSelector
) -> None:
    first, second = watched(loop, FakeChannel(10_001)), watched(loop, FakeChannel(10_002))
    loop.poll(0)
    first.on_event = lambda _name: second.close()
    selector.ready = [(10_001, READ), (10_002, READ)]
    loop.poll(0)
    assert second.events == ["close"]


def test_bytes_alone_do_not_end_a_wait(loop: Loop, selector: FakeSelector) -> None:
    """An answer of megabytes comes in many pieces; who polls has nothing to decide before the last one."""
    channel = watched(loop, FakeChannel())
    loop.poll(0)
    done: Future[int] = Future()
    pieces = iter(range(5))

    def more(name: str) -> None:
        if next(pieces) < 3:
            selector.ready = [(10_000, READ)]
        else:
            loop.complete((done, 1, None))

    channel.on_event = more
    selector.ready = [(10_000, READ)]
    loop.poll(60)
    assert channel.events == ["read"] * 4
    assert done.done


def test_bytes_that_keep_coming_do_not_outlast_the_timeout(loop: Loop, selector: FakeSelector) -> None:
    channel = watched(loop, FakeChannel())
    loop.poll(0)

    def more(name: str) -> None:
        selector.clock.time += 1
        selector.ready = [(10_000, READ)]

    channel.on_event = more
    selector.ready = [(10_000, READ)]
    loop.poll(3.5)
    assert len(channel.events) == 4


def test_timers_run_while_bytes_keep_coming(loop: Loop, selector: FakeSelector) -> None:
    channel = watched(loop, FakeChannel())
    loop.poll(0)
    fired: list[float] = []
    loop.at(selector.clock() + 2, lambda: fired.append(selector.clock()))

    def more(name: str) -> None:
        selector.clock.time += 0.5
        selector.ready = [(10_000, READ)]

    channel.on_event = more
    selector.ready = [(10_000, READ)]
    loop.poll(60)
    assert fired == [1002.0]


def test_a_channel_that_closes_while_it_reads_is_not_written_to(loop: Loop, selector: FakeSelector) -> None:
    channel = watched(loop, FakeChannel())
    loop.poll(0)
    channel.on_event = lambda name: channel.close() if name == "read" else None
    selector.ready = [(10_000, READ | WRITE)]
    loop.poll(0)
    assert channel.events == ["read", "close"]
    loop.poll(0)
    assert 10_000 not in selector.events


def test_a_channel_whose_socket_changed_while_it_read_is_not_written_to(
    loop: Loop, selector: FakeSelector
) -> None:
    """A refused connect is readable and writable: the second event is not the next address's."""
    channel = watched(loop, FakeChannel())
    loop.poll(0)

    def next_address(name: str) -> None:
        if name == "read":
            channel.forget(channel)
            channel.fd, channel.attempt = 10_007, 2

    channel.on_event = next_address
    selector.ready = [(10_000, READ | WRITE)]
    loop.poll(0)
    assert channel.events == ["read"]


def test_a_channel_without_a_socket_is_not_watched_yet(loop: Loop, selector: FakeSelector) -> None:
    channel = watched(loop, FakeChannel(-1))
    loop.poll(0)
    assert len(selector.events) == 1
    channel.fd = 10_005
    loop.poll(0)
    assert 10_005 in selector.events


def test_a_new_socket_of_the_same_channel_is_watched_instead(loop: Loop, selector: FakeSelector) -> None:
    channel = watched(loop, FakeChannel(10_001))
    loop.poll(0)
    channel.forget(channel)
    channel.fd = 10_002
    loop.poll(0)
    assert list(selector.events)[1:] == [10_002]


def test_a_channel_may_close_that_a_forked_child_has_removed(
    loop: Loop, selector: FakeSelector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removed(_fd: int) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    channel = watched(loop, FakeChannel(10_001))
    loop.poll(0)
    monkeypatch.setattr(selector, "unregister", removed)
    channel.forget(channel)
    channel.fd = 10_002
    loop.poll(0)
    assert selector.events[10_002] == READ


def test_an_overdue_channel_is_reported(loop: Loop, selector: FakeSelector) -> None:
    channel = watched(loop, FakeChannel(deadline=selector.clock() + 1))
    loop.poll(0.5)
    assert channel.events == []
    loop.poll(5)
    assert channel.events == ["late", "close"]
    assert selector.clock() == 1001.0


def test_one_overdue_channel_does_not_disturb_another(loop: Loop, selector: FakeSelector) -> None:
    late = watched(loop, FakeChannel(10_001, deadline=selector.clock() + 1))
    fine = watched(loop, FakeChannel(10_002))
    loop.poll(5)
    assert (late.is_open, fine.is_open) == (False, True)


# --- threads ------------------------------------------------------------------------------------------------------


def in_thread(work: Any) -> BaseException | None:
    found: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - it is handed to the test's thread
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0] if found else None


def test_another_thread_may_not_poll(loop: Loop) -> None:
    loop.poll(0)  # whoever is first owns it
    assert isinstance(in_thread(lambda: loop.poll(0)), RuntimeError)


def test_a_thread_may_adopt_the_loop_and_the_old_one_is_out(loop: Loop) -> None:
    def take() -> None:
        loop.adopt()
        loop.poll(0)

    assert in_thread(take) is None
    with pytest.raises(RuntimeError, match="owner"):
        loop.poll(0)
    loop.adopt()


def test_a_wakeup_of_another_thread_ends_the_wait(loop: Loop, selector: FakeSelector) -> None:
    selector.during_wait.append(lambda: in_thread(loop.wakeup))
    loop.poll(None)
    loop.poll(1.0)
    assert selector.clock() == 1001.0  # the wakeup ended one wait, not two


def test_a_wakeup_before_the_wait_counts(loop: Loop, selector: FakeSelector) -> None:
    loop.wakeup()
    loop.poll(None)
    assert selector.clock() == 1000.0


def test_calls_of_other_threads_run_in_the_owners(loop: Loop, selector: FakeSelector) -> None:
    seen: list[int] = []
    work = lambda: loop.call_threadsafe(lambda: seen.append(threading.get_ident()))  # noqa: E731
    selector.during_wait.append(lambda: in_thread(work))
    loop.poll(None)
    assert seen == [threading.get_ident()]


def test_a_call_made_by_a_call_runs_in_the_next_turn(loop: Loop) -> None:
    seen: list[str] = []
    loop.call_threadsafe(lambda: (seen.append("first"), loop.call_threadsafe(lambda: seen.append("second"))))  # type: ignore[arg-type,func-returns-value]
    loop.poll(0)
    assert seen == ["first"]
    loop.poll(0)
    assert seen == ["first", "second"]


@pytest.mark.parametrize("outcome", ["value", "error"])
def test_work_runs_on_a_thread_and_ends_in_the_loop(outcome: str) -> None:
    seen: list[tuple[Any, Any, int]] = []
    loop = Loop()

    def work() -> str:
        if outcome == "error":
            raise ConnectError("no such name")
        return "value"

    future: Future[None] = Future()

    def done(value: Any, error: KcliError | None) -> None:
        seen.append((value, str(error) if error else None, threading.get_ident()))
        loop.complete((future, None, None))

    loop.run_in_thread(work, done)
    loop.poll(30, future)
    loop.close()
    expected = ("value", None) if outcome == "value" else (None, "no such name")
    assert seen == [(*expected, threading.get_ident())]


def test_a_system_without_epoll_runs_it_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.core.net.loop.open_poll", SelectorPoll)
    loop = Loop()
    future: Future[int] = Future()
    loop.poll(0)
    in_thread(lambda: loop.call_threadsafe(lambda: loop.complete((future, 1, None))))
    assert loop.poll(30, future) == [future]
    loop.close()


# --- reentrancy and containment -------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["timer", "call", "completion"])
def test_a_callback_must_not_poll(loop: Loop, where: str) -> None:
    seen: list[object] = []

    def nested(*_: object) -> None:
        try:
            loop.poll(0)
        except RuntimeError as error:
            seen.append(str(error))

    future: Future[None] = Future()
    future.on_done(nested)
    if where == "timer":
        loop.at(0, nested)
    elif where == "call":
        loop.call_threadsafe(nested)
    else:
        loop.complete((future, None, None))
    loop.poll(0)
    assert seen == ["a callback must not poll the loop that runs it"]


@pytest.mark.parametrize("where", ["timer", "call", "completion", "callback"])
def test_a_callback_that_raises_does_not_take_others_with_it(loop: Loop, where: str) -> None:
    """Whether the error is raised at the end or logged: what else was due still happens."""
    seen: list[str] = []

    def bad(*_: object) -> None:
        raise ValueError("a defect in a callback")

    def good(*_: object) -> None:
        seen.append("good")

    first, second = Future[None](), Future[None]()
    for callback in (bad, good):
        if where == "timer":
            loop.at(0, callback)
        elif where == "call":
            loop.call_threadsafe(callback)
    if where == "completion":
        first.on_done(bad)
        second.on_done(good)
        loop.complete((first, None, None))
        loop.complete((second, None, None))
    elif where == "callback":
        first.on_done(bad)
        first.on_done(good)
        loop.complete((first, None, None))
    for _ in range(2):
        with contextlib.suppress(ValueError):  # told, and nothing else lost
            loop.poll(0)
    assert seen == ["good"]


# --- the end --------------------------------------------------------------------------------------------------------


def test_closing_closes_channels_and_completes_what_was_in_flight(loop: Loop, selector: FakeSelector) -> None:
    channel, future = watched(loop, FakeChannel()), Future[None]()
    channel.on_event = lambda name: loop.complete((future, None, KcliError("closed")))
    loop.poll(0)
    loop.close()
    loop.close()
    assert not channel.is_open
    assert isinstance(future.error, KcliError)
    assert selector.closed


def test_waking_a_closed_loop_does_no_harm(loop: Loop) -> None:
    loop.close()
    loop.wakeup()
    loop.call_threadsafe(lambda: None)
