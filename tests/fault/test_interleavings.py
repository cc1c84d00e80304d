"""Heartbeats, commits, polls and closes in thousands of orders, while the coordinator dies, moves or holds its breath.

Each seed is a story of its own: two members, one or two faults at the steps of a member's life, a dozen calls. What must
hold in all of them: a call returns within its timeout, raises nothing but KcliError, leaves no thread behind, and when
the faults are over the members share the partitions. ``KCLI_INTERLEAVINGS=10000`` tells more stories,
``KCLI_INTERLEAVINGS_FROM`` where to begin; a failure names its seed.
"""

import faulthandler
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.consumer import consumer
from kcli.core.errors import KcliError
from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.knobs import Hold
from tests.fault.consuming import fill, options, tp

STORIES = int(os.environ.get("KCLI_INTERLEAVINGS", "500"))
FIRST = int(os.environ.get("KCLI_INTERLEAVINGS_FROM", "0"))
PARTS = 10
HERE = 3
"""So many of the parts run in ``make test``, the others in ``make chaos``."""
GRACE = 3.0
"""Seconds beyond a call's timeout, by ``Calm``; a deadlock takes longer."""
WATCHDOG = 60.0
CONVERGENCE = 15.0
LEAVE_PATIENCE = 0.2
"""Instead of 5 seconds."""

POINTS = [
    FindCoordinatorRequest,
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
    ConsumerGroupHeartbeatRequest,
    OffsetFetchRequest,
    OffsetCommitRequest,
    LeaveGroupRequest,
]
CODES = [
    Code.NOT_COORDINATOR,
    Code.COORDINATOR_LOAD_IN_PROGRESS,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.ILLEGAL_GENERATION,
    Code.UNKNOWN_MEMBER_ID,
]
NODES = (1, 2)
GROUPS = {"consumer_heartbeat_interval": 0.02, "consumer_session_timeout": 0.4}
CALLS = [
    *["poll"] * 10,
    *["commit"] * 3,
    *["async"] * 3,
    *["sleep", "position", "again", "rebalance", "wakeup", "let go"],
]


class Calm:
    """A clock that stands still while this process gets no processor, as a thread of it notices that only sleeps."""

    _TICK = 0.02

    def __init__(self) -> None:
        self._lost = 0.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="calm", daemon=True)
        self._thread.start()

    def __call__(self) -> float:
        return time.monotonic() - self._lost

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _tick(self) -> None:
        while not self._closed.is_set():
            before = time.monotonic()
            time.sleep(self._TICK)
            self._lost += max(0.0, time.monotonic() - before - 2 * self._TICK)


