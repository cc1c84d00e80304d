"""Consumers that nobody closed: told with a ResourceWarning, and gone with their thread, connections and membership."""

import gc
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.errors import ConfigError
from kcli.core.hooks import Hooks
from kcli.core.types import Record, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fault.consuming import GROUP, PATIENCE, fill, member, offsets, options, settle, tp, turns
from tests.run import environment

BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def reading(cluster: FakeCluster, **wishes: Any) -> Consumer:
    """A consumer that has read something."""
    consumer = Consumer(**options(cluster, **wishes))
    if wishes.get("group_id") == "":
        consumer.assign([tp(0)])
    else:
        consumer.subscribe("t")
    found: list[Record] = []
    end = time.monotonic() + PATIENCE
    while not found:
        assert time.monotonic() < end
        found += consumer.records(0.05)
    return consumer


def heartbeats() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "kcli-heartbeat"]


def eventually(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def check_released(cluster: FakeCluster) -> None:
    eventually(lambda: not heartbeats())
    cluster.wait_until(lambda: all(connection.closed for connection in cluster.connections), PATIENCE)
    cluster.wait_until(lambda: not cluster.group_members(GROUP), PATIENCE)


@BOTH
def test_a_dropped_consumer_is_reported_and_leaves_at_once(protocol: str) -> None:
    """Without waiting for the garbage collector, as with a file: no part of it refers to it."""
    with FakeCluster(1, topics={"t": 2}) as cluster:
        fill(cluster, 2)
        consumer: Consumer | None = reading(cluster, group_protocol=protocol, enable_auto_commit=True)
        assert heartbeats()
        gc.disable()
        try:
            with pytest.warns(ResourceWarning, match="consumer of group 'g' was dropped without close"):
                consumer = None
        finally:
            gc.enable()
        assert consumer is None
        check_released(cluster)
        assert not any(offsets(cluster).values()), "nobody knows what was done with the records"


def test_one_without_a_group_closes_its_connections() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, 1)
        with pytest.warns(ResourceWarning, match="dropped without close"):
            del [reading(cluster, group_id="")][0]
        cluster.wait_until(lambda: all(connection.closed for connection in cluster.connections), PATIENCE)


class Application:
    """Refers to its consumer, which refers to it by callbacks and hooks."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.told: list[str] = []
        hooks = Hooks(log=self.log, wire=self.wire)
        self.consumer = Consumer(hooks=hooks, **options(cluster))
        self.consumer.subscribe("t", on_assigned=self.assigned, on_revoked=self.assigned)

    def log(self, _level: str, _area: str, text: str) -> None:
        self.told.append(text)

    def wire(self, *_what: Any) -> None:
        self.told.append("wire")

    def assigned(self, _places: list[TopicPartition]) -> None:
        self.told.append("assigned")


def test_a_consumer_and_an_application_that_hold_one_another_are_collected() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, 1)
        application: Application | None = Application(cluster)
        assert application is not None
        end = time.monotonic() + PATIENCE
        while "assigned" not in application.told:
            assert time.monotonic() < end
            application.consumer.poll(0.05)
        left = weakref.ref(application)
        application = None
        with pytest.warns(ResourceWarning, match="dropped without close"):
            eventually(lambda: gc.collect() >= 0 and left() is None)
        check_released(cluster)


@BOTH
def test_its_partitions_are_another_ones_before_the_session_is_over(protocol: str) -> None:
    with FakeCluster(1, topics={"t": 2}) as cluster:
        fill(cluster, 2)
        dropped = [reading(cluster, group_protocol=protocol)]
        with member(cluster, group_protocol=protocol) as heir:
            with pytest.warns(ResourceWarning):
                dropped.clear()
            settle(heir, partitions=2)
            turns(lambda: len(heir.read) >= 20, heir)


def test_a_closed_or_unfinished_client_causes_no_warning() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster, warnings.catch_warnings():
        warnings.simplefilter("error")
        fill(cluster, 1)
        reading(cluster).close()
        with reading(cluster):
            pass
        with pytest.raises(ConfigError):
            Consumer(bootstrap_servers="")
        gc.collect()
        assert not heartbeats()


_AT_THE_END = """
import sys
from kcli.core import Consumer
consumer = Consumer(bootstrap_servers=sys.argv[1], group_id="g", auto_offset_reset="earliest")
consumer.subscribe("t")
while not consumer.poll(0.1):
    pass
print("read", flush=True)
"""


_STOPPED_WITH_A_LOCK = """
import threading
stopped = threading.Thread(target=consumer.cluster.loop._wakeup._lock.acquire)
stopped.start()
stopped.join()
"""
"""As a heartbeat thread may be, that is waking its consumer at the last moment."""


@pytest.mark.parametrize("at_last", ["", _STOPPED_WITH_A_LOCK], ids=["", "with a lock held"])
def test_a_process_that_ends_with_an_open_consumer_ends(at_last: str) -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, 1)
        done = subprocess.run(
            [sys.executable, "-W", "always::ResourceWarning", "-c", _AT_THE_END + at_last, cluster.bootstrap],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(),
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
