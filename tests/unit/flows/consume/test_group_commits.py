"""What is committed, when: never more than what was flushed."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.core.consumer.subscription import PartitionState, Span
from kcli.core.errors import CommitFailedError, KcliError, TimedOutError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.consume.group_commits import GroupCommits

pytestmark = pytest.mark.case("O2")

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
U0 = TopicPartition("u", 0)


class Consumer:
    """Positions that run ahead, and what is committed."""

    def __init__(self) -> None:
        self.states: dict[TopicPartition, Any] = {}
        self.commits: list[dict[TopicPartition, int]] = []
        self.waiting: list[Any] = []
        self.refuse: KcliError | None = None
        self.topic_id = b"1" * 16
        self.silent = 0
        self.waited: Callable[[float], None] = lambda _seconds: None
        self.options = SimpleNamespace(default_api_timeout_ms=30_000)

    def read(self, tp: TopicPartition, position: int, committed: int = -1) -> None:
        state = PartitionState(tp, Span(position), 0, lambda _state: None)
        state.epoch, state.committed, state.topic_id = 3, committed, self.topic_id
        self.states[tp] = state

    @property
    def assignment(self) -> Any:
        return self.states.keys()

    def state(self, tp: TopicPartition) -> Any:
        return self.states[tp]

    def commit(self, offsets: Any, timeout: float, *, last: bool = False) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.commits.append({where: place.offset for where, place in offsets.items()})

    def begin_commit(self, offsets: Any, *, last: bool) -> Any:
        assert last
        return Begun(lambda: self.commit(offsets, 0), self)

    def commit_async(self, offsets: Any) -> Any:
        self.commit(offsets, 0)
        future = SimpleNamespace(done=False, error=None, callbacks=[])
        future.on_done = future.callbacks.append
        self.waiting.append(future)
        return future

    def answer(self, error: BaseException | None = None) -> None:
        future = self.waiting.pop(0)
        future.done, future.error = True, error
        for callback in future.callbacks:
            callback(future)


class Begun:
    """A commit that the coordinator answers after ``silent`` looks of two tenths of a second."""

    def __init__(self, commit: Callable[[], None], consumer: Consumer) -> None:
        self._commit, self._consumer, self._looks = commit, consumer, 0

    @property
    def done(self) -> bool:
        return self._looks >= self._consumer.silent

    def result(self, timeout: float) -> None:
        if not self.done:
            self._looks += 1
            self._consumer.waited(timeout)
            raise TimeoutError
        self._commit()


class Case:
    def __init__(self, *, enabled: bool = True) -> None:
        self.now = 0.0
        self.consumer, self.warned = Consumer(), []  # type: ignore[var-annotated]
        self.commits = GroupCommits(
            self.consumer,  # type: ignore[arg-type]
            interval=5.0,
            enabled=enabled,
            warn=self.warned.append,
            clock=lambda: self.now,
        )

    def passed(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def case() -> Case:
    return Case()


@pytest.mark.case("O2")
def test_what_was_handed_out_but_not_flushed_is_not_committed(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.consumer.read(P0, 500)  # a poll hands out more; its flush fails
    case.commits.commit_before_revocation([P0])
    case.commits.finish()
    assert case.consumer.commits == [{P0: 10}]


@pytest.mark.case("O2")
def test_a_limit_within_a_batch_commits_behind_the_last_written_record(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.consumer.read(P1, 10)
    case.commits.flushed_all()
    case.consumer.read(P0, 500)
    case.consumer.read(P1, 700)
    case.commits.flushed({P0: OffsetAndMetadata(123, "", 3)})
    case.commits.finish()
    assert case.consumer.commits == [{P0: 123, P1: 10}]


def test_commits_are_made_every_interval_and_only_of_what_has_moved(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.now = 4.9
    case.commits.tick()
    assert case.consumer.commits == []
    case.now = 5.0
    case.commits.tick()
    case.consumer.answer()
    assert case.consumer.commits == [{P0: 10}]
    case.now = 20.0
    case.commits.tick()
    assert case.consumer.commits == [{P0: 10}]
    assert case.commits.uncommitted == {}


def test_one_commit_at_a_time(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.now = 5.0
    case.commits.tick()
    case.consumer.read(P0, 20)
    case.commits.flushed_all()
    case.now = 10.0
    case.commits.tick()
    assert case.consumer.commits == [{P0: 10}]
    case.consumer.answer()
    case.now = 10.1
    case.commits.tick()
    assert case.consumer.commits[1:] == [{P0: 20}]


def test_where_the_group_is_already_nothing_is_committed(case: Case) -> None:
    case.consumer.read(P0, 10, committed=10)
    case.commits.flushed_all()
    case.commits.finish()
    assert case.consumer.commits == []


def test_a_position_that_is_not_known_is_not_committed(case: Case) -> None:
    case.consumer.read(P0, -1)
    case.commits.flushed_all()
    case.commits.finish()
    assert case.consumer.commits == []


def test_before_partitions_are_revoked_they_are_committed_and_then_forgotten(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.consumer.read(P1, 20)
    case.commits.flushed_all()
    case.commits.commit_before_revocation([P0])
    del case.consumer.states[P0]
    case.commits.finish()
    assert case.consumer.commits == [{P0: 10}, {P1: 20}]


def test_partitions_owned_by_others_are_not_committed(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.commits.lost([P0])
    case.commits.commit_before_revocation([P0])
    case.commits.finish()
    assert case.consumer.commits == []


def test_a_failed_commit_is_reported_and_made_again(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.now = 5.0
    case.commits.tick()
    case.consumer.answer(KcliError("no coordinator"))
    assert "no coordinator" in case.warned[0]
    assert case.commits.uncommitted == {P0: 10}
    case.commits.finish()
    assert case.consumer.commits == [{P0: 10}, {P0: 10}]


def test_a_rebalance_continues_when_its_commit_fails_but_the_end_does_not_hide_it(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.consumer.read(P1, 10)
    case.commits.flushed_all()
    case.consumer.refuse = CommitFailedError("fenced", {})
    case.commits.commit_before_revocation([P0])
    assert len(case.warned) == 1
    with pytest.raises(CommitFailedError):
        case.commits.finish()


def test_the_last_commit_is_not_tried_again_when_the_member_leaves(case: Case) -> None:
    """Else a stop would wait twice for a broker that is gone."""
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.consumer.refuse = CommitFailedError("no coordinator", {})
    with pytest.raises(CommitFailedError):
        case.commits.finish()
    case.consumer.refuse = None
    case.commits.commit_before_revocation([P0])
    assert (case.consumer.commits, case.warned) == ([], [])


@pytest.mark.parametrize(("stop_at", "seconds"), [(None, 20.0), (0.0, 3.0), (5.0, 8.0)])
def test_the_end_waits_for_its_commit_as_long_as_a_call_may_and_a_stop_for_three_seconds(
    case: Case, stop_at: float | None, seconds: float
) -> None:
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.consumer.silent = 100
    case.consumer.waited = case.passed
    stopped = (lambda: case.now >= stop_at) if stop_at is not None else bool
    if stop_at is None:
        case.commits.finish(stopped)
        assert case.consumer.commits == [{P0: 10}]
    else:
        with pytest.raises(TimedOutError, match="were not committed in time"):
            case.commits.finish(stopped)
        assert case.consumer.commits == []
    assert case.now == pytest.approx(seconds, abs=0.3)


def test_no_commit_commits_nothing() -> None:
    case = Case(enabled=False)
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.now = 50.0
    case.commits.tick()
    case.commits.commit_before_revocation([P0])
    case.commits.finish()
    assert (case.consumer.commits, case.commits.uncommitted) == ([], {})


def recreate(case: Case, tp: TopicPartition) -> None:
    """As the consumer finds it: there is no position any more, until a seek."""
    state = case.consumer.states[tp]
    state.position, state.committed, state.replaced_by = -1, -1, b"2" * 16


@pytest.mark.case("B8")
def test_nothing_of_a_topic_that_was_replaced_is_committed_and_all_of_the_others_is(case: Case) -> None:
    case.consumer.read(P0, 10)
    case.consumer.read(U0, 20)
    case.commits.flushed_all()
    recreate(case, P0)
    assert case.commits.uncommitted == {U0: 20}
    case.now = 5.0
    case.commits.tick()
    case.consumer.answer()
    case.commits.commit_before_revocation([P0, U0])
    case.commits.finish()
    assert case.consumer.commits == [{U0: 20}]


@pytest.mark.case("B8")
def test_the_same_offset_of_the_new_topic_is_committed_although_it_was_in_the_old_one(case: Case) -> None:
    """Even if the response to the old one arrives after the topic was found to be another."""
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.now = 5.0
    case.commits.tick()
    recreate(case, P0)
    case.commits.lost([P0])
    case.consumer.answer()
    case.consumer.topic_id = b"2" * 16
    case.consumer.read(P0, 10)
    case.commits.flushed_all()
    case.commits.finish()
    assert case.consumer.commits == [{P0: 10}, {P0: 10}]