class Story:
    """One seed."""

    def __init__(self, seed: int, cluster: FakeCluster, clock: Callable[[], float]) -> None:
        self.rng = random.Random(seed)
        self.clock = clock
        self.cluster = cluster
        self.group = f"g{seed}"
        self.holds: list[Hold] = []
        self.log: list[str] = [f"seed {seed}"]
        self.protocol = self.rng.choice(["classic", "consumer"])
        self.strategy = self.rng.choice(["range", "cooperative-sticky", "range,cooperative-sticky"])
        self.members = [self._member(n) for n in range(2)]

    def _member(self, number: int) -> Consumer:
        rng = self.rng
        wishes: dict[str, Any] = {
            "group_id": self.group,
            "group_protocol": self.protocol,
            "partition_assignment_strategy": self.strategy,
            "enable_auto_commit": rng.random() < 0.5,
            "auto_commit_interval_ms": 0,
            "max_poll_records": rng.choice([1, 500]),
            "heartbeat_interval_ms": rng.choice([5, 20]),
            "session_timeout_ms": 400,
            "request_timeout_ms": 150,
            "retry_backoff_ms": 5,
            "retry_backoff_max_ms": 20,
        }
        made = Consumer(**options(self.cluster, **wishes))
        made.subscribe("t", on_revoked=lambda _: self._callback(made))
        self.log.append(f"member {number}: {wishes}")
        return made

    def _callback(self, one: Consumer) -> None:
        if self.rng.random() < 0.3:
            self.timed("commit in on_revoked", 0.05, lambda: one.commit(timeout=0.05))

    # --- faults ------------------------------------------------------------------------------------

    def break_something(self) -> None:
        rng, cluster = self.rng, self.cluster
        api, after = rng.choice(POINTS), rng.choice([0, 0, 1, 2])
        how = rng.choice(
            ["reset", "silence", "lost", "lost silently", "held", "moves", "dies", "away", "code", "node"]
        )
        if api is JoinGroupRequest and how in ("silence", "lost silently"):
            how = "lost"  # a JoinGroup that nobody answers is waited for as long as others may take to poll
        self.log.append(f"{how} at {api.api_name} after {after}")
        match how:
            case "reset" | "silence":
                cluster.drop(api, how, after=after)
            case "lost":
                cluster.swallow(api, "reset", after=after)
            case "lost silently":
                cluster.swallow(api, "silence", after=after)
            case "held":
                self.holds.append(cluster.hold(api, at=rng.choice(["request", "answer"]), after=after))
            case "code":
                cluster.fail(api, *rng.choices(CODES, k=rng.choice([1, 3])), after=after)
            case _:
                cluster.intercept(api, self._once(how), after=after)

    def _once(self, how: str) -> Callable[[Any], None]:
        done = threading.Event()

        def act(_request: Any) -> None:
            if done.is_set():
                return
            done.set()
            here = self.cluster.coordinator("group", self.group)
            other = -1 if how == "away" else next(node for node in NODES if node != here)
            if how != "node":
                self.cluster.move_coordinator("group", self.group, other)
            if how in ("dies", "node") and here in NODES:
                self.cluster.reset_connections(here)

        return act

    def heal(self) -> None:
        self.cluster.heal()
        for hold in self.holds:
            hold.lose(then="reset") if self.rng.random() < 0.5 else hold.release()
            hold.release()
        self.holds.clear()
        if self.cluster.coordinator("group", self.group) not in NODES:
            self.cluster.move_coordinator("group", self.group, self.rng.choice(NODES))

    # --- calls ---------------------------------------------------------------------------------------

    def timed(self, what: str, timeout: float, call: Callable[[], Any]) -> None:
        began = self.clock()
        try:
            call()
        except KcliError as error:
            self.log.append(f"{what}: {error}")
        took = self.clock() - began
        if what:
            self.log.append(f"{what}: {took:.3f} s")
        assert took < timeout + GRACE, f"{what} took {took:.2f} s instead of {timeout:g}"

    def call(self) -> None:
        rng = self.rng
        one = rng.choice(self.members)
        partition = tp(rng.randrange(2))
        short = rng.choice([0.0, 0.005, 0.02])
        match rng.choice(CALLS):
            case "poll":
                self.timed("poll", short, lambda: one.poll(short))
            case "commit":
                self.timed("commit", short, lambda: one.commit({partition: rng.randrange(10)}, timeout=short))
            case "async":
                self.timed("commit_async", 0, lambda: one.commit_async({partition: rng.randrange(10)}))
            case "sleep":
                time.sleep(rng.choice([0.002, 0.02]))
            case "position":
                if partition in one.assignment:
                    self.timed("position", short, lambda: one.position(partition, short))
            case "again":
                self.timed("unsubscribe", LEAVE_PATIENCE, one.unsubscribe)
                one.subscribe("t")
            case "rebalance":
                if self.cluster.group_members(self.group):
                    self.cluster.force_rebalance(self.group)
            case "wakeup":
                threading.Timer(0.002, one.wakeup).start()
            case "let go":
                for hold in self.holds:
                    hold.release()

    def tell(self) -> None:
        for _ in range(self.rng.choice([1, 1, 2])):
            self.break_something()
        for _ in range(self.rng.randrange(6, 16)):
            self.call()
        if self.rng.random() < 0.5:
            self.heal()
            self.converge()
        for one in self.rng.sample(self.members, 2):
            timeout = self.rng.choice([0.0, 0.05, 0.3])
            self.timed("close", timeout, lambda one=one, timeout=timeout: one.close(timeout))
        self.heal()

    def converge(self) -> None:
        """Both have their share, nothing is read twice, nothing by nobody."""
        end = self.clock() + CONVERGENCE
        while True:
            for one in self.members:
                self.timed("", 0.002, lambda one=one: one.poll(0.002))
            first, second = (one.assignment for one in self.members)
            settled = all(one._group is not None and one._group.is_stable for one in self.members)
            if settled and first | second == {tp(0), tp(1)} and not first & second:
                return
            assert self.clock() < end, f"stranded: {first}, {second}"

    def close(self) -> None:
        for one in self.members:
            one.close(0, commit=False)


@pytest.fixture
def watchdog() -> Iterator[Callable[[], None]]:
    """To be called for each story: one that hangs ends the run with the stacks of all threads."""
    yield lambda: faulthandler.dump_traceback_later(WATCHDOG, exit=True)
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def calm() -> Iterator[Calm]:
    clock = Calm()
    yield clock
    clock.close()


@pytest.mark.case("G4", "R6")
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    "part", [pytest.param(n, marks=[pytest.mark.soak] * (n >= HERE)) for n in range(PARTS)]
)
def test_every_call_returns_whatever_happens_to_the_coordinator(
    part: int, watchdog: Callable[[], None], calm: Calm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lock is held while anything waits; nobody waits for somebody who waits for him."""
    monkeypatch.setattr(consumer, "_LEAVE_PATIENCE", LEAVE_PATIENCE)
    seeds = range(FIRST + part, FIRST + STORIES, PARTS)
    for block in range(0, len(seeds), 50):
        with FakeCluster(2, topics={"t": 2}, groups=GROUPS) as cluster:
            fill(cluster, 2, 5)
            for seed in seeds[block : block + 50]:
                watchdog()
                story = Story(seed, cluster, calm)
                try:
                    story.tell()
                except BaseException as error:
                    error.add_note("\n".join(story.log))
                    raise
                finally:
                    story.close()
                left = [
                    thread.name
                    for thread in threading.enumerate()
                    if thread.name.startswith("kcli-heartbeat")
                ]
                assert not left, "\n".join(story.log)
