"""Commits in one queue, on a clock of their own and with brokers that answer by script: no socket, no sleep."""

import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from kcli.core.cluster.metadata import apply_metadata
from kcli.core.errors import (
    BrokerError,
    ClosedError,
    CommitFailedError,
    ConfigError,
    ConnectError,
    DataLossError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
)
from kcli.core.future import Future
from kcli.core.group.commits import Commits, Committer
from kcli.core.group.coordinator_link import CoordinatorLink, Seen
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from kcli.core.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import GroupMetadata, Node, OffsetAndMetadata, TopicPartition
from tests.fake.codes import Code
from tests.unit.core.cluster.scripted import answer, cluster_on, partition, topic

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Membership(Committer):
    """Says what the test says."""

    def __init__(self) -> None:
        super().__init__("g")
        self.who: GroupMetadata | None = GroupMetadata("g", 3, "m")
        self.tenures: dict[TopicPartition, int] = {A: 1, B: 1}
        self.is_joining = self.may_pass = False
        self.refusals: list[int] = []

    def metadata(self) -> GroupMetadata | None:
        return self.who

    @property
    def joining(self) -> bool:
        return self.is_joining

    def tenure(self, tp: TopicPartition) -> int | None:
        return self.tenures.get(tp)

    def refused(self, error: BrokerError, made_as: GroupMetadata) -> bool:
        self.refusals.append(error.code)
        return self.may_pass


