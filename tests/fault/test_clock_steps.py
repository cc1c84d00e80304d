"""The clock steps, the process is stopped and continues (case N17)."""

import datetime
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fault.consuming import GROUP, PATIENCE, fill, member, offsets, settle, tp, turns
from tests.fault.producing import quick, send
from tests.lasting import Moment, lasted
from tests.run import environment

BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])
STEP = 3600  # seconds
BEATS = (HeartbeatRequest, ConsumerGroupHeartbeatRequest)


@pytest.fixture
def stepping_clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time of day is an hour ahead or behind, in turn, at every look; the looks."""
    looks: list[int] = []
    real = time.time_ns

    def stepped() -> int:
        looks.append(1)
        return real() + (-1) ** len(looks) * STEP * 1_000_000_000

    class Datetime(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "datetime.datetime":
            return cls.fromtimestamp(stepped() / 1e9, tz)

    monkeypatch.setattr(time, "time_ns", stepped)
    monkeypatch.setattr(time, "time", lambda: stepped() / 1e9)
    monkeypatch.setattr(datetime, "datetime", Datetime)
    return looks


@pytest.mark.case("N17")
@BOTH
def test_a_member_does_not_notice_that_the_clock_steps(protocol: str, stepping_clock: list[int]) -> None:
    """Heartbeats, polls, commits and their deadlines go by the monotonic clock."""
    wishes = {
        "group_protocol": protocol,
        "session_timeout_ms": 1_200,
        "max_poll_interval_ms": 30_000,
        "enable_auto_commit": True,
        "auto_commit_interval_ms": 50,
    }
    with (
        FakeCluster(1, topics={"t": 2}, groups={"consumer_session_timeout": 1.2}) as cluster,
        member(cluster, **wishes) as a,
    ):
        fill(cluster, 2)
        settle(a, partitions=2)
        turns(lambda: len(a.read) == 20, a)
        generation, before = cluster.group_generation(GROUP), len(cluster.seen(BEATS))
        began = time.monotonic()
        for _ in range(10):
            time.time()
            at = Moment.now()
            a.poll(0.26)
            assert time.monotonic() - at > 0.2
            assert lasted(at) < 5.0
        assert time.monotonic() - began > 2.4, "two sessions"
        assert len(cluster.seen(BEATS)) > before
        assert a.told("lost") == [] == a.told("revoked")
        assert cluster.group_generation(GROUP) == generation
        turns(lambda: offsets(cluster) == {tp(0): 10, tp(1): 10}, a)
        a.consumer.commit({tp(0): 4}, timeout=PATIENCE)
        assert offsets(cluster)[tp(0)] == 4
    assert stepping_clock


@pytest.mark.case("N17")
def test_a_producer_does_not_notice_that_the_clock_steps(stepping_clock: list[int]) -> None:
    """Lingering, pauses before retries and the delivery timeout; only timestamps of records follow the clock."""
    # A broker would refuse timestamps that are an hour ahead; this one does not look.
    with FakeCluster(1, topics={"t": 1}, deep_check=False) as cluster:
        failing = cluster.fail(ProduceRequest, *[Code.NOT_LEADER_OR_FOLLOWER] * 3)
        with quick(cluster, linger_ms=20, delivery_timeout_ms=20_000, batch_size=16_384) as producer:
            futures = [future for _ in range(10) for future in send(producer, "t", 0, b"v")]
            for future in futures:
                assert future.result(PATIENCE) is not None
        assert failing.count == 3
        assert len(cluster.log("t", 0).values()) == 10
    assert stepping_clock, "a record's timestamp is the time of day"


_MEMBER = """
import sys
from kcli.core import Consumer
from kcli.core.errors import CommitFailedError

servers, protocol, how = sys.argv[1:]
def say(*words):
    print(*words, flush=True)

consumer = Consumer(
    bootstrap_servers=servers, group_id="g", group_protocol=protocol, auto_offset_reset="earliest",
    enable_auto_commit=how == "auto", auto_commit_interval_ms=10, max_poll_records=5, session_timeout_ms=1000,
    heartbeat_interval_ms=100, fetch_max_wait_ms=50, retry_backoff_ms=20, reconnect_backoff_ms=10,
)
consumer.subscribe("t", on_lost=lambda places: say("lost"), on_revoked=lambda places: say("revoked"))
while not list(consumer.records(0.1)):
    pass
say("read")
sys.stdin.readline()  # stopped meanwhile
try:
    if how == "auto":
        consumer.poll(0)
    else:
        consumer.commit(timeout=10)
        say("accepted")
except CommitFailedError:
    say("refused")
while True:
    for record in consumer.records(0.1):
        say("at", record.offset)
        if how == "by hand":
            consumer.commit()
"""


def eventually(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class Child:
    """A member in a process of its own; ``said`` are the lines that it has written."""

    def __init__(self, cluster: FakeCluster, protocol: str, how: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _MEMBER, cluster.bootstrap, protocol, how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self.said: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reading.join(PATIENCE)
        assert self.process.stdin is not None
        self.process.stdin.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.said.append(line.strip())

    def wake(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.process.send_signal(signal.SIGCONT)

    @property
    def read_since_lost(self) -> list[int]:
        """Before that it hands out what it had fetched: it does not know yet that it was stopped."""
        since = self.said[self.said.index("lost") :]
        return [int(line.split()[1]) for line in since if line.startswith("at ")]


@pytest.mark.case("N17")
@BOTH
@pytest.mark.parametrize("how", ["by hand", "auto"])
def test_a_member_that_was_stopped_is_a_zombie_and_comes_back(protocol: str, how: str) -> None:
    """SIGSTOP for longer than its session. Its commit is refused, it takes nothing back, and it joins again."""
    with (
        FakeCluster(1, topics={"t": 1}, groups={"consumer_session_timeout": 1.0}) as cluster,
        Child(cluster, protocol, how) as child,
        member(cluster, None, group_protocol=protocol) as heir,
    ):
        fill(cluster, 1, 30)
        eventually(lambda: "read" in child.said)
        child.process.send_signal(signal.SIGSTOP)
        eventually(lambda: not cluster.group_members(GROUP))
        heir.subscribe("t")
        settle(heir, partitions=1)
        turns(lambda: heir.read and heir.read[-1].offset == 29, heir)
        heir.consumer.commit({tp(0): 20}, timeout=PATIENCE)
        before = len(cluster.seen(OffsetCommitRequest))

        child.wake()
        if how == "by hand":
            turns(lambda: {"refused", "accepted"} & set(child.said), heir)
            assert "accepted" not in child.said
        turns(lambda: "lost" in child.said, heir)
        assert "revoked" not in child.said, "what others own is not given up, it is lost"
        turns(lambda: len(cluster.group_members(GROUP)) == 2, heir)
        assert offsets(cluster) == {tp(0): 20}

        heir.consumer.close(commit=False)
        eventually(lambda: 29 in child.read_since_lost)
        assert child.read_since_lost[0] == 20, "it goes on where the heir was"
        cluster.wait_until(lambda: offsets(cluster)[tp(0)] > 20, PATIENCE)
        for seen in cluster.seen(OffsetCommitRequest)[before:]:
            offset = seen.request.topics[0].partitions[0].committed_offset
            assert seen.codes or offset >= 20, "what it had read as a zombie was committed"
