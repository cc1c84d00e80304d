"""Whatever happens to ``kcli produce``: each line is stored, in ``--failed``, or not read, and counted once.

Cases are drawn from seeds: formats, flags, bad lines, bad partitions, records that are too large, topics that are
deleted, brokers that stop, fall silent or refuse, signals. ``tests/chaos/lost_lines.py`` does the same to real brokers.
"""

import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from tests.chaos.line_cases import PARTITIONS, SIGNALS, TOO_LARGE, Case, draw
from tests.chaos.line_runs import Trial, judge
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code

FAULTS = ("none", "delete", "leader", "codes", "silence", *SIGNALS)
SEEDS = range(5, 30)
_AT_ONCE = 8
_RETRIABLE = (
    Code.NOT_LEADER_OR_FOLLOWER,
    Code.NOT_ENOUGH_REPLICAS,
    Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Code.REQUEST_TIMED_OUT,
)
_FINAL = (Code.INVALID_RECORD, Code.TOPIC_AUTHORIZATION_FAILED, Code.CLUSTER_AUTHORIZATION_FAILED)


class FakeWorld:
    """A fake cluster as ``line_runs`` wants it. One node at a time is away."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.bootstrap = cluster.bootstrap
        self._cluster = cluster
        self._lock = threading.Lock()

    def create_topic(self, name: str) -> None:
        self._cluster.create_topic(name, PARTITIONS)
        self._cluster.configure(name, max_message_bytes=str(TOO_LARGE))

    def delete_topic(self, name: str) -> None:
        self._cluster.delete_topic(name)

    def count(self, topic: str) -> int:
        return len(self.values(topic))

    def strike(self, fault: str, topic: str, rng: random.Random) -> None:
        known_as = (topic, self._cluster.topic_id(topic))

        def mine(request: ProduceRequest) -> bool:
            return any(part.name in known_as or part.topic_id in known_as for part in request.topic_data)

        if fault == "leader":
            with self._lock:
                node = rng.choice(self._cluster.node_ids)
                self._cluster.stop(node, fail_over=True)
                time.sleep(0.3 + rng.random() / 2)
                self._cluster.start(node)
        elif fault == "codes":
            code = rng.choice(rng.choice((_RETRIABLE, _FINAL)))
            self._cluster.fail(ProduceRequest, code, times=rng.randrange(1, 4), when=mine)
        elif fault == "silence":
            rule = self._cluster.swallow(ProduceRequest, when=mine, times=1_000)
            time.sleep(2.5 + rng.random())
            rule.remove()

    def values(self, topic: str) -> list[bytes]:
        with suppress(KeyError):
            return [
                value or b""
                for partition in range(PARTITIONS)
                for value in self._cluster.log(topic, partition).values(committed=True)
            ]
        return []


def test_each_line_is_stored_or_in_the_failed_file_or_not_read() -> None:
    with FakeCluster(nodes=3) as cluster, tempfile.TemporaryDirectory() as folder:
        world = FakeWorld(cluster)

        def one(seed: int) -> tuple[Case, list[str]]:
            case = draw(seed, FAULTS, count=1_500, seconds=1.0)
            own = Path(folder, str(seed))
            own.mkdir()
            return case, judge(Trial(world, case, own).run())

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = [(case.name, wrong) for case, wrong in pool.map(one, SEEDS) if wrong]
    assert found == []


@pytest.mark.parametrize("seed", [3])
def test_cases_are_the_same_for_the_same_seed(seed: int) -> None:
    assert draw(seed, FAULTS, count=300, seconds=1.0) == draw(seed, FAULTS, count=300, seconds=1.0)
