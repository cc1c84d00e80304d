"""A commit whose outcome is not known yet: how often it is asked for."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from kcli.core.errors import TransactionUnknownError
from kcli.core.producer.producer import Producer
from kcli.flows.stop import Stop
from kcli.flows.transactions.ends import commit_transaction


class Slow:
    """A producer whose coordinator needs ``seconds`` for each response, connections included."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.waits: list[float] = []

    def commit_transaction(self, timeout: float, *, stop: Callable[[], bool], grace: float) -> None:
        self.waits.append(timeout)
        assert grace == 0.5
        if stop() or timeout < self.seconds:
            raise TransactionUnknownError("not known")


def commit(producer: Slow, stop: Stop, **times: Any) -> None:
    commit_transaction(cast("Producer", producer), stop, grace=0.5, **{"patience": 100.0, **times})


@pytest.mark.parametrize(("seconds", "waits"), [(0.0, 1), (3.0, 1), (10.0, 3), (100.0, 6)])
def test_each_response_has_longer_than_the_one_before(seconds: float, waits: int) -> None:
    """With the same time for all, none would ever come."""
    producer = Slow(seconds)
    commit(producer, Stop())
    assert len(producer.waits) == waits


def test_a_stop_and_the_end_of_patience_end_it() -> None:
    stop = Stop()
    stop.request()
    for times in ({}, {"patience": 0.0}):
        producer = Slow(1_000.0)
        with pytest.raises(TransactionUnknownError):
            commit(producer, stop if not times else Stop(), **times)
        assert len(producer.waits) == 1
