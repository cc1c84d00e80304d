"""The state of a partition follows from what is known of it."""

import pytest

from kcli.core.errors import KcliError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.copy.partition_state import GRACE, Cause, Facts, Obstacle, State, decide, waited

T0 = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("position", "end", "stop", "state"),
    [
        (5, 5, None, State.CAUGHT_UP),
        (5, 6, None, State.COPYING),
        (0, 0, None, State.CAUGHT_UP),
        (5, -1, None, State.COPYING),
        (5, 9, 5, State.CAUGHT_UP),
        (5, -1, 5, State.CAUGHT_UP),
        (5, 5, 6, State.COPYING),
    ],
)
def test_without_an_obstacle_it_is_where_it_has_got_to(
    position: int, end: int, stop: int | None, state: State
) -> None:
    assert decide(Facts(position, end, stop, None), None) == (state, "")


@pytest.mark.parametrize("cause", Cause)
def test_an_obstacle_counts_after_its_time_and_never_as_caught_up(cause: Cause) -> None:
    short, long = (Obstacle(cause, "why", GRACE[cause] + more) for more in (-0.1, 0.1))
    assert decide(Facts(5, 5, None, short), None) == (State.COPYING, "")
    assert decide(Facts(5, 5, None, long), None) == (State.WAITING, "why")
    assert decide(Facts(5, 5, 5, long), None) == (State.WAITING, "why")


@pytest.mark.parametrize("cause", Cause)
def test_with_a_shorter_limit_an_obstacle_counts_earlier(cause: Cause) -> None:
    assert decide(Facts(5, 9, None, Obstacle(cause, "why", 0.6)), 0.5) == (State.WAITING, "why")


@pytest.mark.parametrize("cause", Cause)
def test_a_partition_that_waited_too_long_ends_with_what_it_waited_for(cause: Cause) -> None:
    error = waited(T0, 5, 9, Obstacle(cause, "the leader of t-0", 61))
    assert "offset 5" in error.what
    assert "1m01s: the leader of t-0" in error.why
    assert "--max-wait" in error.do
    if cause is Cause.TRANSACTION:
        assert "4 offsets up to 8" in error.what
        assert error.exit_code == ExitCode.CHECK
    else:
        assert isinstance(error, TimedOutError)


def copy_to(stop: int | None = None) -> PartitionCopy:
    return PartitionCopy(T0, T0, None, position=5, stop=stop)


def test_the_time_of_a_state_is_that_of_its_beginning_and_the_end_is_final() -> None:
    copy = copy_to()
    assert copy.state.state is State.COPYING
    copy.change_state(State.WAITING, "no leader", since_ms=7)
    copy.change_state(State.WAITING, "no broker", since_ms=9)
    assert copy.state == (State.WAITING, 7, "no broker")
    copy.end(KcliError("what", why="why"))
    assert (copy.state.state, copy.state.why) == (State.ENDED, "what: why")
    copy.change_state(State.CAUGHT_UP)
    assert copy.state.state is State.ENDED


def test_the_lag_is_known_only_while_the_end_is() -> None:
    copy = copy_to()
    assert copy.lag is None
    copy.see_end(9, 5)
    assert (copy.lag, copy.end_seen) == (4, 9)
    copy.see_end(-1, 6)
    assert (copy.lag, copy.end_seen) == (None, 9)
    copy.see_end(9, 5)
    copy.fail(KcliError("what"))
    assert (copy.lag, copy.source_end, copy.end_seen) == (None, -1, 9)
    assert copy_to(8).lag == 3
