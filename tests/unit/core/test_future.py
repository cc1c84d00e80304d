"""Futures: completed once, waited for through a callable."""

import pytest

from kcli.core.future import Future


def test_a_result_is_kept_and_given() -> None:
    future: Future[int] = Future()
    assert not future.done
    future.set_result(3)
    assert (future.done, future.value, future.result(), future.error) == (True, 3, 3, None)


def test_an_error_is_kept_and_raised() -> None:
    future: Future[int] = Future()
    future.set_error(KeyError("k"))
    assert isinstance(future.error, KeyError)
    with pytest.raises(KeyError):
        future.result()


def test_the_first_completion_counts() -> None:
    future: Future[int] = Future()
    future.set_result(1)
    future.set_result(2)
    future.set_error(KeyError())
    assert (future.value, future.error) == (1, None)


def test_an_error_is_not_replaced_by_a_result() -> None:
    future: Future[int] = Future()
    future.set_error(KeyError())
    future.set_result(1)
    assert isinstance(future.error, KeyError)


def test_the_value_of_an_open_future_is_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="not done"):
        _ = Future[int]().value


def test_waiting_goes_through_the_callable_of_the_creator() -> None:
    waits: list[float | None] = []

    def wait(future: Future[int], timeout: float | None) -> None:
        waits.append(timeout)
        future.set_result(7)

    assert Future(wait).result(2.5) == 7
    assert waits == [2.5]


def test_a_future_that_is_done_does_not_wait() -> None:
    future: Future[int] = Future(lambda *_: pytest.fail("it must not wait"))
    future.set_result(1)
    assert future.result(120) == 1


def test_no_result_in_time_is_a_timeout() -> None:
    with pytest.raises(TimeoutError):
        Future[int](lambda *_: None).result(0)


def test_none_is_a_result() -> None:
    future: Future[None] = Future()
    future.set_result(None)
    assert future.result() is None


def test_callbacks_run_once_in_order_and_at_once_when_it_is_done() -> None:
    future: Future[int] = Future()
    seen: list[str] = []
    future.on_done(lambda _: seen.append("first"))
    future.on_done(lambda _: seen.append("second"))
    future.set_result(1)
    future.on_done(lambda done: seen.append(f"late {done.value}"))
    future.set_result(2)
    assert seen == ["first", "second", "late 1"]


def test_a_callback_sees_a_future_that_is_done() -> None:
    future: Future[int] = Future()
    seen: list[bool] = []
    future.on_done(lambda done: seen.append(done.done))
    future.set_error(KeyError())
    assert seen == [True]