class World:
    """``say``: the codes of the next answers, one for all partitions or by partition; afterwards all is well."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.say: list[Any] = []
        self.topic_ids: list[bytes] = []  # in the next metadata responses; the last one stays
        self.cluster, self.brokers, self.clock = cluster_on(
            monkeypatch, self._script, retry_backoff_ms=100, retry_backoff_max_ms=100
        )
        self.link = CoordinatorLink(self.cluster, "g")
        self.link.learn(Seen(self.cluster.view, Node(1, "b1", 9092)))
        self.cluster.view = self._view()
        self.membership = Membership()
        self.commits = Commits(self.cluster, self.link, self.membership)

    def _view(self) -> Any:
        return apply_metadata(self.cluster.view, answer(), [])

    def _metadata(self) -> Any:
        ids = self.topic_ids[:1]
        del self.topic_ids[: len(self.topic_ids) > 1]
        return answer(*(topic("t", partition(0), partition(1), topic_id=each) for each in ids))

    def _script(self, _node: Node, request: Request) -> Any:
        if not isinstance(request, OffsetCommitRequest):
            return self._metadata() if type(request).__name__.startswith("Metadata") else None
        said = self.say.pop(0) if self.say else "NONE"
        if said is None or isinstance(said, BaseException):
            return said
        rows = [
            OffsetCommitResponsePartition(
                partition_index=p.partition_index,
                error_code=Code[said if isinstance(said, str) else said[p.partition_index]],
            )
            for topic in request.topics
            for p in topic.partitions
            if isinstance(said, str) or p.partition_index in said
        ]
        names = [topic.name for topic in request.topics]
        return OffsetCommitResponse(
            topics=[OffsetCommitResponseTopic(name=name, partitions=rows) for name in names]
        )

    def submit(
        self,
        offset: int,
        *partitions: TopicPartition,
        within: float = 10.0,
        waits: bool = True,
        topic_id: bytes = NO_UUID,
        last: bool = False,
    ) -> Future[None]:
        offsets = {tp: OffsetAndMetadata(offset, topic_id=topic_id) for tp in partitions or (A,)}
        deadline = self.cluster.loop.now() + within
        return self.commits.submit(offsets, deadline, through_rebalance=waits, last=last)

    def run(self, seconds: float = 1.0) -> None:
        loop = self.cluster.loop
        end = loop.now() + seconds
        while loop.now() < end:
            self.commits.pump(loop.now())
            self.cluster.poll(min(0.005, end - loop.now()))
        self.commits.pump(loop.now())

    @property
    def sent(self) -> list[tuple[int, dict[int, int]]]:
        """Generation, and offsets by partition."""
        asked: list[Any] = [request for _, _, request in self.brokers.asked(OffsetCommitRequest)]
        return [
            (
                r.generation_id_or_member_epoch,
                {p.partition_index: p.committed_offset for topic in r.topics for p in topic.partitions},
            )
            for r in asked
        ]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def failed(future: Future[None]) -> dict[TopicPartition, KcliError]:
    assert isinstance(future.error, CommitFailedError)
    return future.error.errors


@pytest.mark.case("O3")
def test_commits_are_sent_in_order(world: World) -> None:
    """The next is sent when the one before has its answer, however often that was asked for."""
    world.say = ["COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_LOAD_IN_PROGRESS"]
    futures = [world.submit(n) for n in (1, 2, 3)]
    world.run()
    assert [future.error for future in futures] == [None] * 3
    assert [offsets[0] for _, offsets in world.sent] == [1, 1, 1, 2, 3]
    assert world.commits.idle
    assert (world.commits.done, world.commits.failed) == (3, 0)


@pytest.mark.case("O4")
def test_each_partition_has_its_own_error_and_only_what_may_pass_is_asked_again(world: World) -> None:
    """One is refused for good, one for the moment."""
    world.say = [{0: "TOPIC_AUTHORIZATION_FAILED", 1: "COORDINATOR_LOAD_IN_PROGRESS"}]
    future = world.submit(5, A, B)
    world.run()
    assert set(failed(future)) == {A}
    assert [offsets for _, offsets in world.sent] == [{0: 5, 1: 5}, {1: 5}]
    assert world.commits.failed == 1


@pytest.mark.case("O1")
def test_a_partition_that_the_answer_leaves_out_is_asked_again(world: World) -> None:
    """It may have been committed, and once more does no harm."""
    world.say = [{0: "NONE"}]
    future = world.submit(5, A, B)
    world.cluster.loop.at(0.0, lambda: None)
    world.run(0.05)
    assert not future.done
    assert world.sent == [(3, {0: 5, 1: 5})]


@pytest.mark.parametrize("code", ["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"])
def test_an_offset_of_a_topic_that_is_gone_is_given_up_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """A close would wait for it until its deadline: the last commit, and the one before a revocation."""
    world.say = [code] * 100
    missing = world.submit(5)
    world.run(2.0)
    assert not missing.done, "a moment later brokers may know it"
    gone = NotFoundError("topic t does not exist")
    monkeypatch.setattr(world.cluster, "gone", lambda _topic: gone)
    world.run(0.5)
    assert failed(missing) == {A: gone}


def test_a_deadline_also_counts_after_other_timers(world: World) -> None:
    world.say = [None]
    first, second = world.submit(1), world.submit(2, within=0.5)
    world.run(0.6)
    assert not first.done
    assert set(failed(second)) == {A}
    assert len(world.sent) == 1


@pytest.mark.case("O1")
def test_at_its_deadline_a_commit_on_its_way_is_unknown_and_not_overtaken(world: World) -> None:
    """The next one waits for its answer."""
    world.brokers.delay = 1.0
    first, second = world.submit(1, within=0.5), world.submit(2)
    world.run(0.9)
    assert isinstance(failed(first)[A], OutcomeUnknownError)
    assert len(world.sent) == 1
    world.run(2.0)
    assert second.done
    assert second.error is None
    assert [offsets[0] for _, offsets in world.sent] == [1, 2]


def test_commits_of_owned_partitions_move_to_the_next_generation(world: World) -> None:
    world.say = ["COORDINATOR_LOAD_IN_PROGRESS"]
    future = world.submit(5, A, B)
    world.run(0.05)
    world.membership.who = GroupMetadata("g", 4, "m")
    del world.membership.tenures[B]
    world.run()
    assert set(failed(future)) == {B}
    assert world.sent[-1] == (4, {0: 5})


@pytest.mark.case("O3")
def test_commits_of_partitions_owned_by_others_in_between_are_dropped(world: World) -> None:
    """They may have committed more."""
    world.say = ["COORDINATOR_LOAD_IN_PROGRESS"]
    future = world.submit(5, A)
    world.run(0.05)
    world.membership.who = GroupMetadata("g", 6, "m")
    world.membership.tenures[A] = 2
    world.run()
    assert set(failed(future)) == {A}
    assert [generation for generation, _ in world.sent] == [3]


def test_while_it_joins_nothing_is_judged_by_what_it_owned(world: World) -> None:
    world.say = ["COORDINATOR_LOAD_IN_PROGRESS"]
    future = world.submit(5, A)
    world.run(0.05)
    world.membership.who, world.membership.is_joining = GroupMetadata("g", 4, "m"), True
    world.membership.tenures.clear()
    world.run()
    assert not future.done
    world.membership.is_joining, world.membership.tenures = False, {A: 1}
    world.run()
    assert future.done
    assert future.error is None
    assert world.sent[-1] == (4, {0: 5})


def test_without_a_membership_nothing_is_reported(world: World) -> None:
    """A group without members would take it from anyone."""
    world.membership.who = None
    assert set(failed(world.submit(5))) == {A}
    assert world.sent == []


def test_a_commit_without_a_member_is_sent_as_such(world: World) -> None:
    world.commits.committer = Committer("g")
    future = world.submit(5)
    world.run()
    assert future.error is None
    assert world.sent == [(-1, {0: 5})]


@pytest.mark.case("G5")
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("may_pass", [True, False])
def test_a_membership_error_is_reported_once_and_decides_for_all(
    world: World, waits: bool, may_pass: bool
) -> None:
    """Only who may wait for a rebalance does, and only if it may bring something."""
    world.membership.may_pass = may_pass
    world.say = ["REBALANCE_IN_PROGRESS"]
    future = world.submit(5, A, B, waits=waits)
    world.run()
    assert world.membership.refusals == [Code.REBALANCE_IN_PROGRESS]
    if waits and may_pass:
        assert future.error is None
        assert len(world.sent) == 2
    else:
        assert set(failed(future)) == {A, B}
        assert len(world.sent) == 1


@pytest.mark.case("G13")
def test_a_stale_epoch_passes_without_the_caller(world: World) -> None:
    """The heartbeats bring the next one."""
    world.membership.may_pass = world.membership.by_epoch = True
    world.say = ["STALE_MEMBER_EPOCH"]
    future = world.submit(5, waits=False)
    world.run()
    assert future.error is None


@pytest.mark.case("G6")
def test_another_coordinator_is_looked_for(world: World) -> None:
    """And told at the deadline."""
    world.say = ["NOT_COORDINATOR"]
    future = world.submit(5, within=0.5)
    world.run()
    assert "NOT_COORDINATOR" in str(failed(future)[A])


def test_errors_that_no_retry_helps_end_it_at_once(world: World) -> None:
    world.say = [KcliError("no")]
    future = world.submit(5)
    world.run(0.1)
    assert str(failed(future)[A]) == "no"


def test_a_leaving_member_abandons_pending_requests(world: World) -> None:
    world.say = [None]
    futures = [world.submit(1), world.submit(2)]
    world.commits.abandon(KcliError("left"))
    assert [str(failed(future)[A]) for future in futures] == ["left", "left"]
    assert world.commits.idle


# Many of them


def steps(work: Callable[[], object]) -> int:
    """Instructions that the commits' own code takes."""
    count = 0

    def trace(frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.endswith("commits.py"):
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.case("S1-11")
@pytest.mark.parametrize("waits", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("same", [True, False], ids=["same", "moving"])
@pytest.mark.parametrize("why", ["in flight", "no coordinator", "pause", "joining", "no member", "given up"])
def test_a_long_queue_costs_each_commit_the_same(world: World, why: str, same: bool, waits: bool) -> None:
    """Twice as many take twice as long, not four times, whatever the first of them waits for."""

    def commits(number: int) -> None:
        futures = [world.submit(0 if same else n, waits=waits, within=60) for n in range(number)]
        if why == "given up":
            world.commits.pump(world.cluster.loop.now() + 100.0)
        else:
            world.commits.abandon(KcliError("left"))
        assert all(future.done for future in futures)

    world.say = [None]
    if why in ("in flight", "given up"):
        world.submit(0)
    elif why == "no coordinator":
        world.link.refuted(ConnectError("gone"), world.cluster.loop.now())
    elif why == "pause":
        world.say = ["COORDINATOR_LOAD_IN_PROGRESS"]
        world.submit(0)
        world.run(0.02)
    elif why == "joining":
        world.submit(0)
        world.membership.who, world.membership.is_joining = GroupMetadata("g", 4, "m"), True
    else:
        world.membership.who = None
    few = steps(lambda: commits(50))
    assert few
    assert steps(lambda: commits(200)) < 4 * few * 1.5


def test_a_thousand_commits_are_made_in_order_and_each_is_reported_once(world: World) -> None:
    told: list[int] = []
    for n in range(1_000):
        world.submit(n, within=100).on_done(lambda _, n=n: told.append(n))
    world.run(20)
    assert told == list(range(1_000))
    assert [offsets[0] for _, offsets in world.sent] == told
    assert world.commits.idle


def test_commits_that_do_not_differ_in_a_partition_are_one_request(world: World) -> None:
    world.say = ["NONE", {0: "NONE", 1: "TOPIC_AUTHORIZATION_FAILED"}]
    futures = [
        world.submit(1),
        world.submit(5, A),
        world.submit(5, B),
        world.submit(5, A, B),
        world.submit(6, A),
    ]
    world.run()
    assert [offsets for _, offsets in world.sent] == [{0: 1}, {0: 5, 1: 5}, {0: 6}]
    assert [set(failed(future)) if future.error else set() for future in futures] == [
        set(),
        set(),
        {B},
        {B},
        set(),
    ]
    assert (world.commits.done, world.commits.failed) == (3, 2)


def test_a_callback_that_commits_finds_nothing_half_done(world: World) -> None:
    """Of two commits in one answer, the first one's callback makes a third: the second is not sent again."""
    more: list[Future[None]] = []
    world.submit(1)
    first, second = world.submit(5, A), world.submit(5, B)
    first.on_done(lambda _: more.append(world.submit(6, A)))
    world.run()
    assert [future.error for future in (first, second, *more)] == [None] * 3
    assert [offsets for _, offsets in world.sent] == [{0: 1}, {0: 5, 1: 5}, {0: 6}]


# What cannot be sent, and what is said of it

UNWRITABLE = {
    "long metadata": (A, OffsetAndMetadata(1, "x" * 32_768)),
    "half a character": (A, OffsetAndMetadata(1, "\ud800")),
    "bytes": (A, OffsetAndMetadata(1, b"note")),  # type: ignore[arg-type]
    "a topic that is none": (TopicPartition(7, 0), OffsetAndMetadata(1)),  # type: ignore[arg-type]
    "half a topic": (TopicPartition("\udcff", 0), OffsetAndMetadata(1)),
    "a large partition": (TopicPartition("t", 2**31), OffsetAndMetadata(1)),
    "a large epoch": (A, OffsetAndMetadata(1, "", 2**31)),
    "no epoch": (A, OffsetAndMetadata(1, "", None)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", UNWRITABLE)
def test_an_offset_that_kafka_cannot_store_fails_alone(world: World, what: str) -> None:
    tp, place = UNWRITABLE[what]
    world.membership.tenures[tp] = 1
    before = world.submit(1)
    deadline = world.cluster.loop.now() + 10
    future = world.commits.submit({tp: place, B: OffsetAndMetadata(2)}, deadline, through_rebalance=True)
    after = world.submit(3, within=30)
    world.run()
    assert isinstance(failed(future)[tp], ConfigError)
    assert set(failed(future)) == {tp}
    assert [before.error, after.error] == [None, None]
    assert {0: 3, 1: 2}.items() <= {item for _, offsets in world.sent for item in offsets.items()}


def test_no_metadata_is_an_empty_one(world: World) -> None:
    deadline = world.cluster.loop.now() + 10
    place = OffsetAndMetadata(1, None)  # type: ignore[arg-type]
    future = world.commits.submit({A: place}, deadline, through_rebalance=True)
    world.run()
    assert future.error is None


@pytest.mark.parametrize("how", ["raises", "answers"])
def test_a_request_that_cannot_be_made_fails_its_commit_only(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Whatever is wrong with it: nothing of it comes out of a poll, and the next one continues."""
    if how == "answers":
        world.say = [ZeroDivisionError("defect")]
    else:
        send = world.cluster.send
        defects = [ZeroDivisionError("defect")]

        def sending(request: Any, *where: Any, **options: Any) -> Any:
            if isinstance(request, OffsetCommitRequest) and defects:
                raise defects.pop()
            return send(request, *where, **options)

        monkeypatch.setattr(world.cluster, "send", sending)
    first, second = world.submit(1), world.submit(2)
    world.run()
    assert "ZeroDivisionError" in str(failed(first)[A])
    assert second.error is None
    assert world.commits.idle


@pytest.mark.parametrize("code", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS"])
def test_manual_assignment_does_not_cause_a_join(world: World, code: str) -> None:
    world.commits.committer = Committer("g")
    world.say = [code]
    future = world.submit(5)
    world.run()
    assert isinstance(future.error, CommitFailedError)
    assert "has members" in future.error.do
    assert "poll" not in future.error.do


def test_an_error_that_is_not_about_the_membership_does_not_cause_a_join(world: World) -> None:
    world.say = ["TOPIC_AUTHORIZATION_FAILED"]
    future = world.submit(5)
    world.run()
    assert isinstance(future.error, CommitFailedError)
    assert "members" not in future.error.do


# The link


def test_a_link_takes_over_what_another_thread_knows_once(world: World) -> None:
    seen = Seen(world.cluster.view, Node(2, "b2", 9092))
    world.link.learn(seen)
    assert (node := world.link.node(0.0)) is not None
    assert node.id == 2
    world.link.refuted(ConnectError("gone"), 0.0)
    world.link.learn(seen)
    assert world.link.node(0.0) is None, "the same news is no news"


def test_several_failures_of_one_coordinator_are_one(world: World) -> None:
    now = world.cluster.loop.now()
    assert world.link.refuted(ConnectError("gone"), now)
    pause = world.link.wake_at - now
    for _ in range(5):
        assert world.link.refuted(ConnectError("gone"), now)
    assert world.link.wake_at - now == pause
    assert 0.05 < pause < 0.15


def test_other_errors_say_nothing_of_the_coordinator(world: World) -> None:
    assert not world.link.refuted(BrokerError(Code.UNKNOWN_MEMBER_ID, "x"), 0.0)
    assert world.link.node(0.0) is not None


def test_a_lookup_finds_it_and_a_final_refusal_is_raised(world: World) -> None:
    found = [Code.COORDINATOR_NOT_AVAILABLE, Code.NONE, Code.GROUP_AUTHORIZATION_FAILED]

    def script(_node: Node, request: Request) -> Any:
        if type(request).__name__ != "FindCoordinatorRequest":
            return answer()
        code = found.pop(0)
        return FindCoordinatorResponse(
            coordinators=[Coordinator(key="g", node_id=2, host="b2", port=9092, error_code=code)]
        )

    world.brokers.script = script
    loop, link = world.cluster.loop, world.link

    def look(seconds: float) -> Node | None:
        end = loop.now() + seconds
        while (node := link.node(loop.now())) is None and loop.now() < end:
            world.cluster.poll(0.01)
        return node

    link.refuted(ConnectError("gone"), loop.now())
    node = look(1.0)
    assert node is not None
    assert node.id == 2
    assert isinstance(link.error, BrokerError)
    link.confirmed()
    assert link.error is None
    link.refuted(ConnectError("gone"), loop.now())
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        look(1.0)


def test_waiting_for_a_commit_does_not_include_one_that_waits_for_a_join(world: World) -> None:
    """Nobody polls meanwhile, so that the join would never end."""
    world.say, world.membership.may_pass = ["REBALANCE_IN_PROGRESS"], True
    patient = world.submit(1, A)
    world.run(0.05)
    world.membership.who, world.membership.is_joining = GroupMetadata("g", 4, "m"), True
    world.run(0.3)
    waiting = world.submit(2, B, waits=False)
    world.run(0.3)
    assert isinstance(waiting.error, CommitFailedError)
    assert "REBALANCE_IN_PROGRESS" in str(waiting.error)
    assert not patient.done
    world.membership.is_joining = False
    world.run(1)
    assert patient.done
    assert patient.error is None


def test_a_callback_that_raises_does_not_prevent_the_other_callbacks(world: World) -> None:
    """Those behind it in the same request are out of the queue already: nobody would ever tell them."""
    first = world.submit(1, B)  # on its way: the next two share a request
    failing, other = world.submit(2, A), world.submit(2, B)

    def defect(_done: Future[None]) -> None:
        raise ValueError("mine")

    failing.on_done(defect)
    with pytest.raises(ValueError, match="mine"):
        world.run()
    world.run()
    assert [len(offsets) for _, offsets in world.sent] == [1, 2]
    assert (first.done, failing.done, other.done) == (True, True, True)
    assert other.error is None


@pytest.mark.parametrize("raises", [False, True])
def test_a_callback_that_tries_again_after_each_failure_does_not_keep_it_from_ending(
    world: World, raises: bool
) -> None:
    world.say = [None]
    world.submit(1)
    told: list[BaseException | None] = []

    def again(done: Future[None]) -> None:
        assert len(told) < 50, "without end"
        told.append(done.error)
        if done.error is not None:
            world.submit(1).on_done(again)
            if raises:
                raise ValueError("mine")

    world.submit(1).on_done(again)
    with suppress(ValueError):
        world.commits.abandon(KcliError("left"))
    assert len(told) == 1
    with suppress(ValueError):
        world.commits.close()
    assert world.commits.idle
    assert len(told) == 2
    with pytest.raises(ClosedError):
        world.submit(1)


OLD, NEW = b"o" * 16, b"n" * 16


def refresh(world: World, *topic_ids: bytes) -> None:
    """Metadata says these in turn."""
    world.topic_ids = list(topic_ids)
    world.cluster.topics.add("t")
    world.cluster.wait_refreshed(world.cluster.loop.now() + 5)


@pytest.mark.case("B8")
@pytest.mark.parametrize("reason", ["the last", "a refresh is due", "the broker does not know the topic"])
def test_by_name_a_commit_waits_for_metadata_where_there_is_reason_to(world: World, reason: str) -> None:
    refresh(world, OLD, NEW)
    world.brokers.delay = 0.2
    if reason == "a refresh is due":
        world.cluster.request_refresh()
    elif reason != "the last":
        world.say = ["UNKNOWN_TOPIC_OR_PARTITION"]
    future = world.submit(5, topic_id=OLD, last=reason == "the last")
    world.run(2)
    assert isinstance(failed(future)[A], DataLossError)
    assert len(world.sent) == (1 if reason.startswith("the broker") else 0)


@pytest.mark.case("B8")
def test_by_name_a_commit_without_a_reason_is_sent_at_once(world: World) -> None:
    refresh(world, OLD)
    asked = len(world.brokers.sent)
    future = world.submit(5, topic_id=OLD)
    world.run(0.1)
    assert (future.done, future.error) == (True, None)
    assert len(world.brokers.sent) == asked + 1


@pytest.mark.case("B8")
@pytest.mark.parametrize("last", [False, True])
def test_one_response_with_another_id_may_be_of_a_broker_that_lags(world: World, last: bool) -> None:
    refresh(world, OLD, NEW, OLD)
    world.cluster.wait_refreshed(world.cluster.loop.now() + 5)
    future = world.submit(5, topic_id=OLD, last=last)
    world.run(2)
    assert (future.done, future.error) == (True, None)


@pytest.mark.case("B8")
def test_commits_of_the_old_and_the_new_topic_are_judged_each(world: World) -> None:
    refresh(world, OLD, NEW)
    world.cluster.wait_refreshed(world.cluster.loop.now() + 5)
    old, new = world.submit(5, topic_id=OLD), world.submit(1, topic_id=NEW)
    world.run(2)
    assert isinstance(failed(old)[A], DataLossError)
    assert (new.done, new.error) == (True, None)
    assert [offsets for _, offsets in world.sent] == [{0: 1}]


@pytest.mark.case("B8")
def test_without_metadata_a_last_commit_fails_at_its_deadline_and_is_not_sent(world: World) -> None:
    refresh(world, OLD)
    world.brokers.delay = 100.0
    future = world.submit(5, topic_id=OLD, last=True, within=1.0)
    world.run(2)
    assert set(failed(future)) == {A}
    assert world.sent == []
